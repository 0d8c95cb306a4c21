"""Strategies that replay traces, or functions, with random decisions."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.tir.schedule import ScheduleError
from tilewright.tune.search.candidate_maker import Individual
from tilewright.tune.search.search_run import SearchRun
from tilewright.tune.search.search_strategy import STRATEGIES, TraceSearch


@STRATEGIES.add("replay-trace", "random")
class ReplayTrace(TraceSearch):
    """Replays the traces of random sketches with random decisions, none of them twice.

    Args:
        max_fail_count: it ends after so many candidates in a row that are refused or known.
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
        max_fail_count: it ends after so many candidates in a row that are refused or known.
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
                run.workshop.refusals[error.primitive] += 1
                continue
            for sch in space:
                sketch, trace = run.book.add(sch)
                individual = run.workshop.make(sketch, trace, run.seed())
                if individual is not None and individual.key not in run.seen:
                    failures = 0
                    yield individual
