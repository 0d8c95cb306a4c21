"""Products of small numbers on GPUs with tensor cores.

A block of threads computes a tile of the result, and each of its four warps a quarter of it. Step
by step of the sum, all threads copy a part of both operands into shared memory, whose rows begin in
different banks; then each warp loads tiles of 16 by 16 elements into fragments, and multiplies
them. The result goes through shared memory, where what follows is computed element by element.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tilewright.schedule_rules.nest import DoesNotFitError, block_of, extent_of, plain_nest
from tilewright.schedule_rules.thread_binding import VECTOR_BYTES, bind_blocks
from tilewright.schedule_rules.thread_products import Copy, Product, as_matrices
from tilewright.target import Target
from tilewright.target.accelerator import Accelerator, accelerator_of
from tilewright.tir.schedule import BlockRV, Schedule

UNIT: Final = 16
"""Number of rows, columns and steps of a product that a tensor core computes."""

WARPS: Final = 2
"""Number of warps along the rows, and along the columns, of a tile."""

SIZES: Final = (64, 32)
"""Numbers of rows and columns of a tile."""

STEPS: Final = 32
"""Number of steps of the sum for which operands are copied at once."""

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


def tile_product_by_tensor_cores(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Compute a product in tiles by tensor cores.

    Raises:
        DoesNotFitError: for another block, and if the GPU has none for these types.
        ScheduleError: if a step is refused.
    """
    accesses = plain_nest(sch, block).accesses
    product = Product.of(accesses)
    operand, result = _unit_for(sch, block, target)
    sizes = [accesses.known_count(part) or 0 for part in product]
    if min(sizes[1:]) < UNIT:
        raise DoesNotFitError("it is too small for tensor cores, or its size is not known")
    batch, rows, columns, steps = sizes
    size = _size_for(rows, columns, max(batch, 1), accelerator_of(target))
    depth = STEPS if steps >= STEPS else UNIT
    copies, last = as_matrices(sch, block, accesses, product, (size, size, depth), by_rows=True)
    _bind_warps(sch, block, copies, last, (size, depth), _names(operand, result))


def _unit_for(sch: Schedule, block: BlockRV, target: Target) -> tuple[str, str]:
    """The types in the names of intrinsics."""
    if target.kind.name != "cuda":
        raise DoesNotFitError("the device has no tensor cores")
    stmt = block_of(sch, block)
    result = str(stmt.writes[0].buffer.dtype)
    operands = {str(r.buffer.dtype) for r in stmt.reads if r.buffer is not stmt.writes[0].buffer}
    known = UNITS.get((operands.pop(), result)) if len(operands) == 1 else None
    architecture = re.match(r"sm_(\d+)", target.arch)
    if known is None or int(architecture[1] if architecture else 75) < known[2]:
        raise DoesNotFitError("there are no tensor cores for its types")
    return known[:2]


def _size_for(rows: int, columns: int, batch: int, device: Accelerator) -> int:
    """The size of the tiles: the largest of which there is one for each multiprocessor."""
    for size in SIZES:
        if -(-rows // size) * -(-columns // size) * batch >= device.multiprocessors:
            return size
    return SIZES[-1]


def _names(operand: str, result: str) -> dict[str, str]:
    """The intrinsics by what they do."""
    shape = f"{UNIT}x{UNIT}x{UNIT}"
    load = f"wmma_load_{shape}_{operand}"
    multiply = f"wmma_sync_{shape}_{operand}{operand}{result}"
    return {
        "fill": f"wmma_fill_{shape}_{result}",
        "a": f"{load}_a_shared", "b": f"{load}_b_shared", "b_trans": f"{load}_b_trans_shared",
        "multiply": multiply, "multiply_trans": f"{multiply}_trans",
        "store": f"wmma_store_{shape}_{result}_shared",
    }  # fmt: skip


def _bind_warps(
    sch: Schedule,
    block: BlockRV,
    copies: Sequence[Copy],
    last: BlockRV,
    tile: tuple[int, int],
    names: dict[str, str],
) -> None:
    """Give a product of whole tiles its loops, perhaps with a batch around.

    Args:
        tile: number of rows and columns of a tile, and of steps for which it is copied at once.
    """
    size, depth = tile
    *batch, i, j, k = sch.get_loops(block)
    i, i_unit = sch.split(i, [None, UNIT])
    j, j_unit = sch.split(j, [None, UNIT])
    k, k_unit = sch.split(k, [None, UNIT])
    sch.reorder(*batch, i, j, k, i_unit, j_unit, k_unit)
    unit = sch.blockize(i_unit)
    by, ty, i = sch.split(i, [None, WARPS, size // WARPS // UNIT])
    bx, tz, j = sch.split(j, [None, WARPS, size // WARPS // UNIT])
    k, inner = sch.split(k, [None, depth // UNIT])
    sch.reorder(*batch, by, bx, ty, tz, k, inner, i, j)
    bind_blocks(sch, [*batch, by, bx])
    sch.bind(ty, "threadIdx.y")
    sch.bind(tz, "threadIdx.z")
    store = sch.cache_write(unit, 0, "wmma.accumulator")
    sch.set_scope(store, 0, "shared")
    sch.reverse_compute_at(store, tz, preserve_unit_loops=True)
    sch.reverse_compute_at(last, bx, preserve_unit_loops=True)
    _cooperate(sch, last, 1)
    _tensorize_tiles(sch, store, names["store"])
    trans = ""
    for number, copy in enumerate(copies):
        role = "b" if copy.is_of_columns else "a"
        fragment = sch.cache_read(unit, number, f"wmma.matrix_{role}")
        sch.set_scope(copy.block, 0, "shared")
        sch.compute_at(fragment, inner, preserve_unit_loops=True)
        sch.compute_at(copy.block, k, preserve_unit_loops=True)
        buffer = block_of(sch, copy.block).writes[0].buffer
        # Rows that are an odd number of vectors apart begin in different banks.
        elements = VECTOR_BYTES // buffer.dtype.itemsize
        sch.storage_align(copy.block, 0, len(buffer.shape) - 2, 2 * elements, elements)
        _cooperate(sch, copy.block, copy.vector)
        if role == "b" and copy.is_along_steps:
            role, trans = "b_trans", "_trans"
        _tensorize_tiles(sch, fragment, names[role])
    start = sch.decompose_reduction(unit, k)
    fill = sch.get_loops(sch.get_child_blocks(start)[0])[-2]
    sch.tensorize(fill, names["fill"])
    sch.tensorize(unit, names[f"multiply{trans}"])


def _cooperate(sch: Schedule, block: BlockRV, vector: int) -> None:
    """Let all threads of a block copy a tile, some elements at once."""
    part = sch.fuse(*sch.get_loops(block)[-2:])
    vector = max(min(vector, (extent_of(sch, part) or 1) // (LANES * WARPS * WARPS)), 1)
    _, z, y, x, lanes = sch.split(part, [None, WARPS, WARPS, LANES, vector])
    for loop, axis in ((z, "threadIdx.z"), (y, "threadIdx.y"), (x, "threadIdx.x")):
        sch.bind(loop, axis)
    if vector > 1:
        sch.vectorize(lanes)


def _tensorize_tiles(sch: Schedule, block: BlockRV, name: str) -> None:
    """Let an intrinsic copy each tile."""
    i, j = sch.get_loops(block)[-2:]
    i, i_unit = sch.split(i, [None, UNIT])
    j, j_unit = sch.split(j, [None, UNIT])
    sch.reorder(i, j, i_unit, j_unit)
    sch.tensorize(i_unit, name)
