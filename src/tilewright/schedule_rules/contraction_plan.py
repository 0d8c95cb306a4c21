"""How a contraction is tiled."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Final

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import StridedAccess
from tilewright.schedule_rules.cache_sets import keeps_columns
from tilewright.schedule_rules.decisions import without
from tilewright.schedule_rules.dot_products import DotProduct, only_axis
from tilewright.schedule_rules.far_memory import has_large_cache
from tilewright.schedule_rules.operands import MANY_ROWS, Contraction
from tilewright.schedule_rules.panel_sizes import block_depth, panel_counts
from tilewright.schedule_rules.tiles import (
    Tile,
    is_wide,
    register_tile,
)
from tilewright.tir.transform.machine import LINE_BYTES, Machine

ENOUGH_REUSE: Final = 16
"""How often an element must be used, so that packing what exceeds the cache pays."""

MUCH_REUSE: Final = 192
"""How often, where the cache keeps as they are the columns that a tile uses."""

FEW_BYTE_USES: Final = 3
"""How often, so that packing bytes for dot products pays: without, each product takes a lane of the
sums."""

FEW_TILE_USES: Final = 5
"""How often, so that packing other elements for tile registers pays: fewer rows take less time
when the matrix is read as it is."""

LEAST_REUSE: Final = 4
"""How often, so that packing columns that are not neighbours in memory pays."""

MANY_USES: Final = 32
"""How often, so that converting an element once takes less time than each time."""

LONG_ROW: Final = 4
"""Minimum number of vectors of a row that is converted on its own."""

FAR: Final = 2048
"""Bytes between accesses that follow each other, from which on they are seldom on one page."""

ENOUGH_FILLED: Final = 0.75
"""The part of the lanes that should be used."""

FILLED: Final = 0.05
"""The part of the steps that zeros may be added to them, so that squares are whole."""

SHALLOW: Final = 128
"""Number of steps of a sum up to which writing the results counts. Whole rows of them are written 4
to 100 % faster than some columns of each row."""

FAR_BYTES: Final = 2.0
"""Bytes that arrive in a cycle where the next ones are on another page."""

IN_MEMORY: Final = 3 / 8
"""The part of the cache that cores share from which on it does not hold an operand, beside other
data."""


class Plan:
    """The tiles of a contraction.

    Args:
        found: the contraction.
        columns: the iterators that count as columns, the last one over neighbours.
        machine: the machine.
        outer: how many of the loops around the block are fixed already.
        packed: whether the operand with columns is copied into panels first.
        transposed: whether the columns are not neighbours in the result.
        near_panels: whether panels are so short that they stay in the first cache; see
            `near_panels.py`.
        packs_rows: whether the operand with rows is copied first, those of a tile side by side.
        dot: how it is computed by dot products; a step then stands for a group of steps, and a
            row for the rows that an instruction multiplies at once.
        is_ready: whether the operand with columns is packed when the program is compiled.
    """

    def __init__(
        self,
        found: Contraction,
        columns: Sequence[Var],
        machine: Machine,
        outer: int,
        *,
        packed: bool,
        transposed: bool = False,
        near_panels: bool = False,
        packs_rows: bool = False,
        dot: DotProduct | None = None,
        is_ready: bool = False,
    ) -> None:
        self.found = found
        self.columns = columns
        self.machine = machine
        self.outer = outer
        self.packed = packed
        self.transposed = transposed
        self.near_panels = near_panels
        self.packs_rows = packs_rows
        self.dot = dot
        self.is_ready = is_ready
        a = found.accesses
        self.lanes = machine.lanes(a.stores[0].buffer.dtype)
        self.depth = a.count(a.reduction)
        self.step_multiple = 1
        if dot is not None:
            self.lanes = dot.kind.columns if self.multiplies_matrices else self.lanes
            self.step_multiple = self._step_multiple(dot)
            self.depth = self._depth_in_groups(dot)
        self.width_of_all = (
            math.prod(map(found.count, columns)) if self.in_tiles else a.count(columns)
        )
        self.rows = -(-found.row_count() // (1 if dot is None else dot.kind.rows))
        self.reuse = self.rows * a.count(
            var for var in found.outer if not any(load.mentions(var) for load in found.moving)
        )
        self.converted = self._converted()
        self.itemsize = self._itemsize()
        self.tile = self._tile(streams=False)
        if not (packed or near_panels or self.is_narrow()) and self.exceeds_cache():
            self.tile = self._tile(streams=True)
        self.width = self.tile.vectors * self.lanes
        self.block_depth = block_depth(self)

    @property
    def other_registers(self) -> int:
        """Number of registers that a step takes beside the results and the vectors of columns."""
        return 1 if self.dot is None else self.dot.kind.registers

    @property
    def multiplies_matrices(self) -> bool:
        """Whether an instruction multiplies several rows by several columns."""
        return self.dot is not None and self.dot.kind.rows > 1

    @property
    def stages_results(self) -> bool:
        """Whether the results of a tile are collected in memory of its own."""
        if self.in_tiles and self.are_apart(self.found.accesses.stores[0]):
            return True
        several = self.packed and not self.has_one_stretch
        return self.transposed or several or (self.multiplies_matrices and not self.in_tiles)

    @functools.cached_property
    def has_one_stretch(self) -> bool:
        """Whether the columns of a panel are one stretch of each row of the operand: a box of it,
        if those that are merged count as one."""
        if len(self.columns) == 1:
            return True
        extents = map(self.found.accesses.extents.get, self.columns)
        return self.dot is None and None not in extents and self.found.is_contiguous(self.columns)

    def are_apart(self, access: StridedAccess) -> bool:
        """Whether another dimension lies between the rows of an operand or result and its last
        dimension."""
        axis = only_axis(access, self.found.row)
        return axis is not None and axis < len(access.indices) - 2

    def neighbor_of_rows(self) -> Var | None:
        """The iterator over neighbours in the result, where the rows of blocks in tile registers go
        another way: down an image. Results are written together for all its values, unless these
        are more than the cache of a core holds; None otherwise."""
        (store,), found = self.found.accesses.stores, self.found
        if not (self.in_tiles and self.transposed) or store.stride(found.row) == 1:
            return None
        assert self.dot is not None
        results = self.dot.kind.rows * self.width * store.buffer.dtype.itemsize
        most = self.machine.own_cache // (2 * results)
        near = (var for var in found.other_rows() if store.stride(var) == 1)
        return next((var for var in near if found.count(var) <= most), None)

    @property
    def fills_lanes(self) -> bool:
        """Whether the rows of a transposed product are filled up to whole vectors with zeros, which
        their copy has. Parts of vectors would go to memory, and whole ones come from there."""
        is_static = None not in self.found.accesses.extents.values()
        return self.transposed and self.packed and self.dot is None and is_static

    @property
    def in_tiles(self) -> bool:
        """Whether results are in tile registers, and go to memory block by block."""
        return self.dot is not None and self.dot.kind.in_tiles

    @property
    def uses(self) -> int:
        """For how many rows an element of the operand with columns is used."""
        return self.reuse * (self.dot.kind.rows if self.dot is not None and self.in_tiles else 1)

    @property
    def enough_uses(self) -> int:
        """For how many rows, so that packing what exceeds the cache pays."""
        are_bytes = self.dot is not None and self.found.moving[0].buffer.dtype.itemsize == 1
        if are_bytes:
            return FEW_BYTE_USES
        if self.has_groups():
            return LEAST_REUSE
        return FEW_TILE_USES if self.in_tiles else ENOUGH_REUSE

    def has_groups(self) -> bool:
        """Whether groups of steps are side by side in memory, so that each is copied on its own."""
        return self.dot is not None and self.found.moving[0].stride(self.dot.step) == 1

    def multiples(self) -> dict[Var, int]:
        """Of what the extents of iterators are multiples, or become ones by zeros."""
        column = self.columns[-1]
        if self.dot is None:
            return {column: self.lanes} if self.fills_lanes else {}
        # Blocks of panels in tile registers are whole: the last one is as fast as the others.
        columns = self.lanes * (panel_counts(self)[-1] if self.in_tiles else 1)
        steps = {self.dot.step: self.step_multiple}
        return {**steps, column: columns, self.found.row: self.dot.kind.rows}

    def is_whole(self) -> bool:
        """Whether extents are such multiples as they are."""
        return self.found.accesses.are_multiples(self.multiples())

    def _step_multiple(self, dot: DotProduct) -> int:
        """What the number of steps becomes a multiple of: of a group, or, where groups are copied
        in squares, of a square, if that adds few steps.

        The operand with rows is filled up in each step, which takes longer than copying a few
        columns group by group, unless some steps are missing in any case.
        """
        accesses, found = self.found.accesses, self.found
        extent = accesses.extents[dot.step]
        if extent is None or self.is_ready or not self.has_groups() or self.in_tiles:
            return dot.size
        are_few = accesses.extent(found.column) < accesses.extent(found.row)
        filled = -(-extent // self.lanes) * self.lanes
        is_little = filled - extent <= FILLED * extent and self.lanes % dot.size == 0
        return dot.size if not is_little or (are_few and extent % dot.size == 0) else self.lanes

    def _depth_in_groups(self, dot: DotProduct) -> int:
        extent = self.found.accesses.extent(dot.step)
        filled = -(-extent // self.step_multiple) * self.step_multiple
        return self.depth // extent * -(-filled // dot.size)

    def _converted(self) -> list[StridedAccess]:
        """The operands that are converted to the type of the sums before they are multiplied.

        Others, of which few rows use an element, come from memory sooner as they are.
        """
        if self.dot is not None:
            return []
        accesses, unknown = self.found.accesses, self.found.few_rows or MANY_ROWS
        return [
            load
            for load in accesses.converted
            if load in self.found.fixed or accesses.uses(load, unknown) >= MANY_USES
        ]

    def converts_columns(self) -> bool:
        """Whether the operand with columns is converted before it is multiplied."""
        return any(load in self.converted for load in self.found.moving)

    def converts_tiles(self, operand: StridedAccess) -> bool:
        """Whether an operand is converted for each tile of rows, instead of all of it at first.

        Rows must be long, and no second block of columns may need them again.
        """
        accesses = self.found.accesses
        steps = [var for var in accesses.reduction if accesses.extents[var] != 1]
        if operand not in self.found.fixed or not steps or operand.stride(steps[-1]) != 1:
            return False
        is_long = accesses.extent(steps[-1]) >= LONG_ROW * self.lanes
        return is_long and self.width_of_all <= panel_counts(self)[-1] * self.width

    def _itemsize(self) -> int:
        """Number of bytes of an element of the operand with columns, or of a group of them."""
        if self.dot is not None:
            return self.dot.size * DType(self.dot.dtypes[1]).itemsize
        accesses = self.found.accesses.stores if self.converts_columns() else self.found.moving
        return accesses[0].buffer.dtype.itemsize

    def steps_of(self, var: Var) -> int | None:
        """How many steps an iterator of the sum counts; None if that is symbolic."""
        extent = self.found.accesses.extents[var]
        if extent is None or self.dot is None or var is not self.dot.step:
            return extent
        return -(-extent // self.step_multiple) * self.step_multiple // self.dot.size

    @property
    def columns_bytes(self) -> int:
        """Bytes of what is read of the operand with columns."""
        return self.depth * self.width_of_all * self.itemsize

    @property
    def panel_bytes(self) -> int:
        """Bytes of the columns that a tile uses."""
        return self.depth * self.width * self.itemsize

    def _tile(self, *, streams: bool) -> Tile:
        if self.in_tiles:
            return Tile(1, 1)
        itemsize = self.found.accesses.stores[0].buffer.dtype.itemsize
        # Sums of integers become bytes, and many machines have no masks for vectors of these.
        are_lanes = self.transposed and self.dot is not None
        return register_tile(
            self.rows, self.width_of_all, self.depth, self.lanes, itemsize, self.machine,
            streams=streams, near=self.found.has_near_rows() and not self.packs_rows,
            others=self.other_registers, transposes=self.transposed, are_lanes=are_lanes,
            whole_lines=self.near_panels, in_blocks=self.reads_blocks,
        )  # fmt: skip

    def is_narrow(self) -> bool:
        """Whether the operand with columns is one panel as it is."""
        width = self.tile.vectors * self.lanes
        return self.width_of_all <= width and self.found.is_contiguous(self.columns)

    def is_far(self, load: StridedAccess) -> bool:
        """Whether the next step of the sum reads an operand from where no cache has it ready."""
        accesses = self.found.accesses
        steps = [load.stride(var) for var in accesses.reduction if accesses.extents[var] != 1]
        if not steps or steps[-1] is None:
            return bool(steps)
        if self.in_tiles and steps[-1] == 1:  # lines of a row, one after the other
            return False
        distance = abs(steps[-1]) * self.itemsize
        is_large = accesses.size(load) > self.machine.own_cache // 2
        return distance >= FAR or (is_large and distance >= LINE_BYTES)

    def exceeds_cache(self) -> bool:
        """Whether what is read of the operand with columns does not stay in the cache."""
        return self.columns_bytes > self.machine.own_cache // 2

    def is_used_often(self) -> bool:
        """Whether many rows use what is in a large cache of the core: on many pages and in few sets
        of the first cache, its lines come later than those of panels."""
        is_apart = self.columns_bytes > self.machine.own_cache // 4 and not self.found.has_windows()
        return is_apart and self.reuse >= MUCH_REUSE and has_large_cache(self.machine)

    def reads_parts_of_lines(self) -> bool:
        """Whether vectors are parts of lines, which come from far behind a large cache of the core:
        panels have whole ones."""
        return has_large_cache(self.machine) and self.lanes * self.itemsize < LINE_BYTES

    def asks_for_columns(self) -> bool:
        """Whether each step asks ahead for several lines of columns that come from far away."""
        is_as_it_is = not (self.packed or self.near_panels or self.is_narrow())
        return is_as_it_is and self.exceeds_cache() and self.is_wide()

    def keeps_columns(self) -> bool:
        """Whether a cache keeps the columns of a tile as they are, until the next tile of rows uses
        them."""
        return self.keeps(self.depth, self.machine.own_cache)

    def keeps(self, steps: int, cache: int) -> bool:
        """Whether a cache keeps the columns of a tile as they are, for some steps of the sum."""
        return keeps_columns(self.found, steps, self.width, self.itemsize, cache)

    def is_wide(self) -> bool:
        """Whether a row of a panel is several lines."""
        return is_wide(self.width * self.itemsize)

    @property
    def reads_blocks(self) -> bool:
        """Whether panels stay in the first cache as they are, block by block of the sum."""
        return self.near_panels and not self.packed

    def is_in_memory(self) -> bool:
        """Whether the operand with columns is a matrix that no cache holds."""
        is_large = self.columns_bytes > IN_MEMORY * self.machine.shared_cache
        return is_large and not self.found.has_windows()

    def has_far_rows(self) -> bool:
        """Whether rows are known to be so many that no cache of a core holds all of them."""
        sizes = [self.found.accesses.size(load, 1) for load in self.found.fixed]
        return max(sizes, default=0) > self.machine.own_cache

    def takes_rows_in_turn(self) -> bool:
        """Whether all columns, as they are, stay near while a tile of rows does that comes from far
        away, or of which the results of a few steps go there."""
        accesses, moving = self.found.accesses, self.found.moving
        size = self.width_of_all * accesses.stores[0].buffer.dtype.itemsize
        rows = (v for v in accesses.spatial if not any(load.mentions(v) for load in moving))
        known = math.prod(accesses.extent(var, 1) for var in rows)
        is_much = 2 * known * size > self.machine.own_cache
        is_far = self.has_far_rows() or (self.depth <= SHALLOW and is_much)
        return not self.packed and not self.exceeds_cache() and is_far

    def keeps_all_columns(self) -> bool:
        """Whether the columns of all outer iterations stay near in panels, while each tile of rows
        is multiplied by them, the same in all iterations; it is read once then."""
        found, (moving, *others) = self.found, self.found.moving
        around = [v for v in without(found.outer, *self.columns) if moving.mentions(v)]
        is_shared = not any(load.mentions(v) for load in found.fixed for v in around)
        if not (self.packed and around and is_shared) or others or self.outer:
            return False
        if self.block_depth is not None or found.accesses.known_count(around) is None:
            return False
        rows = max(found.accesses.size(load, 1) for load in found.fixed)
        size = found.accesses.count(around) * self.columns_bytes
        return size <= self.machine.own_cache // 2 and rows > self.machine.first_cache

    def may_pack(self, free: bool = False) -> bool:
        """Whether each element of the one operand with columns is used for several rows.

        Args:
            free: whether it is packed when the program is compiled.
        """
        moving = self.found.moving
        is_reused = len(moving) == 1 and not moving[0].mentions(self.found.row)
        return is_reused and (free or self.uses >= min(LEAST_REUSE, self.enough_uses))

    def scatters_rows(self) -> bool:
        """Whether each step of the sum reads rows from another place, with no neighbours there.

        There are too many such places, often too far apart, for a cache to hold those of a tile.
        """
        accesses, fixed = self.found.accesses, self.found.fixed
        if len(fixed) != 1 or self.width_of_all < LEAST_REUSE * self.width:
            return False
        strides = [fixed[0].stride(v) for v in accesses.reduction if accesses.extents[v] != 1]
        if not strides or not all(stride is not None and stride > 1 for stride in strides):
            return False
        matrices = accesses.count(var for var in self.found.outer if fixed[0].mentions(var))
        return accesses.size(fixed[0]) // matrices > self.machine.own_cache // 4

    def leaves_lanes_empty(self) -> bool:
        """Whether rows of columns are so short that vectors are not filled, or others are read
        from far away again for each row."""
        vectors = -(-self.width_of_all // self.lanes)
        if self.width_of_all < ENOUGH_FILLED * vectors * self.lanes:
            return True
        others = max(self.found.accesses.size(load) for load in self.found.fixed)
        return vectors < 2 and others > self.machine.own_cache // 2
