"""Running in a process of this machine."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.ir.module import IRModule
from tilewright.runtime.device import CPU, device
from tilewright.target.cpu import core_count
from tilewright.tune.measure.affinity import timing_cores
from tilewright.tune.measure.expectation import Expectation
from tilewright.tune.measure.expected_results import summed_terms
from tilewright.tune.measure.process import ChildDiedError, ChildTimeoutError, shared_fork_server
from tilewright.tune.measure.process.requests import CallableOrName, portable
from tilewright.tune.measure.run_requests import (
    Candidate,
    CheckRequest,
    MeasureRequest,
    RunSettings,
    TurnsRequest,
)
from tilewright.tune.measure.run_session import RunSession
from tilewright.tune.measure.runner import (
    RUNNERS,
    EvaluatorConfig,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from tilewright.tune.measure.serial_thread import CancelledError, SerialThread, Task
from tilewright.tune.measure.timing import PATIENCE
from tilewright.tune.measure.workloads import Workload

GRACE: Final = 1.0
TIMES_BEST: Final = 20
"""What a candidate may take of the processor: seconds, and so many runs of the best one."""

TURNS_SECONDS: Final = 1.0
"""How long measuring in turns takes for each candidate, about."""

EXPECTED_SECONDS: Final = 30.0
"""How long the program that is tuned may run as it is written, to tell what is right."""


@RUNNERS.add("local")
class LocalRunner(Runner):
    """Runs candidates in a process of this machine, one after the other.

    A candidate that crashes or hangs costs its process, which is replaced. The process is pinned to
    the last core, for candidates that use one core. It allocates arguments once for candidates with
    equal `args_info`.

    Args:
        timeout_sec: how long one candidate may take in all.
        evaluator_config: how often candidates run.
        cooldown_sec: how long to rest after each candidate.
        alloc_repeat: how many sets of arguments to measure with.
        f_alloc_argument: ``f_alloc_argument(device, args_info, alloc_repeat)`` returns the sets of
            arguments; by default they are random. A function that another process can import, or
            the name under which `initializer` registers one.
        f_run_evaluator: ``f_run_evaluator(module, device, evaluator_config, repeated_args)``
            returns seconds; by default candidates are compared with a reference, see `RunnerInput`.
        f_cleanup: called without arguments after each candidate.
        initializer: called once in each process.
    """

    def __init__(
        self,
        timeout_sec: float = 30.0,
        evaluator_config: EvaluatorConfig | None = None,
        cooldown_sec: float = 0.0,
        alloc_repeat: int = 1,
        f_alloc_argument: CallableOrName | None = None,
        f_run_evaluator: CallableOrName | None = None,
        f_cleanup: CallableOrName | None = None,
        initializer: CallableOrName | None = None,
    ) -> None:
        if not timeout_sec > 0:
            raise ArgumentValueError(f"LocalRunner: timeout_sec is positive, got {timeout_sec}")
        if alloc_repeat < 1:
            raise ArgumentValueError(f"LocalRunner: alloc_repeat is at least 1, got {alloc_repeat}")
        if cooldown_sec < 0:
            raise ArgumentValueError(f"LocalRunner: cooldown_sec is not negative: {cooldown_sec}")
        self.timeout_sec = timeout_sec
        self.evaluator_config = evaluator_config or EvaluatorConfig()
        self.cooldown_sec = cooldown_sec
        self.alloc_repeat = alloc_repeat
        functions = {
            "f_alloc_argument": f_alloc_argument,
            "f_run_evaluator": f_run_evaluator,
            "f_cleanup": f_cleanup,
            "initializer": initializer,
        }
        self._compares = f_run_evaluator is None
        settings = partial(
            _settings,
            self.evaluator_config,
            cooldown_sec=cooldown_sec,
            alloc_repeat=alloc_repeat,
            **{name: portable(f, f"LocalRunner: {name}") for name, f in functions.items()},
        )
        self._session = RunSession(settings)
        self._thread = SerialThread("tilewright-runner")
        self._workloads: dict[Any, Workload] = {}
        self._expectations: dict[str, Expectation] = {}
        self._finalizer = weakref.finalize(
            self, _close, self._session, self._thread, self._expectations
        )
        shared_fork_server()  # starts in the background

    # --- times --------------------------------------------------------------------------------

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Start to measure; the futures are in the order of the inputs."""
        return [self._future(partial(self._measure, item)) for item in runner_inputs]

    def remeasure(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerResult]:
        """Measure candidates of one workload again, in turns."""
        same = {(item.key, item.num_cores, item.device_type) for item in runner_inputs}
        if len(same) != 1 or not self._compares:
            return super().remeasure(runner_inputs)
        found = self._submit(partial(self._measure_in_turns, list(runner_inputs))).result()
        return super().remeasure(runner_inputs) if found is None else found

    def _future(self, function: Callable[[], RunnerResult]) -> RunnerFuture:
        task = self._submit(function)

        def result() -> RunnerResult:
            try:
                return task.result()
            except CancelledError:
                return RunnerResult(None, "the runner was closed", "cancelled")

        return RunnerFuture(task.done, result)

    def _submit(self, function: Callable[[], Any]) -> Task[Any]:
        return self._thread.submit(function)

    def _measure(self, item: RunnerInput) -> RunnerResult:
        """Measure a candidate, in the thread."""
        start = time.monotonic()
        workload = None
        if item.key is not None and self._compares:
            workload = self._workloads.setdefault((item.key, item.num_cores), Workload())
        result = self._try(item, workload)
        result.seconds = time.monotonic() - start
        return result

    def _try(self, item: RunnerInput, workload: Workload | None) -> RunnerResult:
        best = None if workload is None else workload.best
        reference = None if workload is None else workload.reference(shared_fork_server().directory)
        planned = self._planned_seconds()
        enough = self.timeout_sec / 2 if workload is None else max(PATIENCE, 2 * planned)
        enough = min(enough, self.timeout_sec / 2)
        limit = None if best is None else (GRACE + TIMES_BEST * best + 2 * planned) * _cores(item)
        request = MeasureRequest(_candidate(item), reference, best, enough, limit)
        try:
            answer = self._ask_twice(request, item, self.timeout_sec)
        except ChildTimeoutError:
            if self._thread.is_closed:
                return RunnerResult(None, "the runner was closed", "cancelled")
            message = f"running took longer than {self.timeout_sec:g} s"
            return RunnerResult(None, message, "timeout")
        except ChildDiedError as error:
            if self._thread.is_closed:
                return RunnerResult(None, "the runner was closed", "cancelled")
            message = f"running: {error.death.message}"
            if error.death.kind == "timeout":
                message = (
                    f"running took more than {limit:.3g} s of processor time; the best so far "
                    f"takes {best:.3g} s per run"
                )
            return RunnerResult(None, message, error.death.kind)
        if "error_msg" in answer:
            return RunnerResult(None, answer["error_msg"], "run")
        run_secs = answer["run_secs"]
        if workload is not None and answer["complete"]:
            workload.add(item.artifact_path, sorted(run_secs)[len(run_secs) // 2])
        return RunnerResult(run_secs, cpu_secs=answer.get("cpu_secs"))

    def _ask_twice(self, request: Any, item: RunnerInput, seconds: float) -> dict[str, Any]:
        """The answer; a crash counts only in a process where nothing has run before.

        Otherwise it may come from what an earlier candidate wrote where it should not.
        """
        answered = self._session.answered
        try:
            return self._session.ask(request, item.num_cores == 1, seconds)
        except ChildDiedError as error:
            if not answered or self._thread.is_closed or error.death.kind != "crash":
                raise
            return self._session.ask(request, item.num_cores == 1, seconds)

    def _planned_seconds(self) -> float:
        """How long the repetitions of a short candidate take."""
        config = self.evaluator_config
        return config.repeat * self.alloc_repeat * config.min_repeat_ms * 1e-3

    def _measure_in_turns(self, items: list[RunnerInput]) -> list[RunnerResult] | None:
        """Measure candidates in turns, in the thread; None if one of them fails."""
        workload = self._workloads.get((items[0].key, items[0].num_cores))
        reference = None if workload is None else workload.reference(shared_fork_server().directory)
        seconds = TURNS_SECONDS * len(items)
        request = TurnsRequest([_candidate(item) for item in items], reference, seconds)
        limit = seconds + self.timeout_sec * len(items)
        try:
            answer = self._ask_twice(request, items[0], limit)
        except (ChildDiedError, ChildTimeoutError):
            return None
        if "error_msg" in answer:
            return None
        share = seconds / len(items)
        return [RunnerResult(t["run_secs"], cpu_secs=t["cpu_secs"], seconds=share)
                for t in answer["times"]]  # fmt: skip

    # --- results ------------------------------------------------------------------------------

    def expect(self, runner_input: RunnerInput, workload_mod: IRModule) -> None:
        """Start to compute what `check` will need, in the background."""
        if device(runner_input.device_type).device_type == CPU:
            self._expectation(runner_input, workload_mod)

    def can_check(self, runner_input: RunnerInput, workload_mod: IRModule) -> bool:
        """Whether `check` does not have to wait."""
        if device(runner_input.device_type).device_type != CPU:
            return True
        return self._expectation(runner_input, workload_mod).is_there

    def check(self, runner_input: RunnerInput, workload_mod: IRModule) -> str | None:
        """How the results of a candidate differ from those of the program that is tuned."""
        if device(runner_input.device_type).device_type != CPU:
            return None
        directory = self._expectation(runner_input, workload_mod).directory()
        if directory is None:
            return None
        request = CheckRequest(_candidate(runner_input), directory, summed_terms(workload_mod))
        try:
            answer = self._submit(
                partial(self._ask_twice, request, runner_input, self.timeout_sec)
            ).result()
        except ChildTimeoutError:
            return f"it takes longer than {self.timeout_sec:g} s with other arguments"
        except ChildDiedError as error:
            return f"it fails with other arguments: {error.death.message}"
        except CancelledError:
            return None
        if "error_msg" in answer:
            return f"it fails with other arguments: {answer['error_msg']}"
        return answer["difference"]

    def _expectation(self, item: RunnerInput, mod: IRModule) -> Expectation:
        key = item.key if item.key is not None else mod.script()
        if key not in self._expectations:
            info = [argument.as_json() for argument in item.args_info]
            self._expectations[key] = Expectation(mod, info, item.num_cores, EXPECTED_SECONDS)
        return self._expectations[key]

    def close(self) -> None:
        """End the processes; what is not measured yet is cancelled."""
        self._finalizer()


def _settings(config: EvaluatorConfig, single: bool, **others: Any) -> RunSettings:
    return RunSettings(config, single, timing_cores(1 if single else None), **others)


def _cores(item: RunnerInput) -> int:
    return item.num_cores or core_count()


def _candidate(item: RunnerInput) -> Candidate:
    info = [argument.as_json() for argument in item.args_info]
    return Candidate(item.artifact_path, item.device_type, info)


def _close(session: RunSession, thread: SerialThread, expectations: dict[str, Expectation]) -> None:
    thread.is_closed = True
    session.close()
    thread.close()
    session.end()
    for expectation in expectations.values():
        expectation.close()
