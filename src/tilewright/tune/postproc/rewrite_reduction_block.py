"""Makes the initialisations of reductions loops of their own."""

from __future__ import annotations

import contextlib

from tilewright.ir.expr import Var
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tir.schedule.bindings import bound_values, mentioned
from tilewright.tir.stmt import ForKind
from tilewright.tune.postproc.functions import blocks_inside, root_of, trees_of
from tilewright.tune.postproc.postproc import Postproc
from tilewright.tune.rule.block_facts import block_of, loops_around, realize_of
from tilewright.tune.rule.claim import is_claimed


class RewriteReductionBlock(Postproc):
    """Decomposes reductions before the outermost of their reduction loops.

    Reductions across threads stay as they are: each thread starts its own sum. So do blocks that a
    rule has claimed; there, lowering finds the place.
    """

    def apply(self, sch: Schedule) -> bool:
        """Decompose what can be decomposed; every candidate is accepted."""
        for tree in trees_of(sch):
            for block in blocks_inside(sch, root_of(sch, tree)):
                position = _outermost_reduction(sch, block)
                if position is not None:
                    # Where that is refused, lowering finds a place for the initialisation.
                    with contextlib.suppress(ScheduleError):
                        sch.decompose_reduction(block, sch.get_loops(block)[position])
        return True


def _outermost_reduction(sch: Schedule, block: BlockRV) -> int | None:
    """The position of the outermost loop that counts a reduction; None to leave the block."""
    if block_of(sch, block).init is None or is_claimed(sch, block):
        return None
    realize = realize_of(sch, block)
    steps: set[Var] = mentioned(bound_values(realize, reduction=True))
    loops = loops_around(sch, block)
    counting = [n for n, loop in enumerate(loops) if loop.loop_var in steps]
    if not counting or any(loops[n].kind is ForKind.THREAD_BINDING for n in counting):
        return None
    return counting[0]
