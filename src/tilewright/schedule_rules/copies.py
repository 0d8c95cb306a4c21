"""Blocks that copy a tile, or compute it element by element."""

from __future__ import annotations

from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.nest import block_of, loops_by_iterator, present, split_into
from tilewright.schedule_rules.tiles import RegisterTile
from tilewright.tir.schedule import BlockRV, Schedule


def copy_squares(
    sch: Schedule, block: BlockRV, column: int, outer: int, tile: RegisterTile
) -> bool:
    """Transpose squares in registers, where columns come next to each other by copying.

    Args:
        sch: the schedule.
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


def vectorize_tile(sch: Schedule, block: BlockRV, outer: int, vectors: int, lanes: int) -> None:
    """Run along what is contiguous where the block reads, in vectors.

    Args:
        sch: the schedule.
        block: a block without a reduction.
        outer: how many loops around it belong to others.
        vectors: how many vectors the tile has in a row.
        lanes: elements of a vector.
    """
    accesses = accesses_of(block_of(sch, block))
    loops = loops_by_iterator(sch, block, outer)
    for var in accesses.spatial:
        moving = [load for load in accesses.loads if load.mentions(var)]
        if var in loops and moving and all(load.stride(var) == 1 for load in moving):
            others = [v for v in accesses.spatial if v is not var and v in loops]
            others.sort(key=lambda v: -(accesses.stores[0].stride(v) or 0))
            (panel, vector), lane = split_into(sch, loops[var], [vectors, lanes], vector=True)
            sch.reorder(*present(panel), *(loops[v] for v in others), *present(vector, lane))
            sch.vectorize(lane)
            return
