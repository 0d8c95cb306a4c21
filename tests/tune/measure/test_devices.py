"""Candidates on a device."""

import numpy as np
import pytest
from tests.tune.measure.programs import add_one, add_two

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright import te
from tilewright.target import Target
from tilewright.tune.candidate import ArgInfo
from tilewright.tune.measure import (
    BuilderInput,
    EvaluatorConfig,
    LocalBuilder,
    LocalRunner,
    RunnerInput,
)

ONCE = EvaluatorConfig(number=1, repeat=1, min_repeat_ms=0)


@pytest.fixture(scope="module")
def runner():
    runner = LocalRunner(evaluator_config=ONCE)
    yield runner
    runner.close()


def module(func):
    return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})


def test_a_candidate_is_timed_and_checked(runner):
    target = Target("opencl")
    scheduled = tvm.default_schedule(module(add_one), target).mod
    builder = LocalBuilder(max_workers=1)
    (built,) = builder.build([BuilderInput(scheduled, target)])
    builder.close()
    assert built.error_msg is None
    info = ArgInfo.from_entry_func(module(add_one))
    (future,) = runner.run([RunnerInput(built.artifact_path, "opencl", info)])
    assert future.result().run_secs[0] > 0
    given = RunnerInput(built.artifact_path, "opencl", info, key="one")
    assert runner.check(given, module(add_one)) is None
    given = RunnerInput(built.artifact_path, "opencl", info, key="two")
    assert "elements differ" in runner.check(given, module(add_two))


def test_tuning_finds_threads(runner):
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] + 1.0, name="B")
    func = te.create_prim_func([a, b])
    database = ms.tune_tir(
        func, "opencl", max_trials_global=2, work_dir=None, database="memory", runner=runner
    )
    records = database.get_all_tuning_records()
    assert all(record.is_valid for record in records)
    assert any(record.is_default for record in records)
    built = ms.tir_integration.compile_tir(database, func, "opencl")
    values = np.arange(64, dtype="float32")
    result = tvm.nd.empty((64,), "float32", tvm.opencl(0))
    tvm.build(built.mod, target="opencl")(tvm.nd.array(values, tvm.opencl(0)), result)
    np.testing.assert_array_equal(result.numpy(), values + 1)
