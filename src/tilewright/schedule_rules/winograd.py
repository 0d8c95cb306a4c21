"""Products of transformed tiles, which convolutions with few multiplications are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from tilewright.ir.expr import FloorMod, Var, const_int_value
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.choices import is_choice
from tilewright.schedule_rules.contraction import tile_products
from tilewright.schedule_rules.decisions import choose, lanes_for, without
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    Nest,
    block_of,
    extent_of,
    loops_by_iterator,
    loops_inside,
    parallelize,
    plain_nest,
)
from tilewright.schedule_rules.operands import Contraction, find_contraction
from tilewright.schedule_rules.structures import Structure, apply_rule
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.transform.machine import Machine

ROWS: Final = 6
"""Rows of a tile in registers, roughly."""

PART_OF_SHARED: Final = 8
"""The part of the shared cache that the tiles of a band may take; others use it, too."""

SHARED_BYTES: Final = 12.0
"""Bytes that arrive in a cycle from the cache that cores share."""


def tile_transformed_products(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Transforms tiles in registers, before products of matrices and after them.

    These are convolutions by the algorithm of Winograd: see `topi.nn.winograd`. ::

        for tiles:                      # a band of them
            for tile, channels:         # vectors
                the places of a tile, transformed
            the products of matrices, one for each place
            for tile, filters:          # vectors
                the results of a tile, and their element-wise consumers

    A band stays in the cache of a core where the weights, which are read again for each of them,
    cost less than what is saved. Bands run in parallel; if there is only one, or one for each of
    any number of images, its tiles and places do. Left to the search: how many tiles a band has.
    """
    product = find_contraction(nest.accesses)
    if product is None or len(product.moving) != 1 or len(product.fixed) != 1:
        return []
    producers, consumers = sch.get_producers(nest.block), sch.get_consumers(nest.block)
    before = [n for n, block in enumerate(producers) if is_choice(block_of(sch, block))]
    if len(before) != 1 or len(consumers) != 1 or not is_choice(block_of(sch, consumers[0])):
        return []
    tile = partial(_tile, product=product, machine=machine, position=before[0])
    return [partial(tile, stages=stages) for stages in (True, False)]


def _tile(
    sch: Schedule,
    nest: Nest,
    *,
    product: Contraction,
    machine: Machine,
    position: int,
    stages: bool,
) -> None:
    """The structure.

    Args:
        product: the block as a product of matrices.
        position: that of the transformed operand among the producers.
        stages: whether the places of a tile are read into registers first, with the zeros around
            images.
    """
    before = _chain(sch, sch.get_producers(nest.block)[position], sch.get_producers)
    after = _chain(sch, sch.get_consumers(nest.block)[0], sch.get_consumers)
    result = _only(sch.get_consumers(after[-1]))
    band, vector, is_whole = _bands(sch, product, result, after[-1], machine)
    for block in reversed(after):
        sch.compute_at(block, vector, preserve_unit_loops=True)
        _in_registers(sch, block, vector)
    sch.compute_at(nest.block, band, preserve_unit_loops=True)
    images = sch.get_producers(before[-1]) if stages else []
    _transform(sch, product, [*before, *images], band, machine)
    apply_rule(tile_products, sch, nest.block, machine, 1)
    if not is_whole:
        parallelize(sch, [band], machine)
        return
    for block, count in ((before[0], 1), (nest.block, 2), (result, 1)):  # places are outermost
        parallelize(sch, loops_inside(sch, block, band)[:count], machine)


def _chain(
    sch: Schedule, block: BlockRV, following: Callable[[BlockRV], list[BlockRV]]
) -> list[BlockRV]:
    """A transformation, and those that come after it on the way from the product."""
    found = [block]
    while len(nexts := following(found[-1])) == 1 and is_choice(block_of(sch, nexts[0])):
        found.append(nexts[0])
    return found


def _only(blocks: Sequence[BlockRV]) -> BlockRV:
    if len(blocks) != 1:
        raise DoesNotFitError("transformed results have one consumer")
    return blocks[0]


def _bands(
    sch: Schedule, product: Contraction, result: BlockRV, last: BlockRV, machine: Machine
) -> tuple[LoopRV, LoopRV, bool]:
    """Give the result loops over bands of tiles, the tiles of a band, and vectors of a tile.

    Returns:
        The loops over bands, and over vectors; and whether a band has all tiles, or all of an image
        if there are any number of these.
    """
    reader = plain_nest(sch, result)
    channel, sizes = reader.neighbours(), _sizes(sch, reader, last)
    if channel is None or not sizes or channel in sizes:
        raise DoesNotFitError("the result is not one of tiles")
    outer, inner = [], []
    for var in reader.accesses.spatial:
        if var in sizes:
            piece, part = sch.split(reader.loops[var], [None, sizes[var]])
            outer.append(piece)
            inner.append(part)
        elif var is not channel:
            outer.append(reader.loops[var])
    lanes = machine.lanes(reader.accesses.stores[0].buffer.dtype)
    lanes = lanes_for(reader.accesses.extents[channel], lanes)
    vector, lane = sch.split(reader.loops[channel], [None, lanes])
    sch.reorder(*outer, vector, *inner, lane)
    known = math.prod(extent_of(sch, loop) or 1 for loop in outer)
    best, *others = _band_sizes(product, known, machine)
    band, tile = sch.split(sch.fuse(*outer), [None, choose(sch, others[:7], best)])
    for loop in inner:
        sch.unroll(loop)
    sch.vectorize(lane)
    return band, vector, extent_of(sch, tile) == known


def _sizes(sch: Schedule, reader: Nest, last: BlockRV) -> dict[Var, int]:
    """How many neighbours along an iterator of the result are of one tile."""
    buffer, found = block_of(sch, last).writes[0].buffer, {}
    for load in reader.accesses.loads:
        if load.buffer is buffer:
            for node in (node for index in load.indices for node in walk(index)):
                if isinstance(node, FloorMod) and isinstance(node.a, Var):
                    found[node.a] = const_int_value(node.b) or 1
    return found


def _band_sizes(product: Contraction, tiles: int, machine: Machine) -> list[int]:
    """How many tiles a band may have, the best number first.

    All bands have as many, so that no tile of a product sticks out of one.

    Args:
        tiles: the number of all tiles, or of those of one image if there are any number of these.
    """
    (weights,), (operand,) = product.moving, product.fixed
    size = product.accesses.size
    all_tiles = product.accesses.extent(product.row)
    tile_bytes = (size(operand) + size(product.accesses.stores[0])) / all_tiles
    multiplications = size(weights) / weights.buffer.dtype.itemsize
    lanes = machine.lanes(weights.buffer.dtype)

    def cycles(count: int) -> float:
        """An estimate of the time for a tile in a band of `count`, on all cores."""
        arithmetic = multiplications / (2 * lanes) * -(-count // ROWS) * ROWS / count
        is_near = size(weights) <= machine.own_cache // 2
        arriving = 0 if is_near else size(weights) / count
        if count * tile_bytes > machine.own_cache:
            arriving += 2 * tile_bytes
        if count * tile_bytes > machine.shared_cache // PART_OF_SHARED:
            arriving += 4 * tile_bytes
        bands = tiles // count
        idle = -(-bands // machine.cores) * machine.cores / bands if bands > 1 else 1.0
        return (arithmetic + arriving / SHARED_BYTES) * idle

    counts = [n for n in range(1, tiles + 1) if tiles % n == 0]
    return sorted(counts, key=lambda count: (cycles(count), -count))


def _transform(
    sch: Schedule, product: Contraction, blocks: Sequence[BlockRV], band: LoopRV, machine: Machine
) -> None:
    """Transform the tiles of a band, a vector of channels at once."""
    first, *others = blocks
    transformed = plain_nest(sch, first)
    accesses, channel = transformed.accesses, transformed.neighbours()
    at = [n for n, index in enumerate(product.fixed[0].indices) if index is product.row]
    tiles = [v for v in accesses.spatial for n in at if v is accesses.stores[0].indices[n]]
    if channel is None or len(tiles) != 1:
        raise DoesNotFitError("the operand is not one of tiles with their channels side by side")
    (tile,) = tiles
    sch.compute_at(first, band, preserve_unit_loops=True)
    loops = loops_by_iterator(sch, first, 1)
    places = [loops[var] for var in without(accesses.spatial, tile, channel)]
    lanes = lanes_for(accesses.extents[channel], machine.lanes(accesses.stores[0].buffer.dtype))
    vector, lane = sch.split(loops[channel], [None, lanes])
    sch.reorder(loops[tile], vector, *places, lane)
    for loop in places:
        sch.unroll(loop)
    sch.vectorize(lane)
    for block in others:
        sch.compute_at(block, vector, preserve_unit_loops=True)
        _in_registers(sch, block, vector)


def _in_registers(sch: Schedule, block: BlockRV, place: LoopRV) -> None:
    """Compute all that an iteration of `place` needs of a block one after the other."""
    *places, lane = loops_inside(sch, block, place)
    for loop in places:
        sch.unroll(loop)
    sch.vectorize(lane)
