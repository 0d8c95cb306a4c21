"""How configs are measured, by the names that programs know."""

import pytest

from tilewright import autotvm
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.tune import measure
from tilewright.tune.measure import EvaluatorConfig


def test_the_local_parts():
    option = autotvm.measure_option(builder="local", runner="local")
    builder, runner = option["builder"], option["runner"]
    assert isinstance(builder, measure.LocalBuilder)
    assert (builder.timeout_sec, builder.max_workers) == (10, None)
    assert isinstance(runner, measure.LocalRunner)
    assert (runner.timeout_sec, runner.cooldown_sec) == (10, 0.1)
    assert runner.evaluator_config == EvaluatorConfig(4, 3, 0, False)


def test_other_numbers():
    builder = autotvm.LocalBuilder(timeout=3, n_parallel=2)
    assert (builder.timeout_sec, builder.max_workers) == (3, 2)
    runner = autotvm.LocalRunner(number=5, repeat=1, min_repeat_ms=50, enable_cpu_cache_flush=True)
    assert runner.evaluator_config == EvaluatorConfig(5, 1, 50, True)
    option = autotvm.measure_option(builder=builder, runner=runner)
    assert option == {"builder": builder, "runner": runner}


def test_names_of_other_parts_are_left_to_the_tuner():
    option = autotvm.measure_option(builder="ray", runner="ray")
    assert option == {"builder": "ray", "runner": "ray"}


def test_bad_arguments_are_refused():
    with pytest.raises(ArgumentValueError, match=r"LocalRunner\(\) measures on this one"):
        autotvm.RPCRunner("key", "host", 9190)
    with pytest.raises(ArgumentError, match=r"builder is 'local', a LocalBuilder"):
        autotvm.measure_option(builder=4, runner="local")
    with pytest.raises(ArgumentError, match=r"runner is 'local', a LocalRunner"):
        autotvm.measure_option(builder="local", runner=autotvm.LocalBuilder())
    with pytest.raises(ArgumentValueError, match="build_func is 'default' or a function"):
        autotvm.LocalBuilder(build_func="ndk")
    with pytest.raises(ArgumentValueError, match="timeout_sec is positive"):
        autotvm.LocalRunner(timeout=0)
