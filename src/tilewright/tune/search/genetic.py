"""A genetic algorithm on measured times."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from tilewright.error import require_at_least, require_fraction
from tilewright.tir.schedule import Trace
from tilewright.tune.search.candidate_maker import Individual
from tilewright.tune.search.evolution import Roulette, crossover, mutated, offspring
from tilewright.tune.search.search_run import SearchRun
from tilewright.tune.search.search_strategy import STRATEGIES, TraceSearch
from tilewright.tune.search.sketch import Sketch

ATTEMPTS: Final = 10
"""Maximum number of attempts for one child."""


@STRATEGIES.add("genetic")
class GeneticSearch(TraceSearch):
    """Measures whole generations, each bred from the one before; the cost model is not used.

    The first generation has the sketches' own decisions and random ones. Parents of the next one
    are those that ran, and the fastest of all; faster ones are chosen more often. A child has each
    decision from one of two parents, then some of them anew. When no new children come up any more,
    random candidates follow.

    See J. H. Holland, "Adaptation in Natural and Artificial Systems", 1975. `EvolutionarySearch`
    breeds in the same way, but selects by a cost model, and measures few candidates.

    Args:
        population_size: candidates of a generation.
        elite_count: number of the fastest candidates that remain parents.
        mutation_prob: how often, from 0 to 1, a decision of a child is made anew.
        max_fail_count: random candidates of each sketch that may be refused or known in a row,
            before no more are tried.
    """

    def __init__(
        self,
        *,
        population_size: int = 100,
        elite_count: int = 3,
        mutation_prob: float = 0.1,
        max_fail_count: int = 100,
    ) -> None:
        require_at_least("GeneticSearch: population_size", population_size, 1)
        require_at_least("GeneticSearch: elite_count", elite_count, 0)
        require_fraction("GeneticSearch: mutation_prob", mutation_prob)
        require_at_least("GeneticSearch: max_fail_count", max_fail_count, 0)
        self.population_size = population_size
        self.elite_count = elite_count
        self.mutation_prob = mutation_prob
        self.max_fail_count = max_fail_count
        self._waiting: Iterator[Individual] = iter(())
        self._measured_before = 0

    def begin(self, run: SearchRun) -> None:
        """Forget other runs."""
        self._waiting, self._measured_before = iter(()), 0

    def post_tuning(self) -> None:
        """End."""
        super().post_tuning()
        self._waiting = iter(())

    def proposals(self, run: SearchRun, count: int) -> Iterator[Individual]:
        """The rest of this generation; when all of it was measured, the next one."""
        first = next(self._waiting, None)
        if first is None:
            self._waiting = self._generation(run)
            first = next(self._waiting, None)
        if first is not None:
            yield first
            yield from chain(self._waiting)  # without `chain` it would be closed with this batch

    def _generation(self, run: SearchRun) -> Iterator[Individual]:
        """Children of the last generation and the elite; random ones in the places that are left.

        The sketches with their own decisions are in the first generation.
        """
        children = self._children(run)
        self._measured_before = len(run.measured)
        given = [] if run.has_begun else run.own_decisions()
        source = chain(children, given, run.random_ones(self.max_fail_count))
        yield from islice(source, self.population_size)

    def _children(self, run: SearchRun) -> list[Individual]:
        last = [i for i in run.measured[self._measured_before :] if i.run_secs]
        living = {i.key: i for i in [*run.best_measured(self.elite_count), *last]}
        parents = sorted(living.values(), key=lambda individual: individual.seconds or 0.0)

        def reproduce(choose: Roulette) -> tuple[Sketch, Trace | None]:
            parent = choose.any()
            trace = crossover(parent.trace, choose.like(parent).trace, run.random)
            return parent.sketch, self._mutated(run, parent.sketch, trace)

        return offspring(run, parents, self.population_size, reproduce, run.seen, ATTEMPTS)

    def _mutated(self, run: SearchRun, sketch: Sketch, trace: Trace | None) -> Trace | None:
        """A trace with some decisions made anew; with one at least if it is known."""
        for _ in sketch.samplings:
            if trace is not None and run.random.random() < self.mutation_prob:
                trace = mutated(run, trace) or trace
        if trace is not None and sketch.key(trace) in run.seen:
            trace = mutated(run, trace)
        return trace
