"""Evolutionary search, guided by a cost model."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import Final

from tilewright.error import require_at_least, require_fraction
from tilewright.tune.search.candidate_maker import Individual
from tilewright.tune.search.evolution import Breeding, evolve, ranked
from tilewright.tune.search.refinement import refinements
from tilewright.tune.search.search_run import SearchRun
from tilewright.tune.search.search_strategy import STRATEGIES, TraceSearch
from tilewright.tune.search.sketch import Key
from tilewright.tune.search.unguided import all_individuals

FULL_BATCH: Final = 128
"""The size of a batch for which a population has its full size.

Making and scoring a candidate takes some milliseconds, measuring one some hundred.
"""

USUAL_LENGTH: Final = 40
"""Instructions of a trace up to which a population has its full size."""

SMALL_POPULATION: Final = 32
"""The population of a small batch, or of long traces, is not smaller than this, if the batch is
not very small."""

PER_TRIAL: Final = 4
"""Size of the generation per chosen candidate, where very few are chosen."""

REFINED: Final = 0.3
"""The part of a batch that are neighbours of the best candidates that were measured."""

BEST: Final = 3
"""Number of candidates whose neighbours these are."""


@STRATEGIES.add("evolutionary")
class EvolutionarySearch(TraceSearch):
    """Breeds candidates that a cost model says are fast, and measures the best.

    The first batch after the default schedule has the sketches' own decisions, then the candidates
    that the model ranks highest, some of each sketch. Later batches have those that it ranks
    highest after it has learned, the neighbours of the fastest measured candidates, and a few
    random ones. When evolution yields nothing new, the rest of the space is enumerated, so that a
    small one is measured completely.

    Args:
        population_size: candidates of a generation, for batches of 128 and traces of up to 40
            instructions; generations are smaller for smaller batches and longer traces.
        init_measured_ratio: the part of the first generation that were measured already.
        init_min_unmeasured: minimum number of random candidates of the first generation.
        max_fail_count: random candidates of each sketch that may be refused or known in a row,
            before no more are tried.
        genetic_num_iters: generations for a batch.
        genetic_mutate_prob: how often a child has one parent, and a decision of its own; else it
            has decisions of two parents.
        genetic_max_fail_count: attempts for one child.
        eps_greedy: the part of a batch that are random ones.
    """

    def __init__(
        self,
        *,
        population_size: int = 512,
        init_measured_ratio: float = 0.2,
        init_min_unmeasured: int = 50,
        max_fail_count: int = 5,
        genetic_num_iters: int = 4,
        genetic_mutate_prob: float = 0.85,
        genetic_max_fail_count: int = 10,
        eps_greedy: float = 0.05,
    ) -> None:
        require_fraction("EvolutionarySearch: init_measured_ratio", init_measured_ratio)
        require_fraction("EvolutionarySearch: genetic_mutate_prob", genetic_mutate_prob)
        require_fraction("EvolutionarySearch: eps_greedy", eps_greedy)
        require_at_least("EvolutionarySearch: population_size", population_size, 1)
        require_at_least("EvolutionarySearch: init_min_unmeasured", init_min_unmeasured, 0)
        require_at_least("EvolutionarySearch: max_fail_count", max_fail_count, 0)
        require_at_least("EvolutionarySearch: genetic_num_iters", genetic_num_iters, 0)
        require_at_least("EvolutionarySearch: genetic_max_fail_count", genetic_max_fail_count, 1)
        self.population_size = population_size
        self.init_measured_ratio = init_measured_ratio
        self.init_min_unmeasured = init_min_unmeasured
        self.max_fail_count = max_fail_count
        self.genetic_num_iters = genetic_num_iters
        self.genetic_mutate_prob = genetic_mutate_prob
        self.genetic_max_fail_count = genetic_max_fail_count
        self.eps_greedy = eps_greedy
        self._population: list[Individual] = []
        self._rest: Iterator[Individual] = iter(())

    def begin(self, run: SearchRun) -> None:
        """Forget other runs."""
        self._population, self._rest = [], all_individuals(run)

    def post_tuning(self) -> None:
        """End."""
        super().post_tuning()
        self._population, self._rest = [], iter(())

    def proposals(self, run: SearchRun, count: int) -> Iterator[Individual]:
        """The next candidates."""
        has_begun = run.has_begun
        own = [] if has_begun else run.own_decisions()
        first = self._first_generation(run, own)
        if own:
            promising = sketch_by_sketch(ranked(own))
            yield from islice(promising, max(1, count // 2))
        breeding = Breeding(
            self.genetic_num_iters, self.genetic_mutate_prob, self.genetic_max_fail_count
        )
        best = evolve(run, first, self._size, breeding)
        self._population = best[: self._size]
        liked = unlike_first([individual for individual in best if individual.key not in run.seen])
        refined = REFINED if has_begun else 0.0
        sources = [
            (liked if has_begun else sketch_by_sketch(list(liked)), 1 - self.eps_greedy - refined),
            (refinements(run, BEST), refined),
            (run.random_ones(self.max_fail_count), self.eps_greedy),
        ]
        yield from interleaved(sources, run.random)
        yield from chain(self._rest)  # without `chain` it would be closed with this batch

    def _first_generation(self, run: SearchRun, own: list[Individual]) -> list[Individual]:
        """Candidates from earlier batches, the sketches' own ones, and random ones."""
        size = self._size
        kept = {i.key: i for i in run.best_measured(int(size * self.init_measured_ratio))}
        kept.update((individual.key, individual) for individual in own)
        for individual in self._population[: size // 2]:
            kept.setdefault(individual.key, individual)
        least = min(self.init_min_unmeasured, PER_TRIAL * self._batch)
        wanted = max(size - len(kept), least)
        for individual in islice(run.random_ones(self.max_fail_count), wanted):
            kept.setdefault(individual.key, individual)
        generation = list(kept.values())
        run.score(generation)
        return generation

    @property
    def _size(self) -> int:
        """Candidates of a generation."""
        # Long traces take long to apply; it would not be worth the time to try as many.
        lengths = [len(sketch.insts) for sketch in self.run.book.sketches]
        mean = max(sum(lengths) / len(lengths), USUAL_LENGTH)
        scaled = int(self.population_size * self._batch / FULL_BATCH * USUAL_LENGTH / mean)
        least = min(SMALL_POPULATION, PER_TRIAL * self._batch)
        return min(self.population_size, max(scaled, least))


def unlike_first(ranking: Sequence[Individual]) -> Iterator[Individual]:
    """All individuals in their order, but those that are almost like an earlier one at the end.

    Two are almost alike if they differ in one decision. The best ones of a cost model are often
    variants of one another, and measuring one tells how fast the others are.
    """
    covered: set[Key] = set()
    later: list[Individual] = []
    for individual in ranking:
        patterns = _patterns(individual.key)
        if covered.isdisjoint(patterns):
            covered.update(patterns)
            yield individual
        else:
            later.append(individual)
    yield from later


def _patterns(key: Key) -> list[Key]:
    """What a key has in common with those in which one decision is another one."""
    number, decisions, changed = key
    found = [
        (number, position, decisions[:position], decisions[position + 1 :], changed)
        for position in range(len(decisions))
    ]
    return [*found, (number, decisions)]


def sketch_by_sketch(ranking: Sequence[Individual]) -> Iterator[Individual]:
    """The best one of each sketch, then the second ones, and so on."""
    by_sketch: dict[int, list[Individual]] = {}
    for individual in ranking:
        by_sketch.setdefault(individual.sketch.number, []).append(individual)
    for row in zip_longest(*by_sketch.values()):
        yield from (individual for individual in row if individual is not None)


def interleaved(
    sources: Sequence[tuple[Iterator[Individual], float]], rng: random.Random
) -> Iterator[Individual]:
    """Individuals of several sources, each with its share as long as it has any.

    Args:
        sources: the sources and their shares, whose ratios count.
        rng: decides which source comes how early, so that a small share counts in small batches,
            too.
    """
    lines = [_Line(source, share, -rng.random()) for source, share in sources if share > 0]
    while lines:
        line = min(lines, key=lambda line: (line.taken + 1) / line.share)
        individual = next(line.source, None)
        if individual is None:
            lines.remove(line)
        else:
            line.taken += 1
            yield individual


@dataclass(eq=False, slots=True)
class _Line:
    source: Iterator[Individual]
    share: float
    taken: float
