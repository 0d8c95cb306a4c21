"""Contractions whose vectors run along another dimension than the rows of the result.

In a convolution the results along a row of the image need vectors that begin at each element of it,
few of them where images are small, and with strides every other element. The filters of one place
are another vector: their weights are packed into panels, and elements of the image are broadcast.
In a product of a few rows with a large matrix of weights, the rows are packed, and the weights are
read once and in order. The results of a tile are collected, and transposed when they are written.
"""

from __future__ import annotations

from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.contraction_plan import (
    ENOUGH_FILLED,
    ENOUGH_REUSE,
    Plan,
    loops_around,
)
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import (
    block_of,
    extent_of,
    loops_by_iterator,
    present,
    split_into,
)
from tilewright.schedule_rules.operands import Contraction
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule


class TransposedPlan(Plan):
    """Tiles of a contraction whose columns are no neighbours in the result.

    Args:
        found: the contraction.
        machine: the machine.
        outer: how many of the loops around the block are fixed already.
    """

    def __init__(self, found: Contraction, machine: Machine, outer: int) -> None:
        Plan.__init__(self, found, (found.column,), machine, outer, packed=True)

    @property
    def stages_results(self) -> bool:
        return True

    def _write(self, sch: Schedule, consumer: BlockRV, place: LoopRV | None) -> None:
        """Transpose squares of the results in registers."""
        if place is None:
            return
        accesses = accesses_of(block_of(sch, consumer))
        loops = loops_by_iterator(sch, consumer, loops_around(sch, consumer, place))
        inside = [var for var in accesses.spatial if var in loops]
        along = [var for var in inside if accesses.stores[0].stride(var) == 1]
        across = [var for var in inside if accesses.stores[0].stride(var) != 1]
        if len(along) != 1 or len(across) != 1:
            return
        if (extent_of(sch, loops[along[0]]) or 0) < self.lanes // 2:
            return
        (piece,), row = split_into(sch, loops[across[0]], [self.lanes])
        (strip,), lane = split_into(sch, loops[along[0]], [self.lanes], vector=True)
        sch.reorder(*present(piece, strip), row, lane)
        sch.unroll(row)
        sch.vectorize(lane)


def transposed_plan(found: Contraction, machine: Machine, outer: int) -> TransposedPlan | None:
    """The plan, if it is possible and reads what it broadcasts in the order of memory."""
    swapped = found.transposed()
    lanes = machine.lanes(found.accesses.stores[0].buffer.dtype)
    columns = found.accesses.extents[swapped.column]
    if (
        len(swapped.moving) != 1
        or not swapped.fixed
        or found.accesses.extents[found.column] is None
    ):
        return None
    if (
        swapped.moving[0].mentions(swapped.row)
        or columns is None
        or columns < ENOUGH_FILLED * lanes
    ):
        return None
    plan = TransposedPlan(swapped, machine, outer)
    if plan.reuse < ENOUGH_REUSE or any(map(plan.is_far, swapped.fixed)):
        return None
    return plan
