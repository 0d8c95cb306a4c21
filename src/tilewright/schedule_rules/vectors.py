"""Loops that run in vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.decisions import choose, powers_of_two
from tilewright.tir.schedule import LoopRV, Schedule

MOST_VECTORS: Final = 8
"""Maximum number of vectors in an iteration."""

MANY: Final = 8
"""Iterations from which on it does not matter that the last one is incomplete."""


def lanes_for(extent: int | None, lanes: int) -> int:
    """How many lanes a loop is worth: a power of two, not many more than its extent."""
    if extent is None or extent >= lanes:
        return lanes
    return 1 << (extent - 1).bit_length()


def vectorized(
    sch: Schedule, loop: LoopRV, extent: int | None, lanes: int, preferred: int = 4
) -> tuple[LoopRV, LoopRV]:
    """Split a loop into vectors, several in an iteration; how many is left to the search.

    Args:
        sch: the schedule.
        loop: the loop.
        extent: how often it runs; None if that is symbolic.
        lanes: elements of a vector register.
        preferred: the best number of vectors for a long loop, as far as is known.

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


def without(variables: Iterable[Var], *left_out: Var | None) -> list[Var]:
    """Some iterators, without others."""
    return [var for var in variables if not any(var is item for item in left_out)]
