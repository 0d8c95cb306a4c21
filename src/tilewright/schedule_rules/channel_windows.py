"""Windows that walk over images whose channels are side by side, each channel on its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from tilewright.ir.expr import Var
from tilewright.schedule_rules.decisions import choose, lanes_for, without
from tilewright.schedule_rules.nest import Nest, block_of, parallelize
from tilewright.schedule_rules.operands import find_contraction
from tilewright.schedule_rules.structures import Structure, first_legal
from tilewright.schedule_rules.tiles import unroll_tile
from tilewright.schedule_rules.windows import (
    MOST_STEPS,
    at_positions,
    is_epilogue,
    is_producer,
    slides,
)
from tilewright.tir.analysis.pattern_kind import is_padded
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.stmt import BufferStore
from tilewright.tir.transform.machine import Machine

MOST_UNROLLED: Final = 256
"""Maximum number of vectors that are written one after the other."""

MOST_PIXELS: Final = 4
"""Maximum number of pixels of a tile. Each element of all windows of a tile is a stream along the
channels, and hardware asks ahead for few of them."""

NARROWEST_MASKED: Final = 32
"""Bits of the narrowest elements of which vectors are loaded under a condition for free."""

OPERANDS: Final = 2
"""Vector registers that a step takes beside the results: a weight, and an element that is not
read where it is multiplied."""


class ChannelWindow(NamedTuple):
    """How a window walks: the iterator over pixels of a row, and over channels."""

    pixel: Var
    channel: Var


def tile_channel_windows(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Computes a vector of channels of some pixels of a row, while the window is unrolled.

    ::

        for rows:
            for pixels:                  # tiles of them
                for channels:            # vectors
                    for window:          # unrolled
                        a vector of each pixel of the tile
                    the element-wise consumers of the tile

    The results stay in registers, and each weight is read once for all pixels of a tile. Zeros
    around images are not copied: all lanes of a vector are inside or outside, and most tiles are
    inside altogether. Bytes are copied: they are few, and vectors of them have no masks. Left to
    the search: how many pixels a tile has.
    """
    window = channel_window_of(nest)
    if window is None:
        return []
    producers, consumers = sch.get_producers(nest.block), sch.get_consumers(nest.block)
    before = [n for n, b in enumerate(producers) if _is_padding(sch, b, nest)]
    if any(load.buffer.dtype.bits < NARROWEST_MASKED for load in nest.accesses.loads):
        before = []
    after = [n for n, b in enumerate(consumers) if is_epilogue(sch, b, nest)]
    tile = partial(_tile, window=window, machine=machine)
    fusions = ((before, after), ([], after), ([], []))
    return first_legal(sch, nest, (partial(tile, before=b, after=a) for b, a in fusions))


def channel_window_of(nest: Nest) -> ChannelWindow | None:
    """The window that a reduction walks over the pixels of its largest operand with, if each
    channel is on its own."""
    accesses, channel, largest = nest.accesses, nest.neighbours(), nest.largest()
    if accesses.reduces is None or channel is None or largest is None:
        return None
    steps = [accesses.extents[var] for var in accesses.reduction]
    if None in steps or accesses.count(accesses.reduction) > MOST_STEPS:
        return None
    if find_contraction(accesses) is not None:
        return None  # an operand has no channels: a product of matrices
    if not all(load.stride(channel) == 1 for load in accesses.loads):
        return None
    sliding = [v for v in accesses.spatial if slides(accesses, largest, v)]
    pixels = [v for v in sliding if accesses.extents[v] != 1]
    if not pixels or any(channel is v for v in sliding):
        return None
    return ChannelWindow(pixels[-1], channel)


def _is_padding(sch: Schedule, block: BlockRV, nest: Nest) -> bool:
    """Whether a block copies elements, and puts a number around them."""
    body = block_of(sch, block).body
    if not is_producer(sch, block, nest) or not isinstance(body, BufferStore):
        return False
    return is_padded(body.value)


def _tile(
    sch: Schedule,
    nest: Nest,
    *,
    window: ChannelWindow,
    machine: Machine,
    before: Sequence[int],
    after: Sequence[int],
) -> None:
    """The structure, with the producers and consumers at some positions among all."""
    accesses = nest.accesses
    for padding in at_positions(before, sch.get_producers, nest.block):
        sch.compute_inline(padding)
    consumers = at_positions(after, sch.get_consumers, nest.block)
    others = nest.of(without(accesses.spatial, *window))
    reduced = nest.of(accesses.reduction)
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    channels = accesses.extents[window.channel]
    lanes = lanes_for(channels, lanes)
    count = _pixels(accesses.extents[window.pixel], machine)
    counts = [n for n in (1, 2, 3, 4, 8) if n <= 2 * count]
    tile, pixel = sch.split(nest.loops[window.pixel], [None, choose(sch, counts, count)])
    vector, lane = sch.split(nest.loops[window.channel], [None, lanes])
    sch.reorder(*others, tile, vector, *reduced, pixel, lane)
    for consumer in consumers:
        sch.reverse_compute_at(consumer, vector, preserve_unit_loops=True)
        sch.vectorize(sch.get_loops(consumer)[-1])  # it counts the lanes
        unroll_tile(sch, consumer, vector, MOST_PIXELS)
    is_cut = channels is None or channels % lanes != 0
    for loop in (*_unrolled(nest, reduced, count, is_cut=is_cut), pixel):
        sch.unroll(loop)
    sch.vectorize(lane)
    parallelize(sch, others or [tile], machine)


def _pixels(extent: int | None, machine: Machine) -> int:
    """How many pixels of a row are computed at once.

    A step loads a weight, and an element for each pixel, two in a cycle. The next vector of
    channels need not wait for the results.
    """
    most = min(MOST_PIXELS, max(1, machine.vector_registers - OPERANDS))
    if extent is None:
        return most
    return min(range(1, min(most, extent) + 1), key=lambda n: (-(-extent // n) * (n + 1), n))


def _unrolled(
    nest: Nest, reduced: Sequence[LoopRV], count: int, *, is_cut: bool
) -> Sequence[LoopRV]:
    """The innermost loops over the window, as far as they are few statements together.

    Partly masked results are in registers around a loop, and in memory between statements without
    one: then one loop stays.
    """
    found: list[LoopRV] = []
    for var, loop in zip(reversed(nest.accesses.reduction), reversed(reduced), strict=True):
        count *= nest.accesses.extent(var)
        if count > MOST_UNROLLED:
            break
        found.append(loop)
    return found[:-1] if is_cut and len(found) == len(reduced) else found
