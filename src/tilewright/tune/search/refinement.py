"""The neighbours of the best candidates that were measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from tilewright.error import TVMError
from tilewright.tir.schedule import Instruction, Trace
from tilewright.tune.decision import choices, frozen, neighbours
from tilewright.tune.search.candidate_maker import Individual
from tilewright.tune.search.evolution import ranked
from tilewright.tune.search.search_run import SearchRun
from tilewright.tune.search.search_strategy import STRATEGIES, TraceSearch

MANY: Final = 1 << 30
"""All that were measured."""


def neighbours_of(run: SearchRun, individual: Individual) -> list[Individual]:
    """Candidates that differ in one decision by one step, and were not chosen yet, best first."""
    found: dict[object, Individual] = {}
    for trace in steps_from(run, individual.trace, neighbours):
        if individual.sketch.key(trace) in run.seen:
            continue
        neighbour = run.maker.make(individual.sketch, trace, run.seed())
        if neighbour is not None and neighbour.key not in run.seen:
            found[neighbour.key] = neighbour
    run.score(list(found.values()))
    return ranked(found.values())


def steps_from(
    run: SearchRun, trace: Trace, near: Callable[[Instruction, Any], list[Any]]
) -> Iterator[Trace]:
    """The traces that differ in one decision by one step.

    Args:
        run: what is known.
        trace: a trace with all decisions.
        near: the decisions that are a step away from one of a sampling. All places of a block are
            a step away from each other.
    """
    for inst in trace.kept(remove_postproc=True):
        if not inst.kind.primitive.is_sampling:
            continue
        decision = trace.get_decision(inst)
        if inst.kind.name == "sample_compute_location":
            try:
                others = choices(run.maker.before(trace, inst), inst)
            except TVMError:
                others = []
        else:
            others = near(inst, decision)
        for other in others:
            if frozen(other) != frozen(decision):
                yield trace.with_decision(inst, other)


def refinements(run: SearchRun, count: int) -> Iterator[Individual]:
    """The neighbours of the best candidates, one of each of them in turn.

    Args:
        run: what is known.
        count: number of the best candidates; it ends when none of them has neighbours left.
    """
    lines = [iter(neighbours_of(run, best)) for best in run.best_measured(count)]
    while lines:
        for line in list(lines):
            neighbour = next(line, None)
            if neighbour is None:
                lines.remove(line)
            else:
                yield neighbour


@STRATEGIES.add("local", "local-refinement")
class LocalRefinement(TraceSearch):
    """Goes from the best candidate to its best neighbour, and on from there.

    The first batch has the sketches' own decisions and random ones. When a candidate has no
    neighbours left that were not measured, the next best one goes on, and in the end random ones.

    Args:
        num_starts: number of random candidates of the first batch.
        num_best: number of the best candidates whose neighbours are measured at a time.
        max_fail_count: maximum number of refused or known random candidates in a row.
    """

    def __init__(
        self, *, num_starts: int = 16, num_best: int = 2, max_fail_count: int = 100
    ) -> None:
        self.num_starts = num_starts
        self.num_best = num_best
        self.max_fail_count = max_fail_count

    def proposals(self, run: SearchRun, count: int) -> Iterator[Individual]:
        """The next candidates."""
        if not run.has_begun:
            yield from run.own_decisions()
            yield from islice(run.random_ones(self.max_fail_count), self.num_starts)
        yield from refinements(run, self.num_best)
        for best in run.best_measured(MANY)[self.num_best :]:
            yield from neighbours_of(run, best)
        yield from run.random_ones(self.max_fail_count)
