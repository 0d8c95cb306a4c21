"""Weights that are constants are measured as models have them: packed when the model is built."""

import numpy as np
import pytest
from tests.relax.transform import fusion_programs as programs
from tests.relax.transform.fusion_programs import array, bindings_of, built, is_call
from tests.relax.transform.test_pack_constants import dense, emit

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright import relax
from tilewright.ir import structural_equal
from tilewright.meta_schedule import relax_integration as integration
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tune.candidate import deployed
from tilewright.tune.database import JSONDatabase, MemoryDatabase, TuningRecord
from tilewright.tune.feature.read_program import programs_of
from tilewright.tune.measure import LocalBuilder

TARGET = "llvm --num-cores=1"


def product(constant=True):
    """A model of the product alone, and the numbers that it takes."""
    weights = np.random.default_rng(1).integers(-4, 5, (20, 12)).astype("float32")
    if constant:
        return built(
            {"x": array(8, 12)},
            lambda builder, x: emit(
                builder, programs.relu, emit(builder, dense, x, relax.const(weights))
            ),
        ), weights
    return built(
        {"x": array(8, 12), "w": array(20, 12)},
        lambda builder, x, w: emit(builder, programs.relu, emit(builder, dense, x, w)),
    ), weights


def task_of(mod):
    (task,) = integration.extract_tasks(mod, TARGET)
    return task


def kernels(mod):
    return [func for func in mod.functions.values() if isinstance(func, PrimFunc)]


class Noting(LocalBuilder):
    """Notes what it builds."""

    def __init__(self):
        super().__init__(max_workers=1)
        self.built = []

    def stream(self, build_inputs):
        self.built += [item.mod for item in build_inputs]
        return super().stream(build_inputs)


def test_tasks_say_which_parameters_are_constants():
    task = task_of(product()[0])
    (func,) = task.mod.functions.values()
    assert [int(n) for n in func.attrs[CONSTANT_PARAMS]] == [1]
    other = task_of(product(constant=False)[0])
    assert CONSTANT_PARAMS not in other.mod["main"].attrs
    database = MemoryDatabase()
    assert database.commit_workload(task.mod).key != database.commit_workload(other.mod).key


def test_records_of_tasks_with_constants_are_kept(tmp_path):
    task = task_of(product()[0])
    database = JSONDatabase(work_dir=tmp_path)
    workload = database.commit_workload(task.mod)
    trace = tvm.default_schedule(task.mod, TARGET).trace
    database.commit_tuning_record(TuningRecord(trace, workload, [1.0], TARGET))
    again = JSONDatabase(work_dir=tmp_path)
    assert again.has_workload(task.mod)
    assert again.query_tuning_record(task.mod, TARGET).workload.key == workload.key


def test_what_is_measured_packs_no_constants():
    task = task_of(product()[0])
    sch = tvm.default_schedule(task.mod, TARGET)
    found = deployed(sch.mod)
    assert {n: info.shape[-2:] for n, info in found.packed.items()} == {1: (12, 20)}
    names = [var.name_hint for var in found.mod.functions]
    assert names == ["main", "pack_argument_1"]
    (program,) = programs_of(sch)
    (whole,) = programs_of(tvm.default_schedule(task_of(product(False)[0]).mod, TARGET))
    assert len(list(program.statements())) == len(list(whole.statements())) - 1
    own = task_of(product(constant=False)[0]).mod
    assert deployed(own) == (own, {})


def test_what_is_measured_is_what_runs():
    mod, weights = product()
    builder = Noting()
    database = integration.tune_relax(
        mod, None, TARGET, None, 4, database="memory", builder=builder, cost_model="random", seed=1
    )
    builder.close()
    records = database.get_all_tuning_records()
    assert all(record.is_valid for record in records)
    assert len({id(record.workload) for record in records}) == 1
    with Target(TARGET), database:
        lowered = relax.get_pipeline("default_build")(mod)
    (kernel,) = kernels(lowered)
    assert CONSTANT_PARAMS not in kernel.attrs
    best = database.query_schedule(task_of(mod).mod, TARGET)
    main = deployed(best.mod).mod["main"]
    assert any(
        structural_equal(m["main"].body, main.body, map_free_vars=True) for m in builder.built
    )
    assert structural_equal(kernel.without_attr("op_pattern").body, main.body, map_free_vars=True)
    (call,) = [b.value for b in bindings_of(lowered["main"]) if is_call(b)]
    assert call.args[1].fields[1].data.shape[-2:] == (12, 20)
    x = np.arange(96, dtype="float32").reshape(8, 12) - 48
    vm = relax.VirtualMachine(integration.compile_relax(database, mod, TARGET))
    np.testing.assert_array_equal(vm["main"](tvm.nd.array(x)).numpy(), np.maximum(x @ weights.T, 0))


@pytest.mark.parametrize("wrong", [False, True])
def test_results_are_checked_with_packed_arguments(wrong):
    mod, _ = product()
    task = task_of(mod)
    other = task_of(mod).mod

    runner = ms.runner.LocalRunner(evaluator_config=ms.runner.EvaluatorConfig(1, 1, 1))
    sch = tvm.default_schedule(other, TARGET)
    found = deployed(sch.mod)
    build = LocalBuilder(max_workers=1)
    module = found.mod
    if wrong:
        module = module.clone()
        packer = module["pack_argument_1"]
        module.update_func(tvm.ir.GlobalVar("pack_argument_1"), _nothing(packer))
    (result,) = build.build([ms.builder.BuilderInput(module, Target(TARGET))])
    assert result.error_msg is None
    info = ms.arg_info.ArgInfo.from_entry_func(task.mod)
    item = ms.runner.RunnerInput(result.artifact_path, "cpu", info, "k", 1, packed=found.packed)
    (measured,) = runner.run([item])
    assert measured.result().error_msg is None
    difference = runner.check(item, task.mod)
    assert (difference is not None) is wrong
    runner.close()
    build.close()


def _nothing(packer):
    return packer.with_body(tvm.tir.Evaluate(tvm.tir.const(0, "int32")))


def test_records_of_the_program_without_constants_still_count():
    """Such as those of databases of earlier versions."""
    mod, _ = product()
    plain = task_of(mod).mod["main"].without_attr(CONSTANT_PARAMS)
    database = MemoryDatabase()
    workload = database.commit_workload(plain)
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=1"
    trace = tvm.default_schedule(plain, target).trace
    database.commit_tuning_record(TuningRecord(trace, workload, [1.0], target))
    with Target(target), database:
        lowered = relax.get_pipeline("default_build")(mod)
    (call,) = [b.value for b in bindings_of(lowered["main"]) if is_call(b)]
    assert call.args[1].fields[1].data.shape[-2:] == (12, 20)
