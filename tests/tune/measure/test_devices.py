"""Candidates on a device."""

import numpy as np
import pytest
from tests.tune.measure.programs import (
    FIRST_LAUNCH_SECONDS,
    add_one,
    add_two,
    emulate_a_device_that_faults,
)

import tilewright as tvm
from tilewright import meta_schedule as ms
from tilewright import te
from tilewright.script import tir as T
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


@T.prim_func
def faulty(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        B[i] = A[i] + 404.0


@T.prim_func
def sound(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        B[i] = A[i] + 1.0


@T.prim_func
def endless(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        B[i] = A[i]
        while B[i] < 2.0:
            B[i] = A[63 - i] + B[i] * 0.0


def measured(runner, target, *funcs, initializer=None):
    """What becomes of candidates that run one after the other."""
    builder = LocalBuilder(max_workers=1, initializer=initializer)
    built = builder.build([BuilderInput(module(func), target) for func in funcs])
    builder.close()
    assert not any(build.error_msg for build in built)
    info = ArgInfo.from_prim_func(sound)
    futures = runner.run(
        [RunnerInput(build.artifact_path, target.kind.name, info, key="key") for build in built]
    )
    return [future.result() for future in futures]


def test_a_kernel_that_never_ends_costs_its_candidate_only():
    runner = LocalRunner(evaluator_config=ONCE, timeout_sec=5.0)
    results = measured(runner, Target("opencl"), sound, endless, sound)
    runner.close()
    assert [result.error_kind for result in results] == [None, "timeout", None]


def test_a_fault_of_a_device_costs_its_candidate_only_and_its_first_run_does_not_count():
    runner = LocalRunner(evaluator_config=ONCE, initializer=emulate_a_device_that_faults)
    results = measured(
        runner, Target("cuda"), sound, faulty, sound, initializer=emulate_a_device_that_faults
    )
    runner.close()
    assert [result.error_kind for result in results] == [None, "run", None]
    assert "CUDA_ERROR_LAUNCH_FAILED" in results[1].error_msg
    assert results[0].run_secs[0] < FIRST_LAUNCH_SECONDS
