"""Random candidates."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.tune.search.individual import Individual
from tilewright.tune.search.search_run import SearchRun
from tilewright.tune.search.search_strategy import STRATEGIES
from tilewright.tune.search.trace_search import TraceSearch


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
