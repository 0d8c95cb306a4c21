"""Vectors of elements that are not neighbours, but near each other."""

from __future__ import annotations

import operator
from typing import Any, Final, NamedTuple

from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL, INT32
from tilewright.ir.expr import (
    Add,
    Broadcast,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    Ramp,
    Shuffle,
    Sub,
)
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.transform.analysis.masks import leading_lanes

LEAST_SHARED: Final = 2
"""Minimum number of wanted elements for each vector that is loaded. With fewer, a gather is
faster."""


def nearby_vectors(load: BufferLoad) -> Shuffle | None:
    """A load of elements that are near each other, as a shuffle of loads of neighbours::

        x[Ramp(i, 2, 8)] -> Shuffle([x[Ramp(i, 1, 8)], x[Ramp(i + 7, 1, 8)]], [0, 2, 4, 6, 9, ...])

    A gather takes as long as a load of each element; a few whole vectors and their shuffle take a
    fraction of that. All loaded elements lie between the first and the last element, which are in
    the array.

    Returns:
        The shuffle; None where distances are unknown or too large.
    """
    index = _constant_distances(load.indices[0])
    if index is None:
        return None
    lanes, predicate = _known_lanes(load)
    offsets = index.offsets[:lanes]
    different = len(set(offsets))
    is_masked = predicate is not None and predicate.dtype.lanes > 1
    if is_masked and different < lanes:  # an element has one condition
        return None
    starts, length = _windows(offsets, load.dtype.lanes)
    if len(starts) > 1 and len(starts) * LEAST_SHARED > different:
        return None
    picks = [_place(offset, starts, length) for offset in offsets]
    vectors: list[Expr] = []
    for number, start in enumerate(starts):
        first = const(start) if index.base is None else index.base + start
        place = first if length == 1 else Ramp(first, IntImm(first.dtype, 1), length)
        mask = predicate
        if predicate is not None and is_masked:
            mask = _spread(predicate, [pick - number * length for pick in picks])
        vectors.append(load.replace(indices=(place,), predicate=mask))
    if lanes < load.dtype.lanes:
        picks += [len(starts) * length] * (load.dtype.lanes - lanes)
        zero = const(0, load.dtype.element)
        vectors.append(zero if length == 1 else Broadcast(zero, length))
    return Shuffle(tuple(vectors), tuple(IntImm(INT32, pick) for pick in picks))


def _known_lanes(load: BufferLoad) -> tuple[int, Expr | None]:
    """How many of the first lanes are loaded, the others being 0; and the condition of these."""
    lanes, predicate = load.dtype.lanes, load.predicate
    count = None if predicate is None else leading_lanes(predicate)
    if isinstance(count, IntImm) and 0 < count.value < lanes:
        return count.value, None
    return lanes, predicate


class _Index(NamedTuple):
    """Positions of lanes.

    Attributes:
        base: what all lanes have in common; None is 0.
        offsets: what is added for each lane.
    """

    base: Expr | None
    offsets: tuple[int, ...]


_OPERATORS: Final = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    FloorDiv: operator.floordiv,
    FloorMod: operator.mod,
}


def _constant_distances(index: Expr) -> _Index | None:
    """The positions of lanes whose distances are constants; None if they are not."""
    if isinstance(index, Broadcast):
        return _index(index.value, (0,) * index.lanes)
    if isinstance(index, Ramp) and isinstance(index.stride, IntImm):
        return _index(index.base, tuple(index.stride.value * lane for lane in range(index.lanes)))
    if isinstance(index, Cast) and index.dtype.is_int and index.value.dtype.is_int:
        inner = _constant_distances(index.value)
        if inner is None or index.dtype.bits < index.value.dtype.bits:
            return None
        base = None if inner.base is None else Cast(index.dtype.element, inner.base)
        return _Index(base, inner.offsets)
    if index.__class__ not in _OPERATORS:
        return None
    a, b = _constant_distances(index.a), _constant_distances(index.b)  # type: ignore[attr-defined]
    return None if a is None or b is None else _combined(index.__class__, a, b)


def _index(base: Expr, offsets: tuple[int, ...]) -> _Index:
    if not isinstance(base, IntImm):
        return _Index(base, offsets)
    return _Index(None, tuple(base.value + offset for offset in offsets))


def _combined(kind: Any, a: _Index, b: _Index) -> _Index | None:
    """An operation on positions."""
    if kind in (FloorDiv, FloorMod) and 0 in b.offsets:
        return None
    offsets = tuple(map(_OPERATORS[kind], a.offsets, b.offsets))
    if a.base is None and b.base is None:
        return _Index(None, offsets)
    if kind in (Add, Sub):
        first = const(0, b.base.dtype) if a.base is None else a.base  # type: ignore[union-attr]
        return _Index(first if b.base is None else _OPERATORS[kind](first, b.base), offsets)
    if kind is Mul:
        a, b = (b, a) if a.base is None else (a, b)
        if b.base is None and len(set(b.offsets)) == 1:
            assert a.base is not None
            return _Index(a.base * b.offsets[0], offsets)
    return None


def _windows(offsets: tuple[int, ...], most: int) -> tuple[list[int], int]:
    """The first positions of vectors that contain all elements, and the length of these vectors,
    which is at most `most`."""
    first, last = min(offsets), max(offsets)
    length = min(most, last - first + 1)
    starts: list[int] = []
    for offset in sorted(set(offsets)):
        if not starts or offset >= starts[-1] + length:
            starts.append(min(offset, last + 1 - length))
    return starts, length


def _place(offset: int, starts: list[int], length: int) -> int:
    """The position of an element in the concatenated vectors."""
    number = next(n for n in reversed(range(len(starts))) if starts[n] <= offset)
    return number * length + offset - starts[number]


def _spread(predicate: Expr, places: list[int]) -> Expr:
    """The mask of one vector: only lanes that are used are loaded."""
    lanes = len(places)
    wanted = {place: lane for lane, place in enumerate(places)}
    nothing = Broadcast(IntImm(BOOL, 0), lanes)
    indices = [wanted.get(place, lanes) for place in range(lanes)]
    return Shuffle((predicate, nothing), tuple(IntImm(INT32, i) for i in indices))
