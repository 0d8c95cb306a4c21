"""Which of many good candidates make a batch."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tilewright.tune.search.individual import Individual
from tilewright.tune.search.sketch import Key


def unlike_first(ranking: Sequence[Individual]) -> Iterator[Individual]:
    """All individuals in their order, but those that are almost like an earlier one at the end.

    Two are almost alike if one decision makes the difference. The best ones of a cost model are
    often variants of one, of which one shows what all of them are worth.
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
        sources: the sources and their shares, of which the ratios count.
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
