"""All candidates of a space, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tilewright.error import TVMError
from tilewright.tir.schedule import Trace
from tilewright.tune.decision import choices
from tilewright.tune.search.candidate_maker import Individual
from tilewright.tune.search.search_run import SearchRun
from tilewright.tune.search.search_strategy import STRATEGIES, TraceSearch
from tilewright.tune.search.sketch import Sketch

HOPELESS: Final = 4096
"""After so many refused candidates in a row, none that is left is expected to be accepted."""


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
            possible = choices(run.workshop.before(trace, inst), inst)
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
            individual = run.workshop.make(sketch, trace, 1)
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
