"""Whole models: their tensor programs are tuned, and found again when the model is built."""

import logging

import numpy as np
import pytest

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright import relax
from tilewright.error import ArgumentError, TargetError
from tilewright.meta_schedule import relax_integration as integration

TARGET = "llvm --num-cores=1"


def model(batch=1):
    """Three layers, of which the last two are alike."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((batch, 24), "float32"))
    shapes = {"w0": (16, 24), "b": (16,), "w1": (16, 16)}
    weights = [relax.Var(n, relax.TensorStructInfo(s, "float32")) for n, s in shapes.items()]
    first, bias, second = weights
    with builder.function("main", [x, *weights]):
        with builder.dataflow():
            h = builder.emit(relax.op.nn.relu(relax.op.linear(x, first, bias)))
            h = builder.emit(relax.op.nn.relu(relax.op.linear(h, second, bias)))
            h = builder.emit(relax.op.nn.relu(relax.op.linear(h, second, bias)))
            out = builder.emit_output(h)
        builder.emit_func_output(out)
    random = np.random.default_rng(0)
    params = {n: random.standard_normal(s).astype("float32") for n, s in shapes.items()}
    return builder.get(), params


def expected(x, params):
    for name in ("w0", "w1", "w1"):
        x = np.maximum(x @ params[name].T + params["b"], 0)
    return x


def test_equal_programs_are_one_task_that_counts_twice():
    module, params = model()
    tasks = integration.extract_tasks(module, TARGET, params)
    assert sorted(task.weight for task in tasks) == [1, 2]
    for task in tasks:
        assert [var.name_hint for var in task.mod.functions] == ["main"]
        assert task.target.num_cores == 1


def test_programs_of_symbolic_sizes_are_left_out_and_named(caplog):
    n = tvm.ir.Var("n", "int64")
    module, params = model(n)
    with caplog.at_level(logging.WARNING):
        assert integration.extract_tasks(module, TARGET, params) == []
    assert "symbolic sizes" in caplog.text
    with pytest.raises(ArgumentError, match=r"nothing to tune.*BindSymbolicVars"):
        integration.tune_relax(module, params, TARGET, None, 4, database="memory")


def test_names_that_no_program_has():
    module, params = model()
    with pytest.raises(ArgumentError, match=r"no tensor program.*op_names=\['conv'\]; there are"):
        integration.tune_relax(
            module, params, TARGET, None, 4, op_names=["conv"], database="memory"
        )


def test_programs_of_functions_count_as_often_as_these_are_called():
    builder = relax.BlockBuilder()
    info = relax.TensorStructInfo((4, 4), "float32")
    x, y, z = (relax.Var(name, info) for name in "xyz")
    with builder.function("layer", [x], private=True):
        layer = builder.emit_func_output(relax.op.exp(x))
    with builder.function("block", [y], private=True):
        value = builder.emit(relax.Call(layer, [relax.Call(layer, [y])]))
        block = builder.emit_func_output(value)
    with builder.function("main", [z]):
        value = builder.emit(relax.Call(block, [relax.op.negative(z)]))
        value = builder.emit(relax.Call(block, [relax.Call(block, [value])]))
        builder.emit_func_output(value)
    tasks = integration.extract_tasks(builder.get(), TARGET)
    assert {task.task_name: task.weight for task in tasks} == {"exp": 6, "negative": 1}


def test_a_model_is_tuned_and_built_with_what_was_found(tmp_path, caplog):
    module, params = model()
    bound = relax.transform.BindParams("main", params)(module)
    with tvm.target.Target(TARGET):
        same = relax.transform.MetaScheduleTuneIRMod(None, str(tmp_path), 4)(bound)
        lowered = relax.get_pipeline("zero")(bound)
        with caplog.at_level(logging.INFO):
            applied = relax.transform.MetaScheduleApplyDatabase(str(tmp_path))(lowered)
    assert same is bound
    assert "2 of 2 tasks matched" in caplog.text
    caplog.clear()
    database = ms.database.JSONDatabase(work_dir=str(tmp_path))
    with caplog.at_level(logging.INFO):
        executable = integration.compile_relax(database, module, TARGET, params)
    assert "2 of 2 tasks matched" in caplog.text
    x = np.random.default_rng(1).standard_normal((1, 24)).astype("float32")
    for built in (executable, relax.build(applied, TARGET)):
        result = relax.VirtualMachine(built, tvm.cpu())["main"](tvm.nd.array(x)).numpy()
        np.testing.assert_allclose(result, expected(x, params), rtol=1e-4, atol=1e-4)


def test_tuning_passes_need_a_target(tmp_path):
    module, params = model()
    with pytest.raises(TargetError, match="MetaScheduleTuneIRMod needs a target"):
        relax.transform.MetaScheduleTuneIRMod(params, str(tmp_path), 4)(module)


def test_a_model_is_built_where_a_database_has_nothing(caplog):
    module, params = model()
    with caplog.at_level(logging.WARNING):
        executable = integration.compile_relax(ms.database.MemoryDatabase(), module, TARGET, params)
    assert "0 of 2 tasks matched" in caplog.text
    x = np.ones((1, 24), "float32")
    result = relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.nd.array(x)).numpy()
    np.testing.assert_allclose(result, expected(x, params), rtol=1e-4, atol=1e-4)


def test_something_else_than_a_model_is_refused():
    with pytest.raises(ArgumentError, match="expected the IRModule of a model"):
        integration.extract_tasks("main", TARGET)


def test_the_pipeline_that_tunes(tmp_path):
    module, params = model()
    tune = relax.get_pipeline(
        "static_shape_tuning", total_trials=2, target=TARGET, work_dir=str(tmp_path)
    )
    tuned = tune(relax.transform.BindParams("main", params)(module))
    assert (tmp_path / "database_tuning_record.json").stat().st_size
    x = np.random.default_rng(1).standard_normal((1, 24)).astype("float32")
    executable = relax.build(tuned, TARGET, pipeline=None)
    got = relax.VirtualMachine(executable, tvm.cpu())["main"](x)
    np.testing.assert_allclose(got.numpy(), expected(x, params), rtol=1e-4, atol=1e-4)
