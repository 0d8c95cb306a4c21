"""Timing on machines of a fleet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tilewright.error import TargetError
from tilewright.ir.module import IRModule
from tilewright.runtime.device import CPU, device
from tilewright.target import Target
from tilewright.target.cpu import architecture
from tilewright.tune.measure.fleet.assignment import PoolClosedError, TaskLostError, Worker
from tilewright.tune.measure.fleet.opening import LazyPool
from tilewright.tune.measure.fleet.pool import Pool
from tilewright.tune.measure.fleet.tasks import CheckTask, RunTask
from tilewright.tune.measure.interfaces import (
    CANCELLED,
    Future,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from tilewright.tune.measure.local_runner import EXPECTED_SECONDS, TURNS_SECONDS, packed_of
from tilewright.tune.measure.run_requests import Artifact, Workload

REPEATS: Final = 2
"""A candidate that crashes may run twice, see `RunQueue`."""


@dataclass
class _Known:
    """What is known of a workload.

    Attributes:
        workload: what its candidates are compared with.
        first: is locked while the first one is measured, for the others to be compared with it.
        home: the worker that knows what candidates should compute.
        poll: the question to it whether it knows.
        is_ready: whether it knows.
    """

    workload: Workload = field(default_factory=Workload)
    first: asyncio.Lock = field(default_factory=asyncio.Lock)
    home: Worker | None = None
    poll: Future[bool] | None = None
    is_ready: bool = False


class FleetRunner(Runner):
    """Runs candidates on machines of one kind, one at a time on each worker.

    Candidates of a workload are compared with the same reference on all workers: its file is sent
    along. So a machine that is slower than the others of its kind does not make its candidates
    look worse. Candidates that are measured in turns are on one worker.

    Args:
        pool: of `RunWorker`s.
        timeout_sec: how long one candidate may take in all.
        grace_sec: how much longer a worker may take to say that it was too long.
        compares: whether times are to be compared; not with an evaluator of the user's.
        concurrency: number of workers.
        is_elsewhere: see `Runner`.
    """

    packs_constants = True

    def __init__(
        self,
        pool: LazyPool,
        timeout_sec: float,
        grace_sec: float,
        compares: bool,
        concurrency: int,
        is_elsewhere: bool,
    ) -> None:
        self.timeout_sec, self.grace_sec = timeout_sec, grace_sec
        self.concurrency, self.is_elsewhere = concurrency, is_elsewhere
        self._pool, self._compares = pool, compares
        self._known: dict[Any, _Known] = {}

    def machine(self, target: Target) -> Mapping[str, Any]:
        """Where candidates for a target run, as `TuningRecord.machine` says it.

        Raises:
            TargetError: if its code does not run there.
        """
        machine = self._pool.open(target.num_cores).machine
        if target.kind.name in ("llvm", "c"):
            _require(machine, target)
        return machine

    # --- times --------------------------------------------------------------------------------

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Start to measure; the futures are in the order of the inputs."""
        futures = [
            self._pool.loop.start(self._run(item, Artifact.read(item.artifact_path)))
            for item in runner_inputs
        ]
        return [RunnerFuture(f.done, f.result, _canceller(f)) for f in futures]

    async def _run(self, item: RunnerInput, artifact: Artifact) -> RunnerResult:
        pool = await self._pool.get(item.num_cores or 1)
        if item.key is None or not self._compares:
            return await self._measure(pool, item, artifact, None)
        known = self._known_of(item)
        if known.workload.best is None:
            async with known.first:
                if known.workload.best is None:
                    return await self._measure(pool, item, artifact, known.workload)
        return await self._measure(pool, item, artifact, known.workload)

    async def _measure(
        self, pool: Pool, item: RunnerInput, artifact: Artifact, workload: Workload | None
    ) -> RunnerResult:
        def task() -> RunTask:
            standard = None if workload is None else workload.standard
            return RunTask([_bare(item)], [artifact], standard)

        try:
            result: RunnerResult = await pool.do("run", task, self._limit(REPEATS))
        except TaskLostError as error:
            return _lost(error, pool)
        except PoolClosedError:
            return RunnerResult(None, "the runner was closed", CANCELLED)
        if workload is not None and result.run_secs and result.is_complete:
            workload.add(lambda: artifact, packed_of(item), result.run_secs)
        return result

    def start_remeasuring(
        self, runner_inputs: Sequence[RunnerInput]
    ) -> Callable[[], list[RunnerResult]]:
        """Begin to measure candidates again, in turns on one worker."""
        artifacts = [Artifact.read(item.artifact_path) for item in runner_inputs]
        return self._pool.loop.start(self._remeasure(list(runner_inputs), artifacts)).result

    def remeasure(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerResult]:
        """Measure candidates again, in turns on one worker."""
        return self.start_remeasuring(runner_inputs)()

    async def _remeasure(
        self, items: list[RunnerInput], artifacts: list[Artifact]
    ) -> list[RunnerResult]:
        pool = await self._pool.get(max((item.num_cores or 1 for item in items), default=1))
        known = self._known_of(items[0])

        def task() -> RunTask:
            standard = known.workload.standard if self._compares else None
            return RunTask([_bare(item) for item in items], artifacts, standard)

        turns = sum(TURNS_SECONDS if item.seconds is None else item.seconds for item in items)
        limit = turns + self._limit((1 + REPEATS) * len(items))
        try:
            return await pool.do("remeasure", task, limit)
        except TaskLostError as error:
            return [_lost(error, pool) for _ in items]

    def _limit(self, candidates: int) -> float:
        """Seconds after which a worker with that many candidates to run counts as hung."""
        return candidates * self.timeout_sec + self.grace_sec

    def _known_of(self, item: RunnerInput, mod: IRModule | None = None) -> _Known:
        key = mod.script() if item.key is None and mod is not None else item.key
        return self._known.setdefault((key, item.num_cores), _Known())

    # --- results ------------------------------------------------------------------------------

    def expect(self, runner_input: RunnerInput, workload_mod: IRModule) -> None:
        """Let a worker compute what `check` will need, in the background."""
        if _is_cpu(runner_input):
            self._pool.loop.start(self._ask("expect", CheckTask(runner_input, workload_mod)))

    def can_check(self, runner_input: RunnerInput, workload_mod: IRModule) -> bool:
        """Whether `check` does not have to wait."""
        known = self._known_of(runner_input, workload_mod)
        if known.is_ready or not _is_cpu(runner_input):
            return True
        if known.poll is None:
            task = CheckTask(runner_input, workload_mod)
            known.poll = self._pool.loop.start(self._ask("can_check", task))
        if known.poll.done():
            poll, known.poll = known.poll, None
            try:
                known.is_ready = poll.result()
            except TaskLostError:  # `check` will tell
                known.is_ready = True
        return known.is_ready

    def check(self, runner_input: RunnerInput, workload_mod: IRModule) -> str | None:
        """How the results of a candidate differ from those of the program that is tuned."""
        if not _is_cpu(runner_input):
            return None
        artifact = Artifact.read(runner_input.artifact_path)
        task = CheckTask(_bare(runner_input), workload_mod, artifact)
        try:
            return self._pool.loop.start(self._ask("check", task)).result()
        except TaskLostError as error:
            return f"it fails with other arguments: {error}"

    async def _ask(self, method: str, task: CheckTask) -> Any:
        """What the worker says that knows about a workload; any other one would find out, too."""
        pool = await self._pool.get(task.input.num_cores or 1)
        known = self._known_of(task.input, task.mod)
        if known.home is None or not known.home.is_there:
            known.home = self._least_asked(pool)
        limit = 2 * EXPECTED_SECONDS + self._limit(1)
        return await pool.do(method, lambda: task, limit, known.home)

    def _least_asked(self, pool: Pool) -> Worker | None:
        """The worker that knows about the fewest workloads."""
        homes = [known.home for known in self._known.values()]
        there = [worker for worker in pool.workers if worker.is_there]
        return min(there, key=homes.count, default=None)

    def close(self) -> None:
        """End the workers; what is not measured yet is cancelled."""
        self._pool.close()


def _require(machine: Mapping[str, Any], target: Target) -> None:
    """Refuse targets whose code does not run on a machine.

    Raises:
        TargetError: it says what would run.
    """
    cpu, triple = machine["llvm_cpu"], machine["triple"]
    if architecture(target.triple) != architecture(triple):
        raise TargetError(
            f"tuning: code for {target.triple!r} does not run on the workers, which are {triple!r}"
        )
    from tilewright.tune.database.record import this_machine

    if target.describes_host and cpu != this_machine()["llvm_cpu"]:
        raise TargetError(
            f"tuning: the target {str(target)!r} means this machine, but the workers have "
            f"another processor: give -mcpu={cpu}"
        )


def _bare(item: RunnerInput) -> RunnerInput:
    return replace(item, artifact_path="")


def _lost(error: TaskLostError, pool: Pool) -> RunnerResult:
    return RunnerResult(None, f"running: {error}", error.kind, machine=dict(pool.machine))


def _is_cpu(item: RunnerInput) -> bool:
    return device(item.device_type).device_type == CPU


def _canceller(future: Future[Any]) -> Callable[[], None]:
    def cancel() -> None:
        future.cancel()

    return cancel
