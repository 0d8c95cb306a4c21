"""Products of small numbers on GPUs with tensor cores.

A block of threads computes a tile of the result, and each of its four warps a quarter of it. Step
by step of the sum, all threads copy a part of both operands into shared memory, whose rows begin in
different banks; then each warp loads tiles into fragments, and multiplies them. The copies of later
steps are on the way meanwhile. The result goes through shared memory piece by piece, where what
follows is computed element by element.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from tilewright.ir.expr import Expr
from tilewright.schedule_rules.nest import DoesNotFitError, block_of, extent_of, plain_nest
from tilewright.schedule_rules.thread_binding import VECTOR_BYTES, bind_blocks, copies_in_background
from tilewright.schedule_rules.thread_products import Copy, Product, as_matrices
from tilewright.target import Target
from tilewright.target.accelerator import Accelerator, accelerator_of
from tilewright.target.gpu import compute_capability
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule

UNIT: Final = 16
"""Number of rows and steps of a product that a tensor core computes."""

WARPS: Final = 4
"""Maximum number of warps of a block of threads."""

SIZES: Final = (128, 64, 32, 16)
"""Numbers of rows and columns of a tile."""

STEPS: Final = 32
"""Number of steps of the sum for which operands are copied at once."""

PIECE: Final = 32
"""Number of columns of the results that a warp has in shared memory at a time."""

STAGES: Final = 4
"""Maximum number of parts of the operands that are in shared memory or on the way."""

PIECE_PADDING: Final = 8
"""Elements behind each row of these, so that rows begin in different banks."""

LANES: Final = 32
"""Number of threads of a warp."""

UNITS: Final = {
    ("float16", "float32"): ("f16", "f32", 75),
    ("float16", "float16"): ("f16", "f16", 75),
    ("int8", "int32"): ("s8", "s32", 75),
    ("uint8", "int32"): ("u8", "s32", 75),
    ("bfloat16", "float32"): ("bf16", "f32", 80),
}
"""Types in the names of intrinsics, and from which architecture on there are tensor cores, by the
types of operands and results."""

MMA_ARCHITECTURE: Final = 80
"""From which architecture on ``mma`` multiplies tiles of 16 steps."""

MULTIPLY_ADDS: Final = 1024
"""Multiply-adds of a multiprocessor in a cycle."""

SHARED_ELEMENTS: Final = 64
"""Elements that a multiprocessor reads from shared memory in a cycle."""

GLOBAL_ELEMENTS: Final = 24
"""Elements that a multiprocessor gets from the cache that all share in a cycle."""

ALONE: Final = 1.5
"""Slowdown of a multiprocessor that has one block of threads only, and waits for it."""


class Tile(NamedTuple):
    """Sizes of the part of a product that a block of threads computes.

    Attributes:
        rows: number of rows.
        columns: number of columns.
        steps: number of steps of the sum for which operands are copied at once.
    """

    rows: int
    columns: int
    steps: int

    @property
    def warps(self) -> tuple[int, int]:
        """Number of warps along the rows, and along the columns."""
        along_rows, along_columns = min(WARPS, self.rows // UNIT), min(WARPS, self.columns // UNIT)
        if min(along_rows, along_columns) == 1:
            return along_rows, along_columns
        return WARPS // 2, WARPS // 2

    @property
    def own(self) -> tuple[int, int]:
        """Number of rows, and of columns, of a warp."""
        return self.rows // self.warps[0], self.columns // self.warps[1]

    def is_filled_by(self, rows: int, columns: int) -> bool:
        """Whether each warp has results to compute, at least in the first tile."""
        return all(
            count == 1 or size > (count - 1) * own
            for own, count, size in zip(self.own, self.warps, (rows, columns), strict=True)
        )


class Instructions(NamedTuple):
    """The intrinsics of a tensor core.

    Attributes:
        family: ``"wmma"``, or ``"mma"`` for those that load by ``ldmatrix``.
        operand: the type of operands in their names.
        result: the type of results.
        columns: number of columns of a tile.
    """

    family: str
    operand: str
    result: str
    columns: int

    def names(self, trans: bool) -> dict[str, str]:
        """The intrinsics by what they do, and the scopes of fragments by their roles.

        Args:
            trans: whether the second operand has its columns as rows in memory.
        """
        turned = "_trans" if trans else ""
        operand, result = self.operand, self.result
        if self.family == "mma":
            shape = f"m{UNIT}n{self.columns}k{UNIT}"
            scopes = {role: f"{shape}.matrix{role.upper()}" for role in "abc"}
            fill, roles = f"mma_init_{shape}_{result}", "AB"
        else:
            shape = f"{UNIT}x{self.columns}x{UNIT}"
            scopes = {"a": "wmma.matrix_a", "b": "wmma.matrix_b", "c": "wmma.accumulator"}
            fill, roles = f"wmma_fill_{shape}_{result}", "ab"
        load = f"{self.family}_load_{shape}_{operand}"
        return scopes | {
            "fill": fill,
            "load_a": f"{load}_{roles[0]}_shared",
            "load_b": f"{load}_{roles[1]}{turned}_shared",
            "multiply": f"{self.family}_sync_{shape}_{operand}{operand}{result}{turned}",
            "store": f"{self.family}_store_{shape}_{result}_shared",
        }


def tile_product_by_tensor_cores(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Compute a product in tiles by tensor cores.

    Raises:
        DoesNotFitError: for another block, and if the GPU has none for these types.
        ScheduleError: if a step is refused.
    """
    accesses = plain_nest(sch, block).accesses
    product = Product.of(accesses)
    instructions = _instructions_for(sch, block, target)
    sizes = [accesses.known_count(part) or 0 for part in product]
    if min(sizes[1:]) < UNIT:
        raise DoesNotFitError("it is too small for tensor cores, or its size is not known")
    batch, rows, columns, steps = sizes
    tile = _tile_for(rows, columns, max(batch, 1), accelerator_of(target))
    tile = tile._replace(steps=STEPS if steps >= STEPS else UNIT)
    itemsize = accesses.loads[0].buffer.dtype.itemsize
    stages = min(_stages_for(tile, itemsize, target), -(-steps // tile.steps))
    copies, last = as_matrices(sch, block, accesses, product, tile, by_rows=True)
    _bind_warps(sch, block, copies, last, tile, instructions, stages)


def _stages_for(tile: Tile, itemsize: int, target: Target) -> int:
    """How many parts of the operands are in shared memory, or on the way, as far as there is any.

    Where all copies are done at once, two save every second barrier.
    """
    if not copies_in_background(target):
        return 2
    own = VECTOR_BYTES // itemsize  # behind each row
    elements = tile.rows * (tile.steps + own) + tile.steps * (tile.columns + own)
    piece = math.prod(tile.warps) * UNIT * (PIECE + PIECE_PADDING) * 4
    return max(
        2, min(STAGES, (accelerator_of(target).shared_bytes - piece) // (elements * itemsize))
    )


def _instructions_for(sch: Schedule, block: BlockRV, target: Target) -> Instructions:
    """The intrinsics for the types of a product."""
    if target.kind.name != "cuda":
        raise DoesNotFitError("the device has no tensor cores")
    stmt = block_of(sch, block)
    result = str(stmt.writes[0].buffer.dtype)
    operands = {str(r.buffer.dtype) for r in stmt.reads if r.buffer is not stmt.writes[0].buffer}
    known = UNITS.get((operands.pop(), result)) if len(operands) == 1 else None
    if known is None or compute_capability(target) < known[2]:
        raise DoesNotFitError("there are no tensor cores for its types")
    operand, result, _ = known
    if operand.endswith("16") and compute_capability(target) >= MMA_ARCHITECTURE:
        return Instructions("mma", operand, result, 8)
    return Instructions("wmma", operand, result, UNIT)


def _tile_for(rows: int, columns: int, batch: int, device: Accelerator) -> Tile:
    """The tile with which a product is estimated to be the quickest."""
    tiles = [Tile(*sizes, STEPS) for sizes in itertools.product(SIZES, SIZES)]
    fitting = [tile for tile in tiles if tile.is_filled_by(rows, columns)]
    return min(fitting, key=lambda tile: _cycles(tile, rows, columns, batch, device))


def _cycles(tile: Tile, rows: int, columns: int, batch: int, device: Accelerator) -> float:
    """Estimated cycles for one step of the sum of a whole product."""
    blocks = -(-rows // tile.rows) * -(-columns // tile.columns) * batch
    each = -(-blocks // device.multiprocessors)
    multiply = tile.rows * tile.columns / MULTIPLY_ADDS
    shared = math.prod(tile.warps) * sum(tile.own) / SHARED_ELEMENTS
    cycles = max(multiply, shared) + (tile.rows + tile.columns) / GLOBAL_ELEMENTS
    return each * cycles * (ALONE if each == 1 else 1)


def _bind_warps(
    sch: Schedule,
    block: BlockRV,
    copies: Sequence[Copy],
    last: BlockRV,
    tile: Tile,
    instructions: Instructions,
    stages: int,
) -> None:
    """Give a product of whole tiles its loops, perhaps with a batch around.

    Args:
        sch: the schedule.
        block: the product.
        copies: the blocks that copy its operands.
        last: the block that stores its result.
        tile: the tile of a block of threads.
        instructions: the intrinsics.
        stages: number of parts of the operands that are in shared memory at a time.
    """
    names = instructions.names(any(copy.is_of_columns and copy.is_along_steps for copy in copies))
    own, warps = tile.own, tile.warps
    shape = (UNIT, instructions.columns)
    *batch, i, j, k = sch.get_loops(block)
    i, i_unit = sch.split(i, [None, UNIT])
    j, j_unit = sch.split(j, [None, instructions.columns])
    k, k_unit = sch.split(k, [None, UNIT])
    sch.reorder(*batch, i, j, k, i_unit, j_unit, k_unit)
    unit = sch.blockize(i_unit)
    by, ty, i = sch.split(i, [None, warps[0], own[0] // UNIT])
    bx, tz, j = sch.split(j, [None, warps[1], own[1] // instructions.columns])
    k, inner = sch.split(k, [None, tile.steps // UNIT])
    sch.reorder(*batch, by, bx, ty, tz, k, inner, i, j)
    store = sch.cache_write(unit, 0, names["c"])
    fragments = [
        sch.cache_read(unit, number, names["b" if copy.is_of_columns else "a"])
        for number, copy in enumerate(copies)
    ]
    start = sch.decompose_reduction(unit, k)
    fill = sch.get_loops(sch.get_child_blocks(start)[0])[-2]
    sch.tensorize(fill, names["fill"])
    _store_pieces(sch, store, last, tz, own, shape, names["store"])
    sch.bind(ty, "threadIdx.y")
    sch.bind(tz, "threadIdx.z")
    for copy, fragment in zip(copies, fragments, strict=True):
        role = "b" if copy.is_of_columns else "a"
        sch.set_scope(copy.block, 0, "shared")
        sch.compute_at(fragment, inner, preserve_unit_loops=True)
        sch.compute_at(copy.block, k, preserve_unit_loops=True)
        buffer = block_of(sch, copy.block).writes[0].buffer
        # Rows that are an odd number of vectors apart begin in different banks.
        elements = VECTOR_BYTES // buffer.dtype.itemsize
        sch.storage_align(copy.block, 0, len(buffer.shape) - 2, 2 * elements, elements)
        _cooperate(sch, copy.block, copy.vector, warps)
        rows, columns = UNIT, instructions.columns if role == "b" else UNIT
        extents = (columns, rows) if role == "b" and copy.is_along_steps else (rows, columns)
        _tensorize_tiles(sch, fragment, extents, names[f"load_{role}"])
    sch.tensorize(unit, names["multiply"])
    if stages > 1:
        sch.annotate(k, "software_pipeline_stage", [0, 0, stages - 1])
        sch.annotate(k, "software_pipeline_async_stages", [0])
    bind_blocks(sch, [*batch, by, bx])


def _store_pieces(
    sch: Schedule,
    store: BlockRV,
    last: BlockRV,
    place: LoopRV,
    own: tuple[int, int],
    shape: tuple[int, int],
    name: str,
) -> None:
    """Let each warp bring its results to where they belong, through a piece of shared memory.

    Args:
        sch: the schedule.
        store: the block that copies fragments into shared memory.
        last: the block that reads them there.
        place: the loop of the warps.
        own: number of rows and columns of a warp.
        shape: number of rows and columns of a tile of the intrinsic.
        name: the intrinsic.
    """
    rows, columns = own
    width = min(PIECE, columns)

    def of_warps(*indices: Expr) -> tuple[Expr, ...]:
        *batch, i, j = indices
        return (*batch, i // rows, j // columns, i % rows, j % columns)

    sch.reverse_compute_at(store, place, preserve_unit_loops=True)
    sch.reverse_compute_at(last, place, preserve_unit_loops=True)
    i, j = sch.get_loops(last)[-2:]
    i, i_piece = sch.split(i, [None, UNIT])
    j, j_piece = sch.split(j, [None, width])
    sch.reorder(i, j, i_piece, j_piece)
    sch.compute_at(store, j, preserve_unit_loops=True)
    sch.transform_layout(store, ("write", 0), of_warps)
    sch.set_scope(store, 0, "shared")
    vector = VECTOR_BYTES // 4
    _, x, lanes = sch.split(sch.fuse(i_piece, j_piece), [None, LANES, vector])
    sch.bind(x, "threadIdx.x")
    sch.vectorize(lanes)
    _tensorize_tiles(sch, store, shape, name)
    (store,) = sch.get_producers(last)
    axis = len(block_of(sch, store).writes[0].buffer.shape) - 2
    sch.storage_align(store, 0, axis, 2 * PIECE_PADDING, PIECE_PADDING)


def _cooperate(sch: Schedule, block: BlockRV, vector: int, warps: tuple[int, int]) -> None:
    """Let all threads of a block copy a tile, some elements at once."""
    part = sch.fuse(*sch.get_loops(block)[-2:])
    vector = max(min(vector, (extent_of(sch, part) or 1) // (LANES * math.prod(warps))), 1)
    _, y, z, x, lanes = sch.split(part, [None, *warps, LANES, vector])
    for loop, axis in ((y, "threadIdx.y"), (z, "threadIdx.z"), (x, "threadIdx.x")):
        sch.bind(loop, axis)
    if vector > 1:
        sch.vectorize(lanes)


def _tensorize_tiles(sch: Schedule, block: BlockRV, shape: tuple[int, int], name: str) -> None:
    """Let an intrinsic copy each tile."""
    i, j = sch.get_loops(block)[-2:]
    i, i_unit = sch.split(i, [None, shape[0]])
    j, j_unit = sch.split(j, [None, shape[1]])
    sch.reorder(i, j, i_unit, j_unit)
    sch.tensorize(i_unit, name)
