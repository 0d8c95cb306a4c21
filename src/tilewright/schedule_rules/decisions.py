"""What a schedule leaves to the search, arithmetic with it, and loops that run in vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

from tilewright.ir.arithmetic import maximum, minimum
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr
from tilewright.tir.schedule import LoopRV, Schedule

Item = TypeVar("Item")


def choose(sch: Schedule, candidates: Iterable[int], preferred: int) -> Expr | int:
    """One of several numbers; the sketch itself has `preferred`.

    Args:
        candidates: the numbers, all equally likely; `preferred` counts as one of them.
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


def at_least(value: Any, other: Any) -> Any:
    """The larger one of two numbers."""
    return maximum(as_expr(value), as_expr(other))


def at_most(value: Any, other: Any) -> Any:
    """The smaller one of two numbers."""
    return minimum(as_expr(value), as_expr(other))


MOST_VECTORS: Final = 8
"""Maximum number of vectors in an iteration."""

USUAL_VECTORS: Final = 4
"""Best known number of vectors in an iteration of most loops."""

MANY: Final = 8
"""Iterations from which on it does not matter that the last one is incomplete."""


def lanes_for(extent: int | None, lanes: int) -> int:
    """How many lanes a loop is worth: a power of two, not many more than its extent."""
    if extent is None or extent >= lanes:
        return lanes
    return 1 << (extent - 1).bit_length()


def vectorized(
    sch: Schedule, loop: LoopRV, extent: int | None, lanes: int, preferred: int = USUAL_VECTORS
) -> tuple[LoopRV, LoopRV]:
    """Split a loop into vectors, several in an iteration; how many is left to the search.

    Args:
        extent: how often it runs; None if that is symbolic.
        lanes: elements of a vector register.
        preferred: the best known number of vectors for a long loop.

    Returns:
        The outer loop, and the vector.
    """
    lanes = lanes_for(extent, lanes)
    most = MOST_VECTORS if extent is None else min(MOST_VECTORS, -(-extent // lanes))
    widths = [count * lanes for count in powers_of_two(1, most)]
    fitting = [width for width in widths if width <= preferred * lanes]
    width = choose(sch, widths, _widest(fitting, extent))
    outer, inner = sch.split(loop, [None, width])
    sch.vectorize(inner)
    return outer, inner


def _widest(widths: list[int], extent: int | None) -> int:
    """The widest of some vectors that leaves few lanes empty at the end of a loop."""
    if extent is None:
        return widths[-1]
    return next(
        (width for width in reversed(widths) if extent % width == 0 or extent >= MANY * width),
        widths[0],
    )


def without(items: Iterable[Item], *left_out: Item | None) -> list[Item]:
    """Some iterators or loops, without others."""
    return [item for item in items if not any(item is other for other in left_out)]
