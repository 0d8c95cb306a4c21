"""Windows that walk over data: convolutions of each channel, poolings, and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import BlockAccesses, StridedAccess
from tilewright.schedule_rules.alignment import is_elementwise
from tilewright.schedule_rules.decisions import choose, lanes_for, powers_of_two, without
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.nest import (
    Nest,
    is_complete,
    is_plain,
    parallelize,
    plain_nest,
)
from tilewright.schedule_rules.operands import find_contraction
from tilewright.schedule_rules.phases import vectorize_phases
from tilewright.schedule_rules.structures import (
    Structure,
    apply_first_rule,
    apply_rule,
    first_legal,
)
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.machine import Machine

MOST_STEPS: Final = 128
"""Windows of more elements are not stencils."""

MOST_UNROLLED: Final = 32
"""Maximum number of elements of a window that are written one after the other."""

MOST_VECTORS: Final = 8
"""Maximum number of vectors of a row that are computed at once."""

FEW: Final = 2
"""Vectors of a row that are best computed at once, if the last one is incomplete."""

MOST_ROWS: Final = 8
"""Maximum number of rows of a tile."""

HEIGHT: Final = 4
"""The rows of a tile that are enough to hide the latency of additions."""

ENOUGH: Final = 2
"""Channels for each core that keep all of them busy."""


class Window(NamedTuple):
    """How a window walks over data: the iterator over rows, if there are several, and over the
    neighbours in a row."""

    rows: Var | None
    column: Var


def tile_windows(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Computes bands of rows in tiles that stay in registers while the window is unrolled.

    What makes the data, such as a padding, is computed for each band right before, and what reads
    each element of the result right after. Left to the search: how many rows a band has, and how
    many rows and vectors a tile.
    """
    window = window_of(nest)
    if window is None:
        return []
    producers, consumers = sch.get_producers(nest.block), sch.get_consumers(nest.block)
    before = [n for n, b in enumerate(producers) if is_producer(sch, b, nest)]
    after = [n for n, b in enumerate(consumers) if is_epilogue(sch, b, nest)]
    fusions = ((before, after), (before, []), ([], []))
    return first_legal(sch, nest, (_Bands(window, machine, *fused) for fused in fusions))


def has_large_windows(nest: Nest, machine: Machine) -> bool:
    """Whether windows walk over so much that the first cache does not hold what they share.

    Bands of rows are then better than whole images, if vectors fill the rows.
    """
    window, accesses, largest = window_of(nest), nest.accesses, nest.largest()
    if window is None or largest is None or find_contraction(accesses) is None:
        return False
    extent, lanes = accesses.extents[window.column], machine.lanes(largest.buffer.dtype)
    if extent is None or extent % lanes:
        return False
    around = [v for v in without(accesses.spatial, *window) if largest.mentions(v)]
    return accesses.size(largest) > accesses.count(around) * machine.first_cache


class _Bands(NamedTuple):
    """The structure, with the producers and consumers at some positions among all."""

    window: Window
    machine: Machine
    before: Sequence[int]
    after: Sequence[int]

    def __call__(self, sch: Schedule, nest: Nest) -> None:
        producers = at_positions(self.before, sch.get_producers, nest.block)
        consumers = at_positions(self.after, sch.get_consumers, nest.block)
        others = nest.of(without(nest.accesses.spatial, *self.window))
        reduced = nest.of(nest.accesses.reduction)
        is_parallel = self._bands_in_parallel(nest)
        band, high = self._rows(sch, nest, whole=is_parallel)
        lanes = self._lanes(nest)
        vectors = -(-nest.accesses.extent(self.window.column) // lanes)
        widths = [n * lanes for n in (1, 2, 4) if n < vectors]
        if vectors <= MOST_VECTORS:
            widths.append(vectors * lanes)
        is_cut = nest.accesses.extents[self.window.column] != vectors * lanes
        preferred = widths[-1] if is_cut and vectors <= FEW else lanes
        piece, lane = sch.split(
            nest.loops[self.window.column], [None, choose(sch, widths, preferred)]
        )
        sch.reorder(*others, *band, piece, *reduced, *high, lane)
        place = band[0] if band else piece
        for producer in reversed(producers):
            sch.compute_at(producer, place, preserve_unit_loops=True)
            rules = (vectorize_phases, vectorize_elements)
            apply_first_rule(rules, sch, producer, self.machine, len(others) + 1)
        for consumer in consumers:
            sch.reverse_compute_at(consumer, piece, preserve_unit_loops=True)
            around = len(others) + len(band) + 1
            apply_rule(vectorize_elements, sch, consumer, self.machine, around)
        for loop in (*_unrolled(nest, reduced, is_cut=is_cut), *high):
            sch.unroll(loop)
        sch.vectorize(lane)
        parallelize(sch, [*others, *(band[:1] if is_parallel else [])], self.machine)

    def _bands_in_parallel(self, nest: Nest) -> bool:
        """Whether there is too little work for the cores without cutting rows into bands."""
        if self.window.rows is None or nest.accesses.extents[self.window.rows] is None:
            return False
        others = nest.accesses.count(without(nest.accesses.spatial, *self.window))
        return others < ENOUGH * self.machine.cores

    def _rows(self, sch: Schedule, nest: Nest, *, whole: bool) -> tuple[list[LoopRV], list[LoopRV]]:
        """The loops over bands and the tiles of one; and that over the rows of a tile.

        Neighbouring bands make some of the same data. Where they run in parallel, `whole`, none
        sticks out, so that it is easily seen that each reads what it has made itself.
        """
        if self.window.rows is None:
            return [], []
        extent = nest.accesses.extent(self.window.rows)
        heights = powers_of_two(1, min(MOST_ROWS, extent))
        heights = [n for n in heights if not (whole and extent % n)]
        high = choose(sch, heights, max(n for n in heights if n <= HEIGHT))
        counts = [n for n in (1, 2, 4, 8) if n * heights[-1] <= extent]
        counts = [n for n in counts if not (whole and extent % (n * heights[-1]))]
        row_bytes = nest.accesses.extent(self.window.column) * self._itemsize(nest)
        near = self.machine.first_cache // 2 // (row_bytes * min(HEIGHT, heights[-1]))
        count = choose(sch, counts, max([n for n in counts if n <= near], default=counts[0]))
        *outer, row = sch.split(nest.loops[self.window.rows], [None, count, high])
        return outer, [row]

    def _itemsize(self, nest: Nest) -> int:
        return nest.accesses.stores[0].buffer.dtype.itemsize

    def _lanes(self, nest: Nest) -> int:
        lanes = self.machine.lanes(nest.accesses.stores[0].buffer.dtype)
        return lanes_for(nest.accesses.extents[self.window.column], lanes)


def at_positions(
    positions: Sequence[int], query: Callable[[BlockRV], list[BlockRV]], block: BlockRV
) -> list[BlockRV]:
    """The blocks at some positions of the answer to a query, which is asked only if needed."""
    found = query(block) if positions else []
    return [found[n] for n in positions]


def _unrolled(nest: Nest, reduced: Sequence[LoopRV], *, is_cut: bool) -> list[LoopRV]:
    """The innermost loops over the window, as far as they are few iterations together.

    Partly masked results are in registers around a loop, and in memory between
    statements without one: then one loop stays.
    """
    found: list[LoopRV] = []
    count = 1
    for var, loop in zip(reversed(nest.accesses.reduction), reversed(reduced), strict=True):
        count *= nest.accesses.extent(var)
        if count > MOST_UNROLLED:
            break
        found.append(loop)
    return found[:-1] if is_cut and len(found) == len(reduced) else found


def window_of(nest: Nest) -> Window | None:
    """The window that a reduction walks over its largest operand with, if there is one."""
    accesses, column, largest = nest.accesses, nest.neighbours(), nest.largest()
    if accesses.reduces is None or column is None or largest is None:
        return None
    steps = [accesses.extents[var] for var in accesses.reduction]
    if None in steps or accesses.count(accesses.reduction) > MOST_STEPS:
        return None
    found = find_contraction(accesses)
    if found is not None and not all(load.mentions(found.row) for load in found.moving):
        return None  # each vector is used for many rows: a product of matrices
    sliding = [var for var in accesses.spatial if slides(accesses, largest, var)]
    if not any(column is var for var in sliding):
        return None
    rows = [var for var in without(sliding, column) if accesses.extents[var] != 1]
    return Window(rows[-1] if rows else None, column)


def slides(accesses: BlockAccesses, load: StridedAccess, var: Var) -> bool:
    """Whether an index has both `var` and a reduction iterator in it."""
    mentioned = [{id(item) for item in variables_of(index)} for index in load.indices]
    steps = {id(item) for item in accesses.reduction}
    return any(id(var) in names and names & steps for names in mentioned)


def is_producer(sch: Schedule, block: BlockRV, nest: Nest) -> bool:
    """Whether a block computes nothing but elements for another one."""
    consumers = sch.get_consumers(block)
    only = len(consumers) == 1 and sch.get(consumers[0]) is sch.get(nest.block)
    return only and is_complete(sch, block) and is_plain(sch, block)


def is_epilogue(sch: Schedule, block: BlockRV, nest: Nest) -> bool:
    """Whether a block reads each result at its own iterators."""
    if not is_plain(sch, block) or not is_complete(sch, block):
        return False
    return is_elementwise(plain_nest(sch, block).accesses, nest.accesses)
