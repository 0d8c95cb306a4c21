"""Makes the initialisations of reductions loops of their own."""

from __future__ import annotations

import contextlib

from tilewright.ir.expr import Var
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tir.schedule.edits.bindings import bound_values, mentioned
from tilewright.tir.stmt import ForKind
from tilewright.tune.postproc.functions import blocks_inside, root_of, trees_of
from tilewright.tune.postproc.postproc import Postproc
from tilewright.tune.rule.block_facts import block_of, loops_around, realize_of
from tilewright.tune.rule.claim import is_claimed
from tilewright.tune.rule.multi_level_tiling_with_intrin import (
    AUTO_TENSORIZE,
    AUTO_TENSORIZE_INIT,
)


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
                        place = sch.get_loops(block)[position]
                        _divide_intrinsics(sch, block, sch.decompose_reduction(block, place))
        return True


def _divide_intrinsics(sch: Schedule, block: BlockRV, init: BlockRV) -> None:
    """Let the initialisation of a tile have the intrinsic that was meant for it, if any."""
    annotations = block_of(sch, block).annotations
    if AUTO_TENSORIZE not in annotations and AUTO_TENSORIZE_INIT not in annotations:
        return
    sch.annotate(init, AUTO_TENSORIZE, annotations.get(AUTO_TENSORIZE_INIT, ""))
    if AUTO_TENSORIZE_INIT in annotations:
        for item in (block, init):
            sch.unannotate(item, AUTO_TENSORIZE_INIT)


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
