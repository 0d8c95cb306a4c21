"""Running in a process of this machine."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

from tilewright.error import ArgumentValueError, require_at_least
from tilewright.ir.module import IRModule
from tilewright.processes import (
    ChildDiedError,
    ChildTimeoutError,
)
from tilewright.processes.requests import CallableOrName, portable
from tilewright.target import Target
from tilewright.target.cpu import core_count
from tilewright.tune.measure.affinity import other_cores, timing_cores
from tilewright.tune.measure.children import fork_server
from tilewright.tune.measure.estimate import (
    SUFFIX,
    estimated_machine,
    is_estimated,
    read_estimate,
)
from tilewright.tune.measure.expectation import Expectation
from tilewright.tune.measure.expected_results import summed_terms
from tilewright.tune.measure.interfaces import (
    RUNNERS,
    EvaluatorConfig,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from tilewright.tune.measure.run_queue import CancelledError, Failure, Job, RunQueue, RunSession
from tilewright.tune.measure.run_requests import (
    Artifact,
    Candidate,
    CheckRequest,
    InterleavedRequest,
    MeasureRequest,
    RunSettings,
    Standard,
    Workload,
)
from tilewright.tune.measure.timing import PATIENCE

GRACE: Final = 1.0
TIMES_BEST: Final = 20
"""Limit of the processor time of a candidate: seconds, plus a number of runs of the best one."""

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
        alloc_repeat: number of sets of arguments.
        f_alloc_argument: ``f_alloc_argument(device, args_info, alloc_repeat)`` returns the sets of
            arguments; by default they are random. It is sent to other processes, with the variables
            around it that it uses. Or the name under which `initializer` registers one there.
        f_run_evaluator: ``f_run_evaluator(module, device, evaluator_config, repeated_args)``
            returns seconds; by default candidates are compared with a reference, see `RunnerInput`.
        f_cleanup: called without arguments after each candidate.
        initializer: called once in each process.
        cores: where candidates run; by default on the last of the cores that this process may use,
            or on all of them.
    """

    packs_constants = True

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
        cores: Collection[int] | None = None,
    ) -> None:
        if not timeout_sec > 0:
            raise ArgumentValueError(f"LocalRunner: timeout_sec is positive, got {timeout_sec}")
        require_at_least("LocalRunner: alloc_repeat", alloc_repeat, 1)
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
            cores,
            cooldown_sec=cooldown_sec,
            alloc_repeat=alloc_repeat,
            **{
                name: portable(
                    f, f"LocalRunner: {name}", None if name == "initializer" else initializer
                )
                for name, f in functions.items()
            },
        )
        self._cores = cores
        self._queue = RunQueue(RunSession(settings))
        self._workloads: dict[Any, Workload] = {}
        self._expectations: dict[str, Expectation] = {}
        self._finalizer = weakref.finalize(
            self, _close, self._queue, self._workloads, self._expectations
        )
        fork_server()  # starts in the background

    # --- times --------------------------------------------------------------------------------

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Start to measure; the futures are in the order of the inputs."""
        return [
            _estimated(item) if _has_estimate(item) else self._begin(item) for item in runner_inputs
        ]

    def _begin(self, item: RunnerInput) -> RunnerFuture:
        job = self._queue.add(self._measurement(item))
        return RunnerFuture(job.done, job.result, job.cancel)

    def _measurement(self, item: RunnerInput) -> Job[RunnerResult]:
        workload = self._workload(item)
        limit: list[float | None] = [None]

        def request() -> MeasureRequest:
            made = self._measure_request(item, workload)
            limit[0] = made.cpu_limit
            return made

        def result(answer: dict[str, Any] | Failure) -> RunnerResult:
            if not isinstance(answer, dict):
                return self._failed(answer, limit[0], workload)
            if "error_msg" in answer:
                return RunnerResult(None, answer["error_msg"], "run", seconds=answer["seconds"])
            run_secs, is_complete = answer["run_secs"], answer["complete"]
            if workload is not None and is_complete:
                workload.add(partial(Artifact.read, item.artifact_path), packed_of(item), run_secs)
            cpu_secs, seconds = answer.get("cpu_secs"), answer["seconds"]
            return RunnerResult(
                run_secs, cpu_secs=cpu_secs, seconds=seconds, is_complete=is_complete
            )

        def depends() -> bool:
            return workload is not None and workload.best is None

        return Job(request, result, item.num_cores == 1, self.timeout_sec, depends)

    def _workload(self, item: RunnerInput) -> Workload | None:
        """What is known of candidates to compare with; None if there is nothing to compare."""
        if item.key is None or not self._compares:
            return None
        return self._workloads.setdefault((item.key, item.num_cores), Workload())

    def set_standard(self, item: RunnerInput, standard: Standard | None) -> None:
        """Compare the candidates of a workload with what another runner has measured.

        Args:
            item: a candidate of the workload.
            standard: what to compare with; None for nothing, as at the beginning.
        """
        workload = self._workload(item)
        if workload is not None:
            workload.standard = standard

    def _measure_request(self, item: RunnerInput, workload: Workload | None) -> MeasureRequest:
        candidate, planned = _candidate(item), self._planned_seconds()
        enough = self.timeout_sec / 2
        if workload is None:
            return MeasureRequest(candidate, None, None, enough, None)
        best, reference = workload.best, workload.reference(fork_server().directory)
        cores = item.num_cores or core_count()
        limit = None if best is None else (GRACE + TIMES_BEST * best + 2 * planned) * cores
        enough = min(enough, max(PATIENCE, 2 * planned))
        return MeasureRequest(candidate, reference, best, enough, limit)

    def _planned_seconds(self) -> float:
        """How long the repetitions of a short candidate take."""
        config = self.evaluator_config
        return config.repeat * self.alloc_repeat * config.min_repeat_ms * 1e-3

    def _failed(
        self, failure: Failure, limit: float | None, workload: Workload | None
    ) -> RunnerResult:
        """The result of a candidate that gave no answer."""
        if isinstance(failure, CancelledError):
            return RunnerResult(None, "the runner was closed", "cancelled")
        if isinstance(failure, ChildTimeoutError):
            message = f"running took longer than {self.timeout_sec:g} s"
            return RunnerResult(None, message, "timeout", seconds=self.timeout_sec)
        death = failure.death
        if death.kind == "timeout" and limit is not None and workload is not None:
            message = (
                f"running took more than {limit:.3g} s of processor time; the best so far takes "
                f"{workload.best:.3g} s per run"
            )
            return RunnerResult(None, message, "timeout", seconds=limit)
        return RunnerResult(None, f"running: {death.message}", death.kind)

    def remeasure(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerResult]:
        """Measure candidates of one workload again, in turns."""
        same = {(item.key, item.num_cores, item.device_type) for item in runner_inputs}
        if len(same) != 1 or not self._compares or any(map(_has_estimate, runner_inputs)):
            return super().remeasure(runner_inputs)
        answer = self._queue.add(self._turns(runner_inputs)).result()
        if not isinstance(answer, dict) or "error_msg" in answer:  # one by one, to see whose it is
            return super().remeasure(runner_inputs)
        share = answer["seconds"] / len(runner_inputs)
        return [
            RunnerResult(times["run_secs"], cpu_secs=times["cpu_secs"], seconds=share)
            for times in answer["times"]
        ]

    def _turns(self, items: Sequence[RunnerInput]) -> Job[dict[str, Any] | Failure]:
        workload, candidates = self._workload(items[0]), [_candidate(item) for item in items]
        seconds = sum(TURNS_SECONDS if i.seconds is None else i.seconds for i in items)

        def request() -> InterleavedRequest:
            directory = fork_server().directory
            reference = None if workload is None else workload.reference(directory)
            return InterleavedRequest(candidates, reference, seconds)

        limit = seconds + self.timeout_sec * len(items)
        return Job(request, _as_it_is, items[0].num_cores == 1, limit)

    def machine(self, target: Target) -> Mapping[str, Any]:
        """Where candidates for a target run; for a device that is not here, what estimates them."""
        if is_estimated(target.kind.device_type):
            return estimated_machine(target)
        return super().machine(target)

    # --- results ------------------------------------------------------------------------------

    def expect(self, runner_input: RunnerInput, workload_mod: IRModule) -> None:
        """Start to compute what `check` will need, in the background."""
        if not is_estimated(runner_input.device_type):
            self._expectation(runner_input, workload_mod)

    def can_check(self, runner_input: RunnerInput, workload_mod: IRModule) -> bool:
        """Whether `check` does not have to wait."""
        estimated = _has_estimate(runner_input)
        return estimated or self._expectation(runner_input, workload_mod).is_there

    def check(self, runner_input: RunnerInput, workload_mod: IRModule) -> str | None:
        """How the results of a candidate differ from those of the program that is tuned."""
        if _has_estimate(runner_input):
            return None  # there is nothing that runs
        directory = self._expectation(runner_input, workload_mod).directory()
        if directory is None:
            return None
        request = CheckRequest(_candidate(runner_input), directory, summed_terms(workload_mod))
        single = runner_input.num_cores == 1
        answer = self._queue.add(Job(lambda: request, _as_it_is, single, self.timeout_sec)).result()
        if isinstance(answer, CancelledError):
            return None
        if isinstance(answer, ChildTimeoutError):
            return f"it takes longer than {self.timeout_sec:g} s with other arguments"
        if isinstance(answer, ChildDiedError):
            return f"it fails with other arguments: {answer.death.message}"
        if "error_msg" in answer:
            return f"it fails with other arguments: {answer['error_msg']}"
        return answer["difference"]

    def _expectation(self, item: RunnerInput, mod: IRModule) -> Expectation:
        key = item.key if item.key is not None else mod.script()
        if key not in self._expectations:
            info = [argument.as_json() for argument in item.args_info]
            cores = other_cores(item.num_cores, timing=self._cores)
            self._expectations[key] = Expectation(mod, info, cores, EXPECTED_SECONDS)
        return self._expectations[key]

    def close(self) -> None:
        """End the processes; pending measurements are cancelled."""
        self._finalizer()


def _settings(
    config: EvaluatorConfig, cores: Collection[int] | None, single: bool, **others: Any
) -> RunSettings:
    timing = timing_cores(1 if single else None, None if cores is None else frozenset(cores))
    return RunSettings(config, single, timing, **others)


def _has_estimate(item: RunnerInput) -> bool:
    return item.artifact_path.endswith(SUFFIX)


def _estimated(item: RunnerInput) -> RunnerFuture:
    """What the builder has estimated."""
    seconds, machine = read_estimate(item.artifact_path)
    result = RunnerResult([seconds], machine=machine)
    return RunnerFuture(lambda: True, lambda: result)


def _candidate(item: RunnerInput) -> Candidate:
    info = [argument.as_json() for argument in item.args_info]
    return Candidate(item.artifact_path, item.device_type, info, packed_of(item))


def packed_of(item: RunnerInput) -> dict[int, Any]:
    """`RunnerInput.packed` in the form in which it is sent."""
    return {position: info.as_json() for position, info in item.packed.items()}


def _as_it_is(answer: dict[str, Any] | Failure) -> dict[str, Any] | Failure:
    return answer


def _close(
    jobs: RunQueue, workloads: dict[Any, Workload], expectations: dict[str, Expectation]
) -> None:
    jobs.close()
    for known in (*workloads.values(), *expectations.values()):
        known.close()
