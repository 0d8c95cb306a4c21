"""Timing."""

import time

import numpy as np
import pytest
from tests.runtime.programs import add_one, scaled

import tilewright as tvm
from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    DeviceError,
    UnknownNameError,
)
from tilewright.runtime import BenchmarkResult


def arrays(n=4):
    return tvm.nd.array(np.ones(n, np.float32)), tvm.nd.empty((n,))


def test_statistics():
    result = BenchmarkResult([1.0, 2.0, 6.0])
    assert (result.mean, result.median, result.min, result.max) == (3.0, 2.0, 1.0, 6.0)
    assert result.std == pytest.approx(np.std([1, 2, 6]))
    assert result.results == (1.0, 2.0, 6.0)
    assert "mean (ms)" in str(result)
    assert "3000" in str(result)


def test_a_short_function_is_timed_without_the_call_from_python():
    evaluator = add_one().time_evaluator("__tvm_main__", tvm.cpu(), number=2000, repeat=5)
    result = evaluator(*arrays())
    assert len(result.results) == 5
    assert 0 < result.min <= result.median <= result.max < 1e-4


def test_the_time_is_right():
    def pause(*_):
        time.sleep(0.002)

    tvm.register_func("test.pause", pause)
    try:
        function = tvm.get_global_func("test.pause")
        evaluator = tvm.runtime.benchmark.TimeEvaluator(function, number=3, repeat=2)
        result = evaluator(1, 2.5, None, True)
    finally:
        tvm.remove_global_func("test.pause")
    assert 0.002 <= result.min < 0.02


def test_enough_runs_to_take_the_time_asked_for():
    evaluator = add_one().time_evaluator("main", tvm.cpu(), number=1, min_repeat_ms=20, repeat=2)
    start = time.perf_counter()
    evaluator(*arrays())
    assert time.perf_counter() - start >= 0.04


def test_numpy_arrays_and_numbers():
    evaluator = scaled("float32").time_evaluator("main", tvm.cpu())
    result = np.zeros(2)
    frozen = np.ones(2)
    frozen.flags.writeable = False
    evaluator(frozen, 2.5, result)
    assert result.tolist() == [2.5, 2.5]


def test_what_happens_between_repetitions():
    calls = []
    tvm.register_func("test.prepare", lambda *args: calls.append(len(args)))
    try:
        evaluator = add_one().time_evaluator(
            "main", tvm.cpu(), repeat=3, cooldown_interval_ms=5, repeats_to_cooldown=1,
            cache_flush_bytes=1 << 16, f_preproc="test.prepare",
        )  # fmt: skip
        start = time.perf_counter()
        evaluator(*arrays())
    finally:
        tvm.remove_global_func("test.prepare")
    assert calls == [2, 2, 2]
    assert time.perf_counter() - start >= 0.015


def test_an_error_of_the_function_arrives():
    with pytest.raises(ArgumentValueError, match=r"argument 1 \(A\)"):
        add_one().time_evaluator("main", tvm.cpu())(*arrays(5))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (("absent", tvm.cpu()), {}, UnknownNameError, "no function 'absent'"),
        (("main", tvm.metal()), {}, DeviceError, "no such device"),
        (("main", 3), {}, ArgumentError, "expected a device"),
        (("main", tvm.cpu()), {"number": 0}, ArgumentValueError, "number is at least 1, got 0"),
        (("main", tvm.cpu()), {"repeat": 1.5}, ArgumentError, "repeat is an integer"),
        (("main", tvm.cpu()), {"f_preproc": "test.none"}, UnknownNameError, "test.none"),
    ],
)
def test_mistakes(arguments, options, error, message):
    with pytest.raises(error, match=message):
        add_one().time_evaluator(*arguments, **options)
