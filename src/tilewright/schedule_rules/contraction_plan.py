"""How a contraction is tiled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import StridedAccess
from tilewright.schedule_rules.dot_products import DotProduct, Kind, block_step_cycles, far_rows
from tilewright.schedule_rules.operands import MANY_ROWS, MOST_FEW_ROWS, Contraction
from tilewright.schedule_rules.tiles import (
    STREAM,
    Tile,
    arrival,
    block_bytes,
    fills_squares,
    is_wide,
    register_tile,
    tile_cost,
)
from tilewright.tir.tile_registers import Block
from tilewright.tir.transform.machine import LINE_BYTES, Machine

ENOUGH_REUSE: Final = 16
"""How often an element must be used, so that packing what exceeds the cache pays."""

MUCH_REUSE: Final = 192
"""How often, where the cache keeps as they are the columns that a tile uses."""

FEW_USES: Final = 64
"""How seldom, so that panels should come from the first cache, though sums then go to memory and
back for each block."""

SOME_USES: Final = 80
"""The same where the columns of a tile come from memory or the shared cache, line by line."""

BLOCK_USES: Final = 128
"""The same where nothing is copied."""

FEW_BYTE_USES: Final = 3
"""How often, so that packing bytes for dot products pays: without, each product takes a lane of the
sums."""

LEAST_REUSE: Final = 4
"""How often, so that packing columns that are not neighbours in memory pays."""

MANY_USES: Final = 32
"""How often, so that converting an element once takes less time than each time."""

LONG_ROW: Final = 4
"""Minimum number of vectors of a row that is converted on its own."""

UNITS: Final = 2
"""Number of vectors that are multiplied and added in a cycle."""

FAR: Final = 2048
"""Bytes between accesses that follow each other, from which on they are seldom on one page."""

ENOUGH_FILLED: Final = 0.75
"""The part of the lanes that should be used."""

FILLED: Final = 0.05
"""The part of the steps that zeros may be added to them, so that squares are whole."""

WAYS: Final = 8
"""Minimum number of lines that a set of a cache holds; the number of sets is a power of two."""

SHORTEST_SUM: Final = 128
"""Minimum number of steps of a block of a sum."""

SHORTEST_BLOCK: Final = 16
"""The same of columns that are not copied."""

STEPS: Final = (1, 2, 4)
"""How many steps of a long sum may be unrolled. The more, the fewer instructions are about the loop
itself: where another thread shares the core, multiplications wait for room among instructions."""

NEAR_BYTES: Final = 6.0
"""Bytes of an operand that arrive from memory in a cycle, one after the other."""

HIDDEN_BYTES: Final = 16.0
"""Bytes that arrive from memory while other work waits for a cycle, though all of them were asked
for ahead."""

FAR_BYTES: Final = 2.0
"""Bytes that arrive in a cycle where the next ones are on another page."""

IN_MEMORY: Final = 3 / 8
"""The part of the cache that cores share from which on it does not hold an operand, beside other
data."""

PACKING: Final = 2.0
"""Cycles in which an element is copied into a panel."""

SQUARES: Final = 0.3
"""Cycles in which an element of a group is copied, as part of squares that are transposed."""

PACKING_LINES: Final = 1.0
"""Cycles in which a column of a group of steps is copied into a panel, as part of whole lines."""

BLOCK: Final = 128.0
"""Cycles in which the sums of a block in tile registers begin, end and go to memory."""

GROUPING: Final = 0.5
"""Cycles in which an element of an operand with rows is copied, so that groups are side by side."""

STAGING: Final = 1.0
"""Cycles in which a result is copied that was collected elsewhere."""


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
            `prefers_near_panels`, and where nothing is packed `keeps_blocks`.
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
        self.width_of_all = a.count(columns)
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
        self.block_depth = self._block_depth()

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
        several = self.packed and len(self.columns) > 1
        return self.transposed or several or (self.multiplies_matrices and not self.in_tiles)

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
        return FEW_BYTE_USES if are_bytes else ENOUGH_REUSE

    def has_groups(self) -> bool:
        """Whether groups of steps are side by side in memory, so that each is copied on its own."""
        return self.dot is not None and self.found.moving[0].stride(self.dot.step) == 1

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
        return is_long and self.width_of_all <= self.panels()[-1] * self.width

    def _itemsize(self) -> int:
        """Number of bytes of an element of the operand with columns, or of a group of them."""
        if self.dot is not None:
            return self.dot.size * DType(self.dot.dtypes[1]).itemsize
        accesses = self.found.accesses.stores if self.converts_columns() else self.found.moving
        return accesses[0].buffer.dtype.itemsize

    def _block_depth(self) -> int | None:
        """How many steps of the outermost reduction loop a block has that stays in the cache, while
        it is used for all rows; None if whole panels do, or no block would be used again."""
        reduction = self.found.accesses.reduction
        is_copy = self.packed or self.near_panels or self.is_narrow()
        if not is_copy or (self.reuse <= self.tile.rows and not self.reads_blocks):
            return None
        if self.in_tiles:  # of one block at a time, until its sums are whole
            return None
        extent, machine = self.steps_of(reduction[0]), self.machine
        limit = block_bytes(machine) if self.near_panels else machine.own_cache // 2
        if extent is None or self._panel_bytes() <= limit:
            return None
        step = self.depth // extent
        # The rows of a tile stay in the first cache, while they are used for each panel.
        fitting = max(1, machine.first_cache // 2 // (self.tile.rows * self.itemsize * step))
        if self.near_panels:
            fitting = max(1, min(fitting, limit // (self.width * self.itemsize * step)))
        if self.reads_blocks:
            return self._length_as_it_is(extent, fitting)
        lengths = range(fitting, fitting // 2, -1)
        # Best are lengths of which no step is left over where several are unrolled.
        whole = (n for n in sorted(lengths, key=lambda n: n % STEPS[-1] != 0) if extent % n == 0)
        return next(whole, -(-extent // -(-extent // fitting)))

    def _length_as_it_is(self, extent: int, fitting: int) -> int:
        """How many of the steps of a sum a block has of which nothing is copied: the last block may
        be shorter."""
        lengths = range(fitting - fitting % STEPS[-1], fitting // 2 - 1, -STEPS[-1])
        kept = (n for n in lengths if n and self._keeps(n, self.machine.first_cache))
        # Lines that were asked for ahead are to be there when they are used.
        otherwise = fitting if self.tile.rows < self.reuse else fitting // 2
        fitting = max(1, next(kept, otherwise - otherwise % STEPS[-1]))
        length = -(-extent // -(-extent // fitting))
        return min(fitting, -(-length // STEPS[-1]) * STEPS[-1])

    def steps_of(self, var: Var) -> int | None:
        """How many steps an iterator of the sum counts; None if that is symbolic."""
        extent = self.found.accesses.extents[var]
        if extent is None or self.dot is None or var is not self.dot.step:
            return extent
        return -(-extent // self.step_multiple) * self.step_multiple // self.dot.size

    def block_depths(self) -> list[int]:
        """Other lengths of a block of the sum, which divide it."""
        if self.block_depth is None:
            return []
        reduction = self.found.accesses.reduction
        extent = self.steps_of(reduction[0]) or self.depth
        least = max(1, self.block_depth // 2, SHORTEST_SUM * extent // self.depth)
        return [n for n in range(least, min(extent, 4 * self.block_depth) + 1) if extent % n == 0]

    @property
    def columns_bytes(self) -> int:
        """Bytes of what is read of the operand with columns."""
        return self.depth * self.width_of_all * self.itemsize

    def _panel_bytes(self) -> int:
        return self.depth * self.width * self.itemsize

    def _tile(self, *, streams: bool) -> Tile:
        if self.in_tiles:
            return Tile(1, 1)
        itemsize = self.found.accesses.stores[0].buffer.dtype.itemsize
        # Sums of integers become bytes, and many machines have no masks for vectors of these.
        are_lanes = self.transposed and self.dot is not None
        return register_tile(
            self.rows, self.width_of_all, self.depth, self.lanes, itemsize, self.machine,
            streams=streams, near=self.packs_rows or self.found.has_near_rows(),
            others=self.other_registers, are_lanes=are_lanes, whole_lines=self.near_panels,
            in_blocks=self.reads_blocks,
        )  # fmt: skip

    def is_narrow(self) -> bool:
        """Whether the operand with columns is one panel as it is."""
        width = self.tile.vectors * self.lanes
        return self.width_of_all <= width and self.found.is_contiguous(self.columns)

    def cycles(self, constants: frozenset[Var]) -> float:
        """An estimate of the time, to compare plans.

        Args:
            constants: the memory of operands that are packed when the program is compiled.
        """
        found, accesses = self.found, self.found.accesses
        around = [v for v in found.outer if not any(v is item for item in self.columns)]
        stream = STREAM
        if self.exceeds_cache() and not self.packed:
            vector_bytes = self.lanes * self.itemsize
            stream = arrival(self.tile, self.rows, self.depth, vector_bytes, self.machine)
        whole = -(-self.width_of_all // self.lanes)
        steps = self.depth * accesses.count(around)
        total = steps * tile_cost(self.tile, self.rows, whole, stream)
        if self.in_tiles:
            total = self._cycles_in_tiles(steps, accesses.count(around), constants)
        total += self._waiting(total)
        if self.packed and found.moving[0].buffer.data not in constants:
            panels = accesses.count(var for var in around if found.moving[0].mentions(var))
            total += self._packing() * panels * self.depth * self.width_of_all
        if self.stages_results:
            total += STAGING * accesses.count(accesses.spatial)
        return total

    def _packing(self) -> float:
        """Cycles in which an element of the operand with columns, or a group of them, is copied."""
        if self.dot is None:
            return PACKING
        if self.in_tiles:
            return PACKING_LINES * (self.dot.size // self.dot.neighbors)
        size, dtype = self.dot.size, self.found.moving[0].buffer.dtype
        squares = fills_squares(self.depth * size, self.width_of_all, size, self.lanes, dtype)
        return SQUARES * size if self.has_groups() and squares else PACKING

    def _cycles_in_tiles(self, steps: int, products: int, constants: frozenset[Var]) -> float:
        """Cycles of blocks in tile registers, and of copying the operand with rows if the steps of
        a group are not side by side in it."""
        assert self.dot is not None
        blocks = self.rows * -(-self.width_of_all // self.lanes)
        total = blocks * (steps * self._block_cycles(self.dot.kind) + BLOCK * products)
        (operand,) = self.found.fixed
        if operand.stride(self.dot.step) != 1 and operand.buffer.data not in constants:
            total += GROUPING * operand.elements(1)
        return total

    def _block_cycles(self, kind: Kind) -> float:
        """Cycles of a step of a block in tile registers, for which rows come from the first cache,
        or from the next one."""
        is_far = far_rows(self.found.accesses, self.machine)
        return block_step_cycles(Block(kind.rows, kind.columns), is_far)

    def _waiting(self, total: float) -> float:
        """Cycles in which operands that come from memory are waited for.

        The operand with columns comes while the first tile of rows is computed, in `total` cycles
        times the part of the rows that these are; the others while the first panel is.
        """
        found = self.found
        parts = [(load, self.tile.rows / self.rows) for load in found.moving]
        panel = self.width / max(self.width, self.width_of_all)
        parts += [(load, panel) for load in found.fixed]
        waiting = 0.0
        for load, part in parts:
            size = found.accesses.size(load)
            if self.in_tiles:  # for which the time of multiplying no longer hides an overestimate
                size = min(size, load.elements(1) * load.buffer.dtype.itemsize)
            if size > self.machine.own_cache // 2:
                is_in_memory = size > IN_MEMORY * self.machine.shared_cache
                # Dot products are so fast that even what was asked for ahead counts.
                least = size / HIDDEN_BYTES if is_in_memory and self.dot is not None else 0.0
                waiting += max(least, size / self._bytes_per_cycle(load) - part * total)
        return waiting

    def _bytes_per_cycle(self, load: StridedAccess) -> float:
        """How fast an operand comes from memory."""
        if self.packed and any(load is item for item in self.found.moving):
            return NEAR_BYTES
        return FAR_BYTES if self.is_far(load) else NEAR_BYTES

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

    def asks_for_columns(self) -> bool:
        """Whether each step asks ahead for several lines of columns that come from far away."""
        is_as_it_is = not (self.packed or self.near_panels or self.is_narrow())
        return is_as_it_is and self.exceeds_cache() and self.is_wide()

    def keeps_columns(self) -> bool:
        """Whether a cache keeps the columns of a tile as they are, until the next tile of rows uses
        them."""
        return self._keeps(self.depth, self.machine.own_cache)

    def _keeps(self, depth: int, cache: int) -> bool:
        """Whether `cache` keeps the columns of a tile for some steps of the sum, as they are: lines
        whose distance is a multiple of a large power of two share a few of its sets."""
        accesses = self.found.accesses
        steps = [var for var in accesses.reduction if accesses.extents[var] != 1]
        width = -(-self.width * self.itemsize // LINE_BYTES)
        for load in self.found.moving:
            strides = [load.stride(var) for var in steps]
            if None in strides or depth * self.width * self.itemsize > cache // 2:
                return False
            distance = max((abs(stride or 0) for stride in strides), default=0) * self.itemsize
            sets = 1 << max(1, cache // (WAYS * LINE_BYTES)).bit_length() - 1
            ways = cache // (sets * LINE_BYTES)
            if distance % LINE_BYTES == 0 and distance >= LINE_BYTES:
                common = math.gcd(sets, distance // LINE_BYTES)
                sets = sets // common * min(common, width)
            if depth * width > ways * sets:
                return False
        return True

    def prefers_near_panels(self) -> bool:
        """Whether panels should stay in the first cache: if the operand comes from memory, and the
        sums of its blocks seldom go there, or few rows use panels from far away that are wide or
        long, or lines that no cache keeps, so many that a panel takes much of the next cache, too.
        """
        is_copied = self.found.is_contiguous(self.columns) and not self.converts_columns()
        has_room = self.machine.first_cache // 4 >= SHORTEST_SUM * LINE_BYTES
        is_long = self.depth * LINE_BYTES >= self.machine.own_cache // 8
        is_seldom = self.uses < FEW_USES and not self.keeps_columns()
        is_some = self.uses <= SOME_USES if is_long else self.is_wide() and self.uses < FEW_USES
        is_far = is_some and self.tile.rows < self.reuse and self._is_far()
        is_in_memory = self.is_in_memory() and self._sum_bytes_per_cycle() <= FAR_BYTES
        gains = is_in_memory or is_far or (is_long and is_seldom)
        return is_copied and has_room and gains

    def may_prefer_blocks(self) -> bool:
        """Whether panels may gain by staying in the first cache as they are, block by block."""
        return self._is_far() and 1 < self.uses <= BLOCK_USES

    def keeps_blocks(self) -> bool:
        """Whether blocks of panels, as they are, stay in the first cache; or in the next one, for
        few rows: wide ones of whole lines come from there in time, others sooner than without
        blocks."""
        steps = self.block_depth or self.depth
        if steps < SHORTEST_BLOCK:
            return False
        if self._keeps(steps, self.machine.first_cache):
            return True
        if not self._keeps(steps, self.machine.own_cache):
            return False
        if self.is_wide() and self.lanes * self.itemsize >= LINE_BYTES:
            return self.uses < FEW_USES
        return MOST_FEW_ROWS < self.uses < ENOUGH_REUSE

    def _sum_bytes_per_cycle(self) -> float:
        """How many bytes of sums go to memory and back in a cycle where panels stay in the first
        cache: those of two vectors, for each of which a step of the sum is a multiply-add."""
        vector_bytes = self.lanes * self.found.accesses.stores[0].buffer.dtype.itemsize
        return 2 * UNITS * vector_bytes / max(1, self._near_steps())

    def _near_steps(self) -> int:
        """How many steps of the sum a panel has that stays in the first cache."""
        return block_bytes(self.machine) // (self.width * self.itemsize)

    def _is_far(self) -> bool:
        """Whether the columns come from far away as they are: the steps of a block of a panel are
        on so many pages that the next tile of rows would not find them near."""
        found = self.found
        is_far = self.exceeds_cache() and not found.has_windows()
        is_constant = None not in map(found.accesses.extents.get, self.columns)
        is_copied = found.is_contiguous(self.columns) and not self.converts_columns()
        return is_far and is_constant and is_copied and len(found.moving) == 1

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

    def reads_rows_once(self) -> bool:
        """Whether all columns, as they are, stay near while a tile of rows from far away does."""
        return not self.packed and not self.exceeds_cache() and self.has_far_rows()

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
        return accesses.size(fixed[0]) > self.machine.own_cache // 4

    def leaves_lanes_empty(self) -> bool:
        """Whether rows of columns are so short that vectors are not filled, or others are read
        from far away again for each row."""
        vectors = -(-self.width_of_all // self.lanes)
        if self.width_of_all < ENOUGH_FILLED * vectors * self.lanes:
            return True
        others = max(self.found.accesses.size(load) for load in self.found.fixed)
        return vectors < 2 and others > self.machine.own_cache // 2

    def panels(self) -> list[int]:
        """How many panels of the operand with columns may be used or copied at once: up to a
        quarter of a cache; or all, in up to half of it, where the rows are too many for it. These
        are read only once then.

        One where the number of columns is symbolic: there may be no second one.
        """
        panels = -(-self.width_of_all // self.width)
        if self.reads_blocks:  # of which the results stay in the cache, block by block of the sum
            size = self.found.accesses.stores[0].buffer.dtype.itemsize
            most = max(1, self.machine.own_cache // 4 // (self.reuse * self.width * size))
            most = min(most, -(-panels // self.machine.cores))
            return [-(-panels // -(-panels // most))]
        if not self.packed or any(self.found.accesses.extents[var] is None for var in self.columns):
            return [1]
        depth = self.depth
        if self.block_depth is not None:
            outermost = self.steps_of(self.found.accesses.reduction[0]) or depth
            depth = depth // outermost * self.block_depth
        panel_bytes = depth * self.width * self.itemsize
        cache = self.machine.own_cache
        reads_once = self.has_far_rows() and panels * panel_bytes <= cache // 2
        # Products in tile registers are so fast that reading rows again for other panels counts.
        part = cache // 2 if self.in_tiles else cache // 4
        fitting = panels if reads_once else max(1, min(panels, part // panel_bytes))
        # Cores share columns, or rows where all columns are there at once.
        cores = 1 if self.outer or reads_once else self.machine.cores
        most = max(1, min(fitting, panels // cores))
        dividing = [n for n in range(1, most + 1) if panels % n == 0]
        # The last block is filled up with panels of zeros, unless about as many divide all.
        if self.near_panels or (self.in_tiles and 2 * dividing[-1] <= most):
            return [-(-panels // -(-panels // most))]
        return dividing[-1:] if self.in_tiles else dividing
