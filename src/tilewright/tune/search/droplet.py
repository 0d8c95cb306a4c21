"""Coordinate descent on measured times."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from tilewright.error import ArgumentError, ArgumentValueError, require_at_least
from tilewright.tune.decision import adjacent
from tilewright.tune.search.candidate_maker import Individual
from tilewright.tune.search.refinement import steps_from
from tilewright.tune.search.search_run import SearchRun
from tilewright.tune.search.search_strategy import STRATEGIES, TraceSearch
from tilewright.tune.search.significance import is_faster
from tilewright.tune.search.sketch import Key
from tilewright.tune.search.unguided import HOPELESS


@STRATEGIES.add("droplet")
class DropletSearch(TraceSearch):
    """Goes downhill from a start, one decision at a time, until no neighbour is faster.

    Neighbours are the candidates that differ in one decision by one step. The search goes to the
    fastest one that a t-test finds faster than where it is. A batch that is larger than the number
    of neighbours gets theirs, too, and so on. The search ends where all neighbours are known, which
    usually takes far fewer trials than there are candidates. The cost model is not used.

    The method is that of M. Canesche, V. Rosário, E. Borin and F. Quintão Pereira, "The Droplet
    Search Algorithm for Kernel Scheduling", ACM TACO 21(2), 2024. There the decisions are numbers;
    here a step of a tile moves one prime factor.

    Args:
        start_position: the decisions of the start, in the order of the samplings: the position of
            a candidate, or the factors of a tile. By default the search starts from the fastest of
            the sketches with their own decisions.
        pvalue: the probability, between 0 and 1, of a difference by chance, up to which a neighbour
            counts as faster.
        reach: the number of steps within which all candidates are tried before the search ends.
    """

    def __init__(
        self,
        start_position: Sequence[Any] | None = None,
        pvalue: float = 0.05,
        *,
        reach: int = 1,
    ) -> None:
        if start_position is not None and (
            isinstance(start_position, str) or not isinstance(start_position, Sequence)
        ):
            raise ArgumentError(
                f"DropletSearch: start_position is a list of decisions, got {start_position!r}"
            )
        if not 0 < pvalue < 1:
            raise ArgumentValueError(f"DropletSearch: pvalue is between 0 and 1, got {pvalue!r}")
        require_at_least("DropletSearch: reach", reach, 1)
        self.start_position = start_position
        self.pvalue = pvalue
        self.reach = reach
        self._start: Individual | None = None
        self._here: Individual | None = None
        self._looked_at = 0

    def begin(self, run: SearchRun) -> None:
        """Forget other runs."""
        self._start = self._here = None
        self._looked_at = 0

    def post_tuning(self) -> None:
        """End."""
        super().post_tuning()
        self._start = self._here = None

    def proposals(self, run: SearchRun, count: int) -> Iterator[Individual]:
        """The start; then the neighbours of the fastest candidate, their neighbours, and so on."""
        self._descend(run)
        if not run.has_begun:
            starts = self._starts(run)
            self._start = next(iter(starts), None)
            yield from starts
            if len(starts) > 1 and self._here is None:
                return  # which of them is the fastest is not known yet
        centre = self._here or self._start
        if centre is None:
            return
        found = around(run, centre)
        first = next(found, None)
        if first is None or (first.distance > self.reach and centre is self._here):
            return  # nothing near is faster
        yield first.individual
        for other in found:
            yield other.individual

    def _starts(self, run: SearchRun) -> list[Individual]:
        """The candidates to start from."""
        if self.start_position is None:
            return run.own_decisions()
        fitting = [
            sketch
            for sketch in run.book.sketches
            if len(sketch.samplings) == len(self.start_position) and not sketch.is_default
        ]
        found: list[Individual] = []
        for sketch in fitting:
            trace = sketch.decided(self.start_position)
            made = run.maker.make(sketch, trace, run.seed())
            if made is not None and made.key == sketch.key(trace):  # nothing was decided anew
                found.append(made)
        if not found:
            counts = sorted({len(sketch.samplings) for sketch in run.book.sketches})
            raise ArgumentValueError(
                f"DropletSearch: start_position={list(self.start_position)!r} is not a candidate "
                f"of the task {run.context.task_name!r}, whose sketches have {counts} decisions"
            )
        return found

    def _descend(self, run: SearchRun) -> None:
        """Go to the fastest of the candidates that were measured since the last time."""
        news = [
            individual
            for individual in run.measured[self._looked_at :]
            if individual.run_secs and not individual.sketch.is_default
        ]
        self._looked_at = len(run.measured)
        here = () if self._here is None else self._here.run_secs
        for individual in sorted(news, key=lambda individual: fmean(individual.run_secs)):
            if is_faster(individual.run_secs, here, self.pvalue):
                self._here = individual
                return


class Neighbour(NamedTuple):
    """A candidate, and the number of steps to it."""

    distance: int
    individual: Individual


def around(run: SearchRun, centre: Individual) -> Iterator[Neighbour]:
    """Candidates that were not chosen yet, the nearest first."""
    sketch = centre.sketch
    known: set[Key] = {centre.key}
    waiting = deque([(0, centre.trace)])
    failures = 0
    while waiting and failures < HOPELESS:
        distance, trace = waiting.popleft()
        for step in steps_from(run, trace, adjacent):
            key = sketch.key(step)
            if key in known:
                continue
            known.add(key)
            waiting.append((distance + 1, step))
            if key in run.seen:
                continue
            individual = run.maker.make(sketch, step, run.seed())
            if individual is None:
                failures += 1
            elif individual.key not in run.seen:
                failures = 0
                yield Neighbour(distance + 1, individual)
