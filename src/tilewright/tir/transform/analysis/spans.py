"""Stretches of neighbouring elements, and whether they are apart, also where sizes are symbolic.

The rows of a tile are far enough apart if no row is longer than the step from one to the next. A
branch may say that (where ``j * 64 + 63 < n`` holds, rows of 64 elements fit in between steps of
`n`), or the masks of vectors: those of row `i` that are kept from reaching column `n` end where row
`i + 1` begins, wherever they begin themselves.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tilewright.ir.expr import LE, LT, And, Broadcast, Expr, Ramp, is_const_int
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import BufferStore
from tilewright.tir.transform.analysis.affine import Affine, add, affine, difference
from tilewright.tir.transform.analysis.enclosing_scope import Surroundings


class Span(NamedTuple):
    """Elements from `start` on, which end before each of `ends`."""

    start: Affine
    ends: tuple[Affine, ...]

    def ends_before(self, place: Affine, surroundings: Surroundings) -> bool:
        """Whether none of the elements is at `place` or after it."""
        return any(surroundings.is_not_negative(add(place, end, -1)) for end in self.ends)


def contiguous_base(index: Expr) -> tuple[Expr, int]:
    """Where neighbouring elements begin, and how many there are."""
    if isinstance(index, Ramp) and is_const_int(index.stride, 1):
        return index.base, index.lanes
    return index, 1


def span_of(node: BufferLoad | BufferStore) -> Span:
    """What an access of neighbouring elements of a flat buffer touches."""
    base, lanes = contiguous_base(node.indices[0])
    start = affine(base)
    rooms = [Affine({}, lanes), *_rooms(node.predicate)]
    return Span(start, tuple(add(start, room, 1) for room in rooms))


def _rooms(predicate: Expr | None) -> Iterator[Affine]:
    """How many of the first lanes a mask leaves at the most, by each of its parts."""
    if isinstance(predicate, And):
        yield from _rooms(predicate.a)
        yield from _rooms(predicate.b)
    elif isinstance(predicate, (LT, LE)) and predicate.a.dtype.is_int:
        left, right = predicate.a, predicate.b
        if (
            isinstance(left, Ramp)
            and is_const_int(left.stride, 1)
            and isinstance(right, Broadcast)
            and right.value.dtype.lanes == 1
        ):
            room = difference(right.value, left.base)
            yield room._replace(constant=room.constant + isinstance(predicate, LE))


def spans_are_apart(rows: Sequence[Sequence[Span]], surroundings: Surroundings) -> bool:
    """Whether no two stretches share an element, as far as can be told.

    Args:
        rows: stretches that begin a known number of elements apart, in their order.
        surroundings: what is known where they are accessed.
    """

    def follows(one: Sequence[Span], other: Sequence[Span]) -> bool:
        return surroundings.is_not_negative(add(other[0].start, one[0].start, -1))

    for row in rows:
        if not all(a.ends_before(b.start, surroundings) for a, b in itertools.pairwise(row)):
            return False

    def order(one: Sequence[Span], other: Sequence[Span]) -> int:
        return -1 if follows(one, other) else 1

    ordered = sorted(rows, key=functools.cmp_to_key(order))
    return all(
        follows(one, other) and all(s.ends_before(other[0].start, surroundings) for s in one)
        for one, other in itertools.pairwise(ordered)
    )
