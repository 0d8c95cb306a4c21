"""Running candidates in a process, and what they may do to it."""

import signal
import time
from functools import partial
from pathlib import Path

import pytest
from tests.tune.measure import programs
from tests.tune.measure.programs import add_one, to_build, to_run

from tilewright import TVMError
from tilewright.error import ArgumentValueError
from tilewright.processes import shared_fork_server
from tilewright.tune.candidate import TensorInfo
from tilewright.tune.measure import (
    EvaluatorConfig,
    LocalRunner,
    Runner,
    RunnerInput,
)


@pytest.fixture(scope="module")
def good(builder):
    return builder.build([to_build(add_one)])[0]


@pytest.fixture(scope="module")
def slow(builder):
    return builder.build([to_build(programs.add_one_many_times)])[0]


def result_of(runner, runner_input):
    (future,) = runner.run([runner_input])
    result = future.result()
    assert future.done()
    return result


def test_seconds_of_a_candidate(runner, good):
    result = result_of(runner, to_run(good))
    assert result.error_msg is None
    assert 1e-7 < result.run_secs[0] < 1e-3
    assert len(result.run_secs) == len(result.cpu_secs) == 1
    assert 0 < result.seconds < 10


FAULTS = {
    "SIGSEGV": (programs.dying_of(signal.SIGSEGV), "crash", "SIGSEGV"),
    "SIGABRT": (programs.dying_of(signal.SIGABRT), "crash", "SIGABRT"),
    "SIGFPE": (programs.dying_of(signal.SIGFPE), "crash", "SIGFPE"),
    "SIGKILL": (programs.dying_of(signal.SIGKILL), "crash", "want of memory"),
    "SIGILL": (programs.dying_of(signal.SIGILL), "illegal-instruction", "SIGILL"),
    "error": (programs.fail, "run", "the element is too small"),
    "memory": (programs.take_all_memory, "run", "memory"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_its_candidate_only(builder, runner, good, fault):
    func, kind, words = FAULTS[fault]
    (bad,) = builder.build([to_build(func)])
    futures = runner.run([to_run(good), to_run(bad), to_run(good)])
    before, failed, after = (future.result() for future in futures)
    assert (before.error_msg, after.error_msg) == (None, None)
    assert failed.run_secs is None
    assert failed.error_kind == kind
    assert words in failed.error_msg


def test_a_candidate_that_hangs_is_stopped(builder, good):
    runner = LocalRunner(timeout_sec=3, evaluator_config=EvaluatorConfig(1, 1, 1))
    (bad,) = builder.build([to_build(programs.hang)])
    failed, after = (f.result() for f in runner.run([to_run(bad), to_run(good)]))
    runner.close()
    assert (failed.error_kind, failed.error_msg) == ("timeout", "running took longer than 3 s")
    assert after.error_msg is None


def test_a_candidate_much_slower_than_the_best_is_stopped_early(builder, good):
    runner = LocalRunner(timeout_sec=100, evaluator_config=EvaluatorConfig(1, 1, 1))
    (bad,) = builder.build([to_build(programs.spin)])
    futures = runner.run([to_run(good, key="stopped"), to_run(bad, key="stopped")])
    failed = futures[1].result()
    runner.close()
    assert failed.error_kind == "timeout"
    assert failed.error_msg.startswith("running took more than 1 s of processor time; the best")


def test_wrong_arguments_and_files(runner, good, tmp_path):
    other = RunnerInput(good.artifact_path, "cpu", [TensorInfo("float32", (64, 64))])
    assert "expected 2 arguments" in result_of(runner, other).error_msg
    nothing = RunnerInput(str(tmp_path / "nothing.o"), "cpu", to_run(good).args_info)
    assert "No such file" in result_of(runner, nothing).error_msg
    elsewhere = RunnerInput(good.artifact_path, "vulkan", to_run(good).args_info)
    assert "vulkan" in result_of(runner, elsewhere).error_msg


def test_times_relative_to_a_reference(runner, good, slow):
    results = [
        result_of(runner, to_run(candidate, key="relative"))
        for candidate in (slow, good, good, slow)
    ]
    first, second, third, last = (result.run_secs[0] for result in results)
    assert second == pytest.approx(third, rel=0.3)
    assert first > 10 * second
    assert last > 10 * second


def test_candidates_in_turns(runner, good, slow):
    inputs = [to_run(good, key="turns"), to_run(slow, key="turns"), to_run(good, key="turns")]
    first, second, third = runner.remeasure(inputs)
    assert first.run_secs[0] == pytest.approx(third.run_secs[0], rel=0.2)
    assert second.run_secs[0] > 10 * first.run_secs[0]


def test_one_that_fails_in_turns_is_told(builder, runner, good):
    (bad,) = builder.build([to_build(programs.dying_of(signal.SIGSEGV))])
    first, second = runner.remeasure([to_run(good, key="turns"), to_run(bad, key="turns")])
    assert first.error_msg is None
    assert second.error_kind == "crash"


def test_results_are_compared_with_the_program(builder, runner, good):
    workload = programs.module(add_one)
    wrong, greedy = builder.build([to_build(programs.add_two), to_build(programs.overwrite_input)])
    runner.expect(to_run(good, key="checked"), workload)
    assert runner.check(to_run(good, key="checked"), workload) is None
    found = runner.check(to_run(wrong, key="checked"), workload)
    assert found.startswith("argument 2: 4096 of 4096 elements differ")
    found = runner.check(to_run(greedy, key="checked"), workload)
    assert found.startswith("argument 1, which should not change:")


def test_a_candidate_that_fails_while_it_is_checked(builder, runner):
    (bad,) = builder.build([to_build(programs.dying_of(signal.SIGSEGV))])
    found = runner.check(to_run(bad), programs.module(add_one))
    assert "SIGSEGV" in found


def test_functions_of_the_user(good, tmp_path):
    runner = LocalRunner(
        f_run_evaluator=programs.three_seconds,
        f_alloc_argument=programs.ones,
        f_cleanup=partial(programs.leave_a_mark, tmp_path / "marks"),
        alloc_repeat=2,
    )
    results = [result_of(runner, to_run(good)) for _ in range(2)]
    runner.close()
    assert [result.run_secs for result in results] == [[3.0, 3.0]] * 2
    assert (tmp_path / "marks").read_text() == "called\ncalled\n"


def test_an_evaluator_that_returns_something_else(good):
    runner = LocalRunner(f_run_evaluator=programs.no_list)
    result = result_of(runner, to_run(good))
    runner.close()
    assert result.error_kind == "run"
    assert "f_run_evaluator returns a list of seconds, got {'mean': 3.0}" in result.error_msg


def test_an_initializer_that_fails_is_the_users_to_know(good):
    runner = LocalRunner(initializer=programs.broken_initializer)
    with pytest.raises(TVMError, match="LocalRunner: initializer: RuntimeError: not today"):
        result_of(runner, to_run(good))
    runner.close()


def test_closing_cancels_what_is_left(builder, good):
    runner = LocalRunner()
    (bad,) = builder.build([to_build(programs.hang)])
    futures = runner.run([to_run(bad), to_run(good)])
    time.sleep(0.5)
    start = time.monotonic()
    runner.close()
    assert time.monotonic() - start < 3.0
    assert {future.result().error_kind for future in futures} == {"cancelled"}
    assert result_of(runner, to_run(good)).error_kind == "cancelled"


def test_arguments_that_make_no_sense_are_refused():
    with pytest.raises(ArgumentValueError, match="timeout_sec is positive"):
        LocalRunner(timeout_sec=0)
    with pytest.raises(ArgumentValueError, match="alloc_repeat is at least 1"):
        LocalRunner(alloc_repeat=0)
    assert isinstance(Runner.create("local", timeout_sec=3), LocalRunner)


def test_the_files_of_a_runner_are_deleted_when_it_is_closed(builder, good):
    place = Path(shared_fork_server().directory)
    before = set(place.iterdir())
    runner = LocalRunner(evaluator_config=EvaluatorConfig(number=1, min_repeat_ms=1))
    module = programs.module(add_one)
    candidate = to_run(good, key="deleted")
    runner.expect(candidate, module)
    for _ in range(2):
        assert result_of(runner, candidate).error_msg is None
    assert runner.check(candidate, module) is None
    assert set(place.iterdir()) != before
    runner.close()
    assert set(place.iterdir()) == before
