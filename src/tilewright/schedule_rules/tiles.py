"""Tiles of results that stay in registers, and blocks that copy or compute a tile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from tilewright.ir.dtype import DType
from tilewright.ir.rewrite import count_nodes
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.decisions import at_least, at_most, choose
from tilewright.schedule_rules.nest import (
    block_of,
    extent_of,
    loops_by_iterator,
    loops_inside,
    present,
    split_into,
)
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH
from tilewright.tir.transform.machine import ADD_LATENCY, LINE_BYTES, RESERVED_REGISTERS, Machine
from tilewright.tir.transform.transpose_gathers import LEAST_BITS

STREAM: Final = 1.6
"""Cycles in which a vector arrives from the cache that holds the operand."""

NEXT_STREAM: Final = 2.1
"""The same of a line of panels that the first cache does not hold: 3 x 7 vectors take as long as
that, and not as their multiplications."""

BLOCK_STREAM: Final = 2.8
"""The same of a block of columns that stays in the first cache once it has come from further away.
Tiles of many rows leave it more time."""

WIDE: Final = 3
"""Number of lines of a wide row of a panel."""

NARROW: Final = 1.1
"""How much longer a tile with narrower rows takes, where columns are read block by block."""

MEMORY: Final = 8.0
"""Cycles in which a vector arrives from further away."""

LOAD: Final = 0.1
"""Cycles that an operand costs beside the multiplications that it is loaded for."""

NEAR_ROW: Final = 0.25
"""What an element of a row costs that shares its cache line with those of other rows."""

EDGE: Final = 0.1
"""What a tile with fewer rows than others costs beside these, in tiles."""

LOADS: Final = 1.6
"""Loads in a cycle: two, but for those that meet in a bank of the cache, or cross a line of it."""

PANEL_LOADS: Final = 2.0
"""The same of panels, which begin at lines."""

CUT: Final = 0.5
"""What a panel with fewer vectors than others costs beside these, in tiles."""

COLLISION: Final = 0.5
"""Cycles by which multiplications are late where there are just enough results to hide the latency,
and the less the more there are: 8 of them on two pipes reach 89 % of what 10 do, and these 93 % of
what 12 do."""

ENOUGH_COST: Final = 1.4
"""Maximum estimated time of a tile, as a multiple of that of the best one."""

MOST_TILE_NODES: Final = 2048
"""Maximum number of nodes of what is written one after the other for the results of a tile."""

LEAST_LANES: Final = 2
"""The part of a square, as a divisor, from which on it is transposed in registers."""

MOST_ROWS: Final = 14
MOST_VECTORS: Final = 8


class Tile(NamedTuple):
    """A tile of `rows` by `vectors` vectors."""

    rows: int
    vectors: int


def fits_registers(tile: Tile, machine: Machine, others: int = 1) -> bool:
    """Whether each result of a tile, and each vector of one step, has a register.

    Args:
        others: number of further registers that a step takes: one for an element of a row, and
            one for dot products that another instruction adds to the results.
    """
    operands = max(tile.vectors + others + _products(machine), RESERVED_REGISTERS)
    return tile.rows * tile.vectors + operands <= machine.vector_registers


def _products(machine: Machine) -> int:
    """Registers for products that another instruction adds to the results: the next one of them is
    computed while one is added."""
    return 0 if machine.has_fma else 2


@lru_cache(maxsize=1024)
def register_tile(
    rows: int,
    columns: int,
    depth: int,
    lanes: int,
    itemsize: int,
    machine: Machine,
    *,
    streams: bool = False,
    near: bool = False,
    others: int = 1,
    transposes: bool = False,
    are_lanes: bool = False,
    whole_lines: bool = False,
    in_blocks: bool = False,
) -> Tile:
    """The tile whose results stay in registers while a reduction runs, with the least time.

    A step of the reduction loads a vector per column and an element per row, and multiplies each
    by each. Its time is that of the multiplications, of the loads, or of waiting for the results
    of the step before, whichever is the longest.

    Args:
        rows: how many rows there are altogether.
        depth: how many steps the reduction has.
        lanes: elements of a vector.
        machine: its registers, and the cache in which the operands of the rows should stay.
        streams: whether the operand with columns is too large for a cache.
        near: whether rows are next to each other in memory, so that more rows take no more lines
            of the first cache.
        others: see `fits_registers`.
        transposes: whether rows become lanes of vectors in the end: unless there is one tile of
            rows, or they would stay neither in registers nor in the first cache, there are enough
            for squares.
        are_lanes: whether these vectors must be whole: then the number of rows is a power of two.
        whole_lines: whether a row of columns is one or more cache lines.
        in_blocks: whether columns stay in the first cache block by block of the reduction, so that
            results come from memory and go back for each block.
    """
    whole = -(-columns // lanes)
    stays_near = near or in_blocks
    fitting = MOST_ROWS if stays_near else machine.first_cache // (2 * depth * itemsize)
    square = lanes // LEAST_LANES if transposes else 1
    may_fill = square <= min(2 * fitting, MOST_ROWS)
    least = square if may_fill and fits_registers(Tile(square, 1), machine, others) else 1
    candidates = [
        Tile(r, v)
        for v in range(1, min(MOST_VECTORS, whole) + 1)
        for r in range(1, min(MOST_ROWS, rows) + 1)
        if fits_registers(Tile(r, v), machine, others)
        and r <= max(fitting, 6, square)
        and (r == rows or (r >= least and not (are_lanes and r & (r - 1))))
        and not (whole_lines and v * lanes * itemsize % LINE_BYTES and v < whole)
    ]

    def key(tile: Tile) -> tuple[float, int]:
        stream = BLOCK_STREAM
        if streams:
            stream = arrival(tile, rows, depth, lanes * itemsize, machine)
        elif not in_blocks:
            stream = panel_stream(tile, depth, lanes * itemsize, machine)
        cost = tile_cost(tile, rows, whole, stream, near=near)
        if in_blocks:
            steps = max(1, block_bytes(machine) // (tile.vectors * lanes * itemsize))
            cost += 2 * rows * whole / LOADS / steps
            cost *= 1.0 if is_wide(tile.vectors * lanes * itemsize) else NARROW
        return cost, abs(tile.rows - tile.vectors)

    return min(candidates, key=key)


def is_wide(row_bytes: int) -> bool:
    """Whether a row of a panel is several lines, which come together from one page."""
    return row_bytes >= WIDE * LINE_BYTES


def block_bytes(machine: Machine) -> int:
    """The part of the first cache for the columns of a tile: the next ones, and rows and results,
    need as much."""
    return machine.first_cache // 4


@dataclass(frozen=True, eq=False)
class RegisterTile:
    """A tile of results that stays in registers; its sizes may be sampled.

    Attributes:
        rows: how many rows it has.
        vectors: how many vectors in a row.
        lanes: the elements of a vector.
    """

    rows: Any
    vectors: Any
    lanes: int

    @property
    def width(self) -> Any:
        """How many columns it has."""
        return self.vectors * self.lanes


def choose_tile(
    sch: Schedule,
    best: Tile,
    rows: int,
    columns: int,
    lanes: int,
    machine: Machine,
    others: int = 1,
) -> RegisterTile:
    """Leave to the search which of the tiles that keep the multipliers busy is taken.

    Rows are as many as were chosen, or as there are registers for next to the vectors.

    Args:
        best: the best known tile.
        rows: how many rows there are altogether.
        lanes: elements of a vector register.
        machine: its registers.
        others: see `fits_registers`.
    """
    lanes = min(lanes, max(2, 1 << (columns - 1).bit_length()))
    whole = -(-columns // lanes)
    best = Tile(best.rows, min(best.vectors, whole))
    good = _good_tiles(rows, whole, machine, others)
    vectors = choose(sch, {t.vectors for t in good}, best.vectors)
    chosen = choose(sch, {t.rows for t in good}, best.rows)
    if isinstance(vectors, int) and isinstance(chosen, int):
        return RegisterTile(chosen, vectors, lanes)
    operands = at_least(vectors + others + _products(machine), RESERVED_REGISTERS)
    registers = machine.vector_registers - operands
    return RegisterTile(at_most(chosen, registers // vectors), vectors, lanes)


@lru_cache(maxsize=1024)
def _good_tiles(rows: int, whole: int, machine: Machine, others: int) -> tuple[Tile, ...]:
    """The tiles that keep the multipliers busy; `whole` vectors cover the columns."""
    costs = {
        Tile(r, v): tile_cost(Tile(r, v), rows, whole)
        for r in range(1, min(MOST_ROWS, rows) + 1)
        for v in range(1, min(MOST_VECTORS, whole) + 1)
        if fits_registers(Tile(r, v), machine, others)
    }
    most = ENOUGH_COST * min(costs.values())
    # Panels that are cut off at the end double the code, and the time to compile it.
    good = (t for t, cost in costs.items() if cost <= most and whole % t.vectors == 0)
    return tuple(good)


def arrival(tile: Tile, rows: int, depth: int, vector_bytes: int, machine: Machine) -> float:
    """Cycles in which a vector of columns arrives that no cache holds at first.

    The columns of a tile are used for all rows, one tile of them after the other: if they stay in
    the cache of a core, only the first of these tiles waits for memory. Whole lines arrive, also
    where the columns of a tile are a part of the last one.

    Args:
        rows: how many rows there are altogether.
        depth: how many steps the reduction has.
        vector_bytes: bytes of a vector.
    """
    width = tile.vectors * vector_bytes
    lines = -(-width // LINE_BYTES) * LINE_BYTES
    if depth * lines > machine.own_cache // 2:
        return MEMORY * lines / width
    return (STREAM + (MEMORY - STREAM) / -(-rows // tile.rows)) * lines / width


def panel_stream(tile: Tile, depth: int, vector_bytes: int, machine: Machine) -> float:
    """Cycles in which a vector of a panel arrives from the first cache, or else from the next one.

    Args:
        depth: how many steps the reduction has.
        vector_bytes: bytes of a vector.
    """
    if depth * tile.vectors * vector_bytes <= machine.first_cache:
        return STREAM
    return max(STREAM, NEXT_STREAM * vector_bytes / LINE_BYTES)


def tile_cost(
    tile: Tile,
    rows: int,
    whole: int,
    stream: float = STREAM,
    *,
    near: bool = False,
    loads: float = LOADS,
) -> float:
    """Cycles of one step of the reduction for all tiles.

    Args:
        rows: how many rows there are altogether.
        whole: how many vectors cover the columns.
        stream: cycles in which a vector arrives.
        near: whether rows are next to each other in memory.
        loads: how many there are in a cycle.
    """
    full, rest = divmod(rows, tile.rows)
    across = _across(tile, whole, stream, near, loads)
    if not rest:
        return full * across
    return (full + EDGE) * across + _across(tile._replace(rows=rest), whole, stream, near, loads)


def _across(tile: Tile, whole: int, stream: float, near: bool, loads: float) -> float:
    """Cycles of one step of the reduction for the tiles along the columns."""
    step = _step_cost(tile, stream, near, loads)
    panels, rest = divmod(whole, tile.vectors)
    if not rest:
        return panels * step
    last = _step_cost(tile._replace(vectors=rest), stream, near, loads)
    return panels * step + last + CUT * step


def _step_cost(tile: Tile, stream: float, near: bool, loads: float) -> float:
    """Cycles of one step of the reduction for a tile."""
    multiply, load = tile.rows * tile.vectors / 2, (tile.rows + tile.vectors) / loads
    lines = tile.vectors + tile.rows * (NEAR_ROW if near else 1.0)
    late = COLLISION * min(1.0, ADD_LATENCY / multiply) ** 2
    slowest = max(max(multiply, ADD_LATENCY) + late, load, stream * tile.vectors)
    return slowest + LOAD * lines


def copy_squares(
    sch: Schedule, block: BlockRV, column: int, outer: int, tile: RegisterTile
) -> bool:
    """Transpose squares in registers, where columns come next to each other by copying.

    Args:
        block: a block that copies.
        column: the position of the iterator over neighbours in the copy.
        outer: how many loops around it belong to others.
        tile: the tile that the panels are for.

    Returns:
        Whether it does: not where columns are next to each other already, or nothing is.
    """
    accesses = accesses_of(block_of(sch, block))
    loops = loops_by_iterator(sch, block, outer)
    (load,) = accesses.loads
    along = accesses.spatial[column]
    step = next((v for v in accesses.spatial if load.stride(v) == 1 and v in loops), None)
    if along not in loops or load.stride(along) == 1 or step is None:
        return False
    others = [loop for var, loop in loops.items() if var is not along and var is not step]
    panel, vector, lane = sch.split(loops[along], [None, tile.vectors, tile.lanes])
    (square,), row = split_into(sch, loops[step], [tile.lanes])
    sch.reorder(panel, vector, *others, *present(square), row, lane)
    sch.unroll(row)
    sch.vectorize(lane)
    return True


def square_side(steps: int | None, lanes: int, dtype: DType) -> int:
    """How many neighbours the squares have in which groups are copied that are transposed in
    registers; 0 for none.

    Args:
        steps: how many steps of the sum there are altogether.
        lanes: how many columns a square has.
        dtype: of the operand.
    """
    side = max(lanes, LEAST_BITS // dtype.bits)
    return side if steps is not None and steps >= side else 0


def copy_groups(
    sch: Schedule,
    block: BlockRV,
    column: int,
    grouped: int,
    outer: int,
    tile: RegisterTile,
    size: int,
    ahead: int = 0,
) -> None:
    """Put the steps of groups side by side for each column, in squares that are transposed in
    registers where the steps are neighbours and fill them.

    Args:
        block: a block that copies.
        column: the position of the iterator over columns in the copy.
        grouped: the position of the iterator over steps.
        outer: how many loops around it belong to others.
        tile: the tile that the panels are for.
        size: number of steps of a group.
        ahead: how many steps ahead to ask for rows of neighbours; 0 for not at all.
    """
    accesses = accesses_of(block_of(sch, block))
    loops = loops_by_iterator(sch, block, outer)
    (load,) = accesses.loads
    along, step = accesses.spatial[column], accesses.spatial[grouped]
    if along not in loops or step not in loops:
        return
    others = [loop for var, loop in loops.items() if var is not along and var is not step]
    vectors, lane = sch.split(loops[along], [None, tile.lanes])
    group, part = sch.split(loops[step], [None, size])
    side = square_side(accesses.extents[step], tile.lanes, load.buffer.dtype)
    if load.stride(step) == 1 and side:
        square, group = sch.split(group, [None, side // size])
        sch.reorder(*others, vectors, square, group, part, lane)
        for loop in (group, part):
            sch.unroll(loop)
        sch.vectorize(lane)
        return
    panel, vector = sch.split(vectors, [None, tile.vectors])
    if load.stride(step) == 1:
        sch.reorder(panel, *others, group, vector, lane, part)
        sch.vectorize(part)
    else:
        if load.stride(along) == 1:
            # Rows are read from their beginning to their end: a line is next to the one before.
            around = [*others, group, panel]
        else:
            # What lies between two steps, such as a filter's window, is read while it is near.
            near = [v for v in loops if (load.stride(v) or math.inf) < (load.stride(step) or 0)]
            inside = [loops[v] for v in near if v is not along]
            around = [panel, *(loop for loop in others if loop not in inside), group, *inside]
        sch.reorder(*around, vector, part, lane)
        for loop in (vector, part):
            sch.unroll(loop)
        sch.vectorize(lane)
        if ahead and load.stride(along) == 1:
            sch.annotate(group, SOFTWARE_PREFETCH, {load.buffer.name: -(-ahead // size)})


def vectorize_tile(
    sch: Schedule,
    block: BlockRV,
    outer: int,
    vectors: int,
    lanes: int,
    strip: Any = None,
    along: int | None = None,
) -> None:
    """Run along what is contiguous where the block reads, in vectors.

    Args:
        block: a block without a reduction.
        outer: how many loops around it belong to others.
        vectors: how many vectors the tile has in a row.
        lanes: elements of a vector.
        strip: number of rows of which the first tile is taken, then the next one, and so on; None
            for all of them.
        along: the position of the iterator over what is contiguous, if indices do not tell.
    """
    accesses = accesses_of(block_of(sch, block))
    loops = loops_by_iterator(sch, block, outer)
    for position, var in enumerate(accesses.spatial):
        moving = [load for load in accesses.loads if load.mentions(var)]
        is_contiguous = moving and all(load.stride(var) == 1 for load in moving)
        if var in loops and (is_contiguous or position == along):
            others = [v for v in accesses.spatial if v is not var and v in loops]
            others.sort(key=lambda v: -(accesses.stores[0].stride(v) or 0))
            (panel, vector), lane = split_into(sch, loops[var], [vectors, lanes], vector=True)
            rows = [loops[v] for v in others]
            if strip is None or panel is None or not rows:
                sch.reorder(*present(panel), *rows, *present(vector, lane))
            else:
                strips, row = sch.split(rows.pop(), [None, strip])
                sch.reorder(*rows, strips, panel, row, *present(vector, lane))
            sch.vectorize(lane)
            return


def unroll_tile(sch: Schedule, consumer: BlockRV, place: LoopRV, vectors: int) -> None:
    """Let what reads the results of a tile find them in registers, if it is short.

    In a loop, they would be in memory; and compilers believe that a loop after the steps of a sum
    is as hot as these, and give its constants the registers of the sum.

    Args:
        consumer: an element-wise block that runs in vectors.
        place: the innermost loop around the tile and it.
        vectors: the number of vectors of the tile.
    """
    *loops, _ = loops_inside(sch, consumer, place)
    copies = math.prod(extent_of(sch, loop) or vectors + 1 for loop in loops)
    nodes = count_nodes(block_of(sch, consumer).body, MOST_TILE_NODES)
    if copies <= vectors and copies * nodes <= MOST_TILE_NODES:
        for loop in loops:
            sch.unroll(loop)
