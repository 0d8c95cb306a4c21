"""Rules for processors: parts of the default schedule."""

from __future__ import annotations

from tilewright.dlight.rule import ScheduleRule
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.default import default_schedule
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import Schedule
from tilewright.tir.stmt import Block
from tilewright.tir.transform.building.statements import statements


class GEMV(ScheduleRule):
    """Products of matrices with a vector, with what is computed before and after them."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        """The default schedule of the function, if it has such a product."""
        del tunable
        blocks = [stmt for stmt in statements(func.body) if isinstance(stmt, Block)]
        if target.kind.name != "llvm" or not any(map(multiplies_a_vector, blocks)):
            return None
        return default_schedule(func, target)


def multiplies_a_vector(block: Block) -> bool:
    """Whether a block sums products of a matrix with what is the same for all of its rows."""
    if block.init is None:
        return False
    accesses = accesses_of(block)
    rows = [var for var in accesses.spatial if accesses.extents[var] != 1]
    if not rows or not accesses.reduction or len(accesses.loads) != 2:
        return False
    count = [sum(load.mentions(row) for row in rows) for load in accesses.loads]
    return max(count) == len(rows) and min(count) < len(rows) and len(rows) - min(count) == 1
