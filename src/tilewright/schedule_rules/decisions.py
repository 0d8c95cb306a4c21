"""What a sketch leaves to the search."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.ir.expr import Expr
from tilewright.tir.schedule import Schedule


def choose(sch: Schedule, candidates: Iterable[int], preferred: int) -> Expr | int:
    """One of several numbers, of which the sketch itself has `preferred`.

    Args:
        sch: the sketch.
        candidates: the numbers, all alike likely; `preferred` counts as one of them.
        preferred: what a good heuristic takes.

    Returns:
        The sampled number; if there is only one, that itself.
    """
    values = sorted({*candidates, preferred})
    if len(values) == 1:
        return preferred
    probabilities = [1.0 / len(values)] * len(values)
    return sch.sample_categorical(values, probabilities, decision=values.index(preferred))


def powers_of_two(first: int, last: int) -> list[int]:
    """``first``, twice that, and so on, up to `last`."""
    found = []
    while first <= last:
        found.append(first)
        first *= 2
    return found
