"""`TileStencil`: convolutions of each channel, poolings, and other windows that walk over data."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import Access, BlockAccesses
from tilewright.schedule_rules.decisions import choose, powers_of_two
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.groups import aligned
from tilewright.schedule_rules.nest import attempt, is_complete, parallelize
from tilewright.schedule_rules.operands import find_contraction
from tilewright.schedule_rules.plain_nest import Nest, is_plain, plain_nest
from tilewright.schedule_rules.structures import Structure, apply_rule
from tilewright.schedule_rules.vectors import lanes_for, without
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.substitute import variables_of
from tilewright.tune.rule.nest_rule import NestRule

MOST_STEPS: Final = 128
"""Windows of more elements are no stencils."""

MOST_UNROLLED: Final = 32
"""So many elements of a window are written one after the other."""

MOST_VECTORS: Final = 8
"""So many vectors of a row are computed at once at the most."""

ENOUGH: Final = 2
"""So many channels for each core keep all of them busy."""

ACCUMULATORS: Final = 28
"""Vectors of results that stay in registers while a window is summed up."""


class Window(NamedTuple):
    """How a window walks over data: the iterator over rows, if there are several, and over the
    neighbours in a row."""

    rows: Var | None
    column: Var


class TileStencil(NestRule):
    """Computes bands of rows, of which tiles stay in registers while the window is unrolled.

    What makes the data, such as a padding, is computed for each band right before, and what reads
    each element of the result right after. Left to the search: how many rows a band has, and how
    many rows and vectors a tile.
    """

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """One, for reductions over windows that overlap."""
        if window_of(nest) is None:
            return []
        producers, consumers = sch.get_producers(nest.block), sch.get_consumers(nest.block)
        before = [n for n, b in enumerate(producers) if _is_producer(sch, b, nest)]
        after = [n for n, b in enumerate(consumers) if _is_epilogue(sch, b, nest)]
        for chosen in ((before, after), (before, []), ([], [])):
            structure = partial(self._bands, before=chosen[0], after=chosen[1])
            if attempt(sch, lambda s, do=structure: do(s, nest)) is not None:
                return [structure]
        return []

    def _bands(
        self, sch: Schedule, nest: Nest, *, before: Sequence[int], after: Sequence[int]
    ) -> Sequence[BlockRV]:
        """With the producers and consumers at some positions among all."""
        found = sch.get_producers(nest.block) if before else []
        producers = [found[n] for n in before]
        found = sch.get_consumers(nest.block) if after else []
        consumers = [found[n] for n in after]
        accesses, window = nest.accesses, window_of(nest)
        assert window is not None
        others = nest.of(without(accesses.spatial, *window))
        reduced = nest.of(accesses.reduction)
        most, lanes = self._vectors_of_row(nest, window), self._lanes(nest, window)
        vectors = most if most <= MOST_VECTORS else 4
        is_parallel = self._bands_in_parallel(nest, window)
        band, high = self._rows(sch, nest, window, vectors, whole=is_parallel)
        counts = [n for n in (1, 2, 4) if n < most]
        width = choose(sch, [n * lanes for n in counts], vectors * lanes)
        piece, lane = sch.split(nest.loops[window.column], [None, width])
        sch.reorder(*others, *band, piece, *reduced, *high, lane)
        place = band[0] if band else piece
        for producer in reversed(producers):
            sch.compute_at(producer, place, preserve_unit_loops=True)
            self._vectorize(sch, producer, len(others) + 1)
        for consumer in consumers:
            sch.reverse_compute_at(consumer, piece, preserve_unit_loops=True)
            self._vectorize(sch, consumer, len(others) + len(band) + 1)
        for loop in (*_few(nest, reduced), *high):
            sch.unroll(loop)
        sch.vectorize(lane)
        parallelize(sch, [*others, *(band[:1] if is_parallel else [])], self.machine)
        return [*producers, *consumers]

    def _bands_in_parallel(self, nest: Nest, window: Window) -> bool:
        """Whether there is too little work for the cores without cutting rows into bands."""
        if window.rows is None or nest.accesses.extents[window.rows] is None:
            return False
        others = nest.accesses.count(without(nest.accesses.spatial, *window))
        return others < ENOUGH * self.machine.cores

    def _rows(
        self, sch: Schedule, nest: Nest, window: Window, vectors: int, *, whole: bool
    ) -> tuple[list[LoopRV], list[LoopRV]]:
        """The loops over bands and the tiles of one; and that over the rows of a tile.

        Neighbouring bands make some of the same data. Where they run in parallel, `whole`, none
        sticks out, so that it is easily seen that each reads what it has made itself.
        """
        if window.rows is None:
            return [], []
        extent = nest.accesses.extent(window.rows)
        heights = [n for n in powers_of_two(1, min(8, extent)) if not (whole and extent % n)]
        fitting = [n for n in heights if n <= 4 and n * vectors <= ACCUMULATORS]
        high = choose(sch, heights, max(fitting, default=1))
        largest = heights[-1]
        counts = [n for n in (1, 2, 4, 8) if n * largest <= extent]
        counts = [n for n in counts if not (whole and extent % (n * largest))]
        *outer, row = sch.split(nest.loops[window.rows], [None, choose(sch, counts, 1), high])
        return outer, [row]

    def _vectorize(self, sch: Schedule, block: BlockRV, around: int) -> None:
        apply_rule(vectorize_elements, sch, block, self.machine, around)

    def _lanes(self, nest: Nest, window: Window) -> int:
        lanes = self.machine.lanes(nest.accesses.stores[0].buffer.dtype)
        return lanes_for(nest.accesses.extents[window.column], lanes)

    def _vectors_of_row(self, nest: Nest, window: Window) -> int:
        return -(-nest.accesses.extent(window.column) // self._lanes(nest, window))


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
    sliding = [var for var in accesses.spatial if _slides(accesses, largest, var)]
    if not any(column is var for var in sliding):
        return None
    rows = [var for var in without(sliding, column) if accesses.extents[var] != 1]
    return Window(rows[-1] if rows else None, column)


def _slides(accesses: BlockAccesses, load: Access, var: Var) -> bool:
    """Whether an index has both `var` and a reduction iterator in it."""
    mentioned = [{id(item) for item in variables_of(index)} for index in load.indices]
    steps = {id(item) for item in accesses.reduction}
    return any(id(var) in names and names & steps for names in mentioned)


def _few(nest: Nest, reduced: Sequence[LoopRV]) -> list[LoopRV]:
    """The innermost loops over the window, as far as they are few iterations together."""
    found: list[LoopRV] = []
    count = 1
    for var, loop in zip(reversed(nest.accesses.reduction), reversed(reduced), strict=True):
        count *= nest.accesses.extent(var)
        if count > MOST_UNROLLED:
            break
        found.append(loop)
    return found


def _is_producer(sch: Schedule, block: BlockRV, nest: Nest) -> bool:
    """Whether a block computes nothing but elements for another one."""
    consumers = sch.get_consumers(block)
    only = len(consumers) == 1 and sch.get(consumers[0]) is sch.get(nest.block)
    return only and is_complete(sch, block) and is_plain(sch, block)


def _is_epilogue(sch: Schedule, block: BlockRV, nest: Nest) -> bool:
    """Whether a block reads each result at its own iterators."""
    if not is_plain(sch, block) or not is_complete(sch, block):
        return False
    reader = plain_nest(sch, block).accesses
    rank = len(reader.spatial)
    return len(nest.accesses.spatial) == rank and aligned(reader, nest.accesses) == rank
