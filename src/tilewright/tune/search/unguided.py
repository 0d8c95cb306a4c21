"""Strategies without a cost model: all candidates in order, or random ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tilewright.error import TVMError
from tilewright.tir.schedule import ScheduleError, Trace
from tilewright.tune.decision import choices
from tilewright.tune.search.candidate_maker import Individual
from tilewright.tune.search.search_run import SearchRun
from tilewright.tune.search.search_strategy import STRATEGIES, TraceSearch
from tilewright.tune.search.sketch import Sketch

HOPELESS: Final = 4096
"""Number of refused candidates in a row after which none of the rest is expected to be accepted."""


def all_traces(run: SearchRun, sketch: Sketch) -> Iterator[Trace]:
    """The traces with all possible decisions of a sketch, in a fixed order.

    The last decision changes fastest.
    """

    def decided(trace: Trace, number: int) -> Iterator[Trace]:
        if number == len(sketch.samplings):
            yield trace
            return
        inst = sketch.samplings[number]
        try:
            possible = choices(run.maker.before(trace, inst), inst)
        except TVMError:
            return  # What was decided before does not apply.
        for decision in possible:
            yield from decided(trace.with_decision(inst, decision), number + 1)

    return decided(sketch.undecided, 0)


def all_individuals(run: SearchRun) -> Iterator[Individual]:
    """All candidates of all sketches that were not chosen yet, of each sketch one in turn."""
    lines = [(sketch, all_traces(run, sketch)) for sketch in run.book.sketches]
    failures = 0
    while lines and failures < HOPELESS:
        for line in list(lines):
            sketch, traces = line
            trace = next(traces, None)
            if trace is None:
                lines.remove(line)
                continue
            if sketch.key(trace) in run.seen:
                continue
            individual = run.maker.make(sketch, trace, 1)
            if individual is None:
                failures += 1
            else:
                failures = 0
                yield individual


@STRATEGIES.add("grid")
class GridSearch(TraceSearch):
    """Measures all candidates in a fixed order; for small spaces.

    The cost model is not asked.
    """

    _rest: Iterator[Individual] = iter(())

    def begin(self, run: SearchRun) -> None:
        """Start with the first candidate."""
        self._rest = all_individuals(run)

    def post_tuning(self) -> None:
        """End."""
        super().post_tuning()
        self._rest = iter(())

    def proposals(self, run: SearchRun, count: int) -> Iterator[Individual]:
        """The next candidates."""
        return self._rest


@STRATEGIES.add("replay-trace", "random")
class ReplayTrace(TraceSearch):
    """Replays the traces of random sketches with random decisions, none of them twice.

    Args:
        max_fail_count: number of refused or known candidates in a row after which it ends.
    """

    def __init__(self, max_fail_count: int = 100) -> None:
        self.max_fail_count = max_fail_count

    def proposals(self, run: SearchRun, count: int) -> Iterator[Individual]:
        """Random candidates, as long as there are new ones."""
        return run.random_ones(self.max_fail_count)


@STRATEGIES.add("replay-func")
class ReplayFunc(TraceSearch):
    """Makes the space anew for each candidate, so that its function may choose what it likes.

    Other strategies change the decisions of a trace that was recorded once. A function of a
    schedule that asks ``if`` about what it has sampled needs this one.

    Args:
        max_fail_count: number of refused or known candidates in a row after which it ends.
    """

    def __init__(self, max_fail_count: int = 100) -> None:
        self.max_fail_count = max_fail_count

    def proposals(self, run: SearchRun, count: int) -> Iterator[Individual]:
        """Candidates with the decisions that the generator made."""
        generator, mod = run.context.space_generator, run.context.mod
        assert generator is not None
        assert mod is not None
        failures = 0
        while failures < self.max_fail_count:
            generator.reseed(run.seed())
            failures += 1
            try:
                space = generator.generate_design_space(mod)
            except ScheduleError as error:
                run.maker.refusals[error.primitive] += 1
                continue
            for sch in space:
                sketch, trace = run.book.add(sch)
                individual = run.maker.make(sketch, trace, run.seed())
                if individual is not None and individual.key not in run.seen:
                    failures = 0
                    yield individual
