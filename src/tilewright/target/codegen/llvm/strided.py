"""Strided vector loads as shuffles of contiguous loads.

A gather takes as long as a load of each element; a few whole vectors and their shuffle take a
fraction of that::

    x[Ramp(i, 2, 8)]  ->  Shuffle([x[Ramp(i, 1, 8)], x[Ramp(i + 7, 1, 8)]], [0, 2, 4, 6, 9, ...])

All loaded elements lie between the first and the last element, which are in the array.
"""

from __future__ import annotations

from typing import Final

from tilewright.ir.dtype import BOOL, INT32
from tilewright.ir.expr import Broadcast, Expr, IntImm, Ramp, Shuffle
from tilewright.tir.buffer import BufferLoad

MOST_STRIDE: Final = 4
"""With larger strides, a gather is faster than that many vectors."""

FEWEST_LANES: Final = 4


def is_strided(index: Expr) -> bool:
    """Whether an index is a ramp with a small stride."""
    return (
        isinstance(index, Ramp)
        and isinstance(index.stride, IntImm)
        and 1 < index.stride.value <= MOST_STRIDE
        and index.lanes >= FEWEST_LANES
    )


def neighbours_of(load: BufferLoad) -> Shuffle:
    """A strided load as a shuffle of contiguous loads."""
    (index,) = load.indices
    assert isinstance(index, Ramp)
    assert isinstance(index.stride, IntImm)
    stride, lanes = index.stride.value, index.lanes
    span = (lanes - 1) * stride + 1
    starts = [min(first, span - lanes) for first in range(0, span, lanes)]
    one = IntImm(index.stride.dtype, 1)
    picks = [_place(lane * stride, starts, lanes) for lane in range(lanes)]
    vectors = []
    for number, start in enumerate(starts):
        predicate = load.predicate
        if predicate is not None and predicate.dtype.lanes > 1:
            predicate = _spread(predicate, [p - number * lanes for p in picks])
        place = Ramp(index.base + start, one, lanes)
        vectors.append(load.replace(indices=(place,), predicate=predicate))
    return Shuffle(tuple(vectors), tuple(IntImm(INT32, pick) for pick in picks))


def _place(element: int, starts: list[int], lanes: int) -> int:
    """The position of an element in the concatenated vectors."""
    number = next(n for n in reversed(range(len(starts))) if starts[n] <= element)
    return number * lanes + element - starts[number]


def _spread(predicate: Expr, places: list[int]) -> Shuffle:
    """The mask of one vector: only lanes that are used are loaded."""
    lanes = len(places)
    wanted = {place: lane for lane, place in enumerate(places)}
    nothing = Broadcast(IntImm(BOOL, 0), lanes)
    indices = [wanted.get(place, lanes) for place in range(lanes)]
    return Shuffle((predicate, nothing), tuple(IntImm(INT32, i) for i in indices))
