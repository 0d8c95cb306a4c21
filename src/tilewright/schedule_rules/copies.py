"""Blocks that copy a tile, or compute it element by element."""

from __future__ import annotations

from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.nest import block_of, loops_by_iterator, present, split_into
from tilewright.tir.schedule import BlockRV, Schedule


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
