"""Evolution of candidates by the scores of the cost model."""

from __future__ import annotations

import functools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tilewright.tir.schedule import Instruction, Trace
from tilewright.tune.search.candidate_maker import Individual
from tilewright.tune.search.search_run import SearchRun
from tilewright.tune.search.sketch import Key, Sketch

SELECTION: Final = 4.0
"""The first of a ranking is a parent e to the power of this as often as the last."""

SATURATED: Final = 12
"""Number of children in a row whose attempts have all failed, after which a generation ends."""


@dataclass(frozen=True, slots=True)
class Breeding:
    """How new generations are made.

    Attributes:
        generations: their number.
        mutate_prob: how often a child has one parent, and a decision of its own; else it has two.
        max_fail_count: maximum number of attempts for one child.
    """

    generations: int
    mutate_prob: float
    max_fail_count: int


def evolve(
    run: SearchRun, population: Sequence[Individual], size: int, breeding: Breeding
) -> list[Individual]:
    """All candidates of all generations, those with the best scores first.

    Args:
        run: what is known; its cost model says which candidates live on.
        population: the first generation, with scores.
        size: of each generation.
        breeding: how new ones are made.
    """
    everyone = {individual.key: individual for individual in population}
    living = ranked(population)
    for _ in range(breeding.generations):
        if run.context.is_over():
            break
        reproduce = functools.partial(_mutant_or_cross, run, breeding.mutate_prob)
        children = offspring(run, living, size, reproduce, everyone, breeding.max_fail_count)
        if not children:
            break
        run.score(children)
        everyone.update((child.key, child) for child in children)
        living = survivors([*living, *children], size)
    return ranked(everyone.values())


def ranked(individuals: Iterable[Individual]) -> list[Individual]:
    """Individuals, those with the highest scores first."""
    return sorted(individuals, key=lambda individual: -individual.score)


def survivors(individuals: Sequence[Individual], size: int) -> list[Individual]:
    """The best individuals, some of each sketch, since the model may err.

    Half of the places are shared equally among the sketches, the other half are for the best.
    """
    by_sketch: dict[int, list[Individual]] = defaultdict(list)
    best = ranked(individuals)
    for individual in best:
        by_sketch[individual.sketch.number].append(individual)
    share = max(1, size // (2 * len(by_sketch))) if by_sketch else 0
    kept = {i.key: i for group in by_sketch.values() for i in group[:share]}
    for individual in best:
        if len(kept) >= size:
            break
        kept.setdefault(individual.key, individual)
    return ranked(kept.values())


def offspring(
    run: SearchRun,
    parents: Sequence[Individual],
    size: int,
    reproduce: Callable[[Roulette], tuple[Sketch, Trace | None]],
    known: Container[Key],
    max_fail_count: int,
) -> list[Individual]:
    """New candidates; fewer than `size` where the attempts to make one fail.

    Args:
        run: what is known.
        parents: those that ran or have a score, the best first.
        size: number of wanted candidates.
        reproduce: makes a trace of one parent, or of several, of a sketch; None if it cannot.
        known: candidates that do not count as new.
        max_fail_count: maximum number of attempts for one candidate.
    """
    if not parents:
        return []
    choose = Roulette(parents, run.random)
    children: dict[Key, Individual] = {}
    failures = 0
    most = SATURATED * max_fail_count
    while len(children) < size and failures < most and not run.context.is_over():
        child = _child(run, *reproduce(choose), known, children)
        if child is None:
            failures += 1
        else:
            failures = 0
            children[child.key] = child
    return list(children.values())


def _child(
    run: SearchRun, sketch: Sketch, trace: Trace | None, *known: Container[Key]
) -> Individual | None:
    """The candidate of a trace; None if it is known, or if there is none."""
    if trace is None or any(sketch.key(trace) in some for some in known):
        return None
    child = run.maker.make(sketch, trace, run.seed())
    if child is None or any(child.key in some for some in known):
        return None
    return child


def _mutant_or_cross(
    run: SearchRun, mutate_prob: float, choose: Roulette
) -> tuple[Sketch, Trace | None]:
    """A trace of one parent with another decision, or one with decisions of two parents."""
    parent = choose.any()
    if run.mutators and run.random.random() < mutate_prob:
        return parent.sketch, mutated(run, parent.trace)
    return parent.sketch, crossover(parent.trace, choose.like(parent).trace, run.random)


def mutated(run: SearchRun, trace: Trace) -> Trace | None:
    """A trace with another decision, by one of the mutators; None if that one finds none."""
    mutators, weights = zip(*run.mutators, strict=True)
    (mutator,) = run.random.choices(mutators, weights)
    return mutator.apply(trace, run.seed())


class Roulette:
    """Chooses parents: those of a high rank more often.

    Args:
        ranking: the individuals, the best first.
        rng: the source of choices.
    """

    def __init__(self, ranking: Sequence[Individual], rng: random.Random) -> None:
        self._ranking = ranking
        self._rng = rng
        total = 0.0
        self._sums: list[float] = []
        for rank in range(len(ranking)):
            total += math.exp(-SELECTION * rank / len(ranking))
            self._sums.append(total)
        self._groups: dict[int, list[Individual]] = defaultdict(list)
        for individual in ranking:
            self._groups[individual.sketch.number].append(individual)

    def any(self) -> Individual:
        """One of all."""
        return self._rng.choices(self._ranking, cum_weights=self._sums)[0]

    def like(self, one: Individual) -> Individual:
        """One of those with the same sketch."""
        group = self._groups[one.sketch.number]
        return group[min(int(self._rng.expovariate(SELECTION) * len(group)), len(group) - 1)]


def crossover(one: Trace, other: Trace, rng: random.Random) -> Trace | None:
    """A trace with each decision from one of two traces of the same sketch.

    None for traces that cannot be mixed: those of different length, or with
    instructions that return something else.
    """
    if len(one) != len(other):
        return None
    insts: list[Instruction] = []
    decisions: dict[Instruction, Any] = {}
    for mine, theirs in zip(one, other, strict=True):
        if not _is_like(mine, theirs):
            return None
        inst, trace = (mine, one) if rng.random() < 0.5 else (theirs, other)
        insts.append(inst)
        decision = trace.get_decision(inst)
        if decision is not None:
            decisions[inst] = decision
    return Trace(insts, decisions)


def _is_like(mine: Instruction, theirs: Instruction) -> bool:
    """Whether two instructions can stand for each other."""
    return mine is theirs or (
        mine.kind is theirs.kind
        and len(mine.outputs) == len(theirs.outputs)
        and all(a is b for a, b in zip(mine.outputs, theirs.outputs, strict=True))
    )
