"""Tuning of tasks on a simulated fleet: the tuner's own code, in virtual time."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.fleet.simulated_cluster import MACHINE, Fate, SimulatedActor, SimulatedCluster
from benchmarks.fleet.virtual_time import VirtualLoop
from tilewright.script import from_source
from tilewright.tir.schedule import Schedule
from tilewright.tune.callback import MeasureCallback
from tilewright.tune.candidate import ArgInfo, MeasureCandidate
from tilewright.tune.context import TuneContext
from tilewright.tune.database import MemoryDatabase
from tilewright.tune.measure import RunnerResult
from tilewright.tune.measure.fleet import FleetBuilder, FleetRunner, Pool
from tilewright.tune.measure.fleet.cluster import Role
from tilewright.tune.measure.fleet.opening import LazyPool
from tilewright.tune.measure.fleet.tasks import Built
from tilewright.tune.measure.run_requests import Artifact
from tilewright.tune.scheduler import GradientBased
from tilewright.tune.search import SearchStrategy
from tilewright.tune.space import SpaceGenerator

TARGET = "llvm -mtriple=x86_64-sim -num-cores=1"
TIMEOUT, GRACE = 30.0, 10.0

PROGRAM = """
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), C: T.Buffer(({n},), "float32")):
    for i in range({n}):
        with T.block("C"):
            v = T.axis.spatial({n}, i)
            C[v] = A[v] * 2.0 + 1.0
"""


@dataclass(frozen=True)
class Conditions:
    """A fleet, and what is tuned on it.

    Attributes:
        workers: number of machines; each runs a candidate and builds `processes` others.
        tasks: number of programs.
        trials: of all of them.
        batch: number of candidates that a search wants measured at a time.
        search: seconds that it takes for them, in the one process of the tuner.
        build: mean seconds of processor time of a build.
        run: mean seconds of a measurement.
        spread: their standard deviation, as a part.
        stragglers: which part of the candidates takes ten times as long to measure.
        deaths: which part of the measurements kills its machine.
        hangs: which part never ends.
        latency: seconds of a message in one direction.
        start: seconds until a worker is there.
        ahead: number of candidates that wait at each runner.
        seed: of all of that.
    """

    workers: int = 1
    tasks: int = 16
    trials: int = 1024
    batch: int = 64
    search: float = 1.0
    build: float = 0.5
    run: float = 0.6
    spread: float = 0.3
    stragglers: float = 0.0
    deaths: float = 0.0
    hangs: float = 0.0
    latency: float = 0.001
    start: float = 10.0
    ahead: int = 1
    processes: int = 3
    seed: int = 1


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes:
        seconds: of the search, without the start of the workers.
        final_seconds: after the last trial.
        trials: number of candidates.
        failures: candidates that failed.
        busy: which part of the time the runners have worked.
        replaced: number of workers that were replaced.
        best: the size of the tile that won, for each task.
    """

    seconds: float
    final_seconds: float
    trials: int
    failures: int
    busy: float
    replaced: int
    best: list[int]


class _OneSketch(SpaceGenerator):
    def generate_design_space(self, mod: Any) -> list[Schedule]:
        return [Schedule(mod)]


class _TakesTime(SearchStrategy):
    """Proposes tiles of 1, 2, 3, ... elements, and takes its time for that."""

    def __init__(self, number: int, sleep: Callable[[], None]) -> None:
        self._number, self._sleep = number, sleep
        self._next = 1

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        pass

    def pre_tuning(
        self, max_trials: int, num_trials_per_iter: int, *others: Any, **more: Any
    ) -> None:
        self._per_batch = num_trials_per_iter

    def post_tuning(self) -> None:
        pass

    def generate_measure_candidates(self) -> list[MeasureCandidate]:
        self._sleep()
        sizes = range(self._next, self._next + self._per_batch)
        self._next = sizes.stop
        return [_candidate(self._number, size) for size in sizes]

    def notify_runner_results(self, *results: Any) -> None:
        pass


@functools.cache
def _program(number: int) -> Any:
    return from_source(PROGRAM.format(n=1 << 16 | number))


@functools.cache
def _candidate(number: int, size: int) -> MeasureCandidate:
    sch = Schedule(_program(number))
    sch.split(sch.get_loops(sch.get_block("C"))[0], [None, size])
    made = MeasureCandidate(sch, ArgInfo.from_entry_func(sch.mod))
    made.is_default = size == 1
    return made


def size_of(mod: Any) -> int:
    """The size of the tile of a candidate."""
    return int(mod["main"].body.block.body.body.extent)


def true_seconds(size: int) -> float:
    """How long a candidate takes; the default schedule is slow, and the best size is 37."""
    return 1e-3 * (1.0 + abs(math.log(size / 37)))


class _Work:
    """What workers do: files hold the sizes of tiles."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._random = random.Random(conditions.seed)

    def __call__(self, actor: SimulatedActor, method: str, task: Any) -> tuple[float, Any]:
        return getattr(self, f"_{method}")(actor, task)

    def _around(self, mean: float) -> float:
        sigma = self._conditions.spread
        return mean * self._random.lognormvariate(-sigma * sigma / 2, sigma)

    def _build(self, actor: SimulatedActor, task: Any) -> tuple[float, Any]:
        import pickle

        mod, _ = pickle.loads(task.program)
        seconds = self._around(self._conditions.build)
        artifact = Artifact("candidate.o", str(size_of(mod)).encode())
        return seconds, Built(artifact, seconds=seconds, cpu_seconds=seconds)

    def _run(self, actor: SimulatedActor, task: Any) -> tuple[float, Any]:
        conditions, draw = self._conditions, self._random.random()
        seconds = self._around(conditions.run)
        if draw < conditions.deaths:
            return seconds / 2, Fate.DIE
        if draw < conditions.deaths + conditions.hangs:
            return seconds / 2, Fate.HANG
        if draw > 1 - conditions.stragglers:
            seconds *= 10
        return seconds, self._result(actor, task.artifacts[0], task.standard, seconds)

    def _result(
        self, actor: SimulatedActor, artifact: Artifact, standard: Any, seconds: float
    ) -> RunnerResult:
        """The time of a candidate on a machine that is faster or slower than others of its kind."""
        speed = 1 + 0.2 * random.Random(actor.number).random()
        own = speed * true_seconds(int(artifact.content))
        if standard is not None:
            own *= standard.nominal / (speed * true_seconds(int(standard.artifact.content)))
        return RunnerResult([own], seconds=seconds, machine=actor.machine)

    def _remeasure(self, actor: SimulatedActor, task: Any) -> tuple[float, Any]:
        results = [self._result(actor, one, task.standard, 1.0) for one in task.artifacts]
        return sum(item.seconds or 1.0 for item in task.inputs), results

    def _expect(self, actor: SimulatedActor, task: Any) -> tuple[float, Any]:
        return 0.0, None

    def _can_check(self, actor: SimulatedActor, task: Any) -> tuple[float, Any]:
        return 0.0, True

    def _check(self, actor: SimulatedActor, task: Any) -> tuple[float, Any]:
        return 0.05, None


def simulate(conditions: Conditions) -> Outcome:
    """Tune on a fleet, in virtual time."""
    loop = VirtualLoop()
    clusters = [
        SimulatedCluster(_Work(conditions), conditions.latency, conditions.start) for _ in range(2)
    ]
    roles = [
        Role("builds", parallel=conditions.processes, room=conditions.processes),
        Role("runs", parallel=1, room=1 + conditions.ahead),
    ]
    pools = [
        LazyPool(loop, lambda cores, c=c, r=r: Pool(c, r, conditions.workers), "fleet", 1)
        for c, r in zip(clusters, roles, strict=True)
    ]
    builder = FleetBuilder(pools[0], TIMEOUT, GRACE)
    runner = FleetRunner(pools[1], TIMEOUT, GRACE, True, conditions.workers, True)
    for pool in pools:
        pool.open(1)
    start = loop.now
    last_trial = [start]

    class NoteTime(MeasureCallback):
        def apply(self, *batch: Any) -> None:
            last_trial[0] = loop.now

    contexts = [
        TuneContext(
            _program(number),
            target=TARGET,
            space_generator=_OneSketch(),
            search_strategy=_TakesTime(number, lambda: loop.sleep(conditions.search)),
            task_name=str(number),
            rand_state=1,
        )
        for number in range(conditions.tasks)
    ]
    scheduler = GradientBased(seed=conditions.seed)
    scheduler.tune(
        contexts,
        [1.0] * len(contexts),
        conditions.trials,
        math.ceil(conditions.trials / conditions.tasks),
        conditions.batch,
        builder,
        runner,
        [*MeasureCallback.create(), NoteTime()],
        MemoryDatabase(),
    )
    seconds = loop.now - start
    outcome = Outcome(
        seconds,
        loop.now - last_trial[0],
        sum(task.trials for task in scheduler.tasks),
        sum(task.failures.total for task in scheduler.tasks),
        sum(actor.busy for actor in clusters[1].actors) / (conditions.workers * seconds),
        len(clusters[1].actors) - conditions.workers,
        [size_of(task.fastest[0][1].sch.mod) for task in scheduler.tasks],
    )
    runner.close()
    builder.close()
    loop.close()
    return outcome


__all__ = ["MACHINE", "Conditions", "Outcome", "simulate"]
