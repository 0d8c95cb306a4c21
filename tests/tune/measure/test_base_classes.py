"""The protocol of builders and runners that users subclass."""

import pytest

from tilewright.error import ArgumentValueError, UnknownNameError
from tilewright.tune.measure import (
    ERROR_KINDS,
    Builder,
    BuilderResult,
    EvaluatorConfig,
    MeasureErrorNo,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)


class Fixed(Builder):
    def build(self, build_inputs):
        return [BuilderResult(f"{position}.o") for position, _ in enumerate(build_inputs)]


class Instant(Runner):
    def run(self, runner_inputs):
        return [RunnerFuture(lambda: True, lambda: RunnerResult([1.0, 2.0])) for _ in runner_inputs]


def test_a_builder_that_defines_build_streams_its_results():
    results = list(Fixed().stream([None, None]))
    assert [(position, result.artifact_path) for position, result in results] == [
        (0, "0.o"),
        (1, "1.o"),
    ]


def test_a_runner_that_defines_run_remeasures_and_checks_nothing():
    candidate = RunnerInput("x.o", "cpu", [])
    runner = Instant()
    assert [result.run_secs for result in runner.remeasure([candidate] * 2)] == [[1.0, 2.0]] * 2
    assert runner.check(candidate, None) is None


def test_what_a_subclass_lacks_is_told():
    with pytest.raises(NotImplementedError, match="Builder does not define `build"):
        Builder().build([])
    with pytest.raises(NotImplementedError, match="Runner does not define `run"):
        Runner().run([])
    with pytest.raises(NotImplementedError, match="RunnerFuture does not define `result"):
        RunnerFuture().result()


def test_unknown_names_are_refused():
    with pytest.raises(UnknownNameError, match="there is no builder 'rcp'"):
        Builder.create("rcp")
    with pytest.raises(UnknownNameError, match="there is no runner 'rcp'"):
        Runner.create("rcp")


def test_errors_have_a_kind():
    assert BuilderResult(None, "bad").error_kind == "build"
    assert RunnerResult(None, "bad").error_kind == "run"
    assert RunnerResult(None, "bad", "timeout").error_kind == "timeout"
    assert RunnerResult([1.0]).error_kind is None


def test_the_evaluator_needs_runs():
    with pytest.raises(ArgumentValueError, match="number is at least 1, got 0"):
        EvaluatorConfig(number=0)


def test_kinds_of_errors_have_numbers():
    assert MeasureErrorNo.of(None) == 0
    for kind in ERROR_KINDS:
        number = MeasureErrorNo.of(kind)
        assert number > 0
        assert MeasureErrorNo.of(number.kind) in (number, MeasureErrorNo.RUNTIME_DEVICE)
    assert {number.kind for number in MeasureErrorNo} <= {None, *ERROR_KINDS}
