"""Replaces tiles by the tensor intrinsics for which rules have made them."""

from __future__ import annotations

from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tune.postproc.functions import blocks_inside, root_of, trees_of
from tilewright.tune.postproc.postproc import Postproc
from tilewright.tune.rule.block_facts import block_of
from tilewright.tune.rule.multi_level_tiling_with_intrin import AUTO_TENSORIZE


class RewriteTensorize(Postproc):
    """Replaces blocks that have the annotation `meta_schedule.auto_tensorize`.

    Args:
        vectorize_init_loop: whether initialisations of such blocks, for which there is no
            intrinsic, become vectors.
    """

    def __init__(self, vectorize_init_loop: bool = False) -> None:
        self.vectorize_init_loop = vectorize_init_loop

    def apply(self, sch: Schedule) -> bool:
        """Replace all of them; rejects a candidate in which one is not what is described."""
        for tree in trees_of(sch):
            for block, name in _marked(sch, root_of(sch, tree)):
                sch.unannotate(block, AUTO_TENSORIZE)
                done = _tensorize(sch, block, name) if name else self._vectorize(sch, block)
                if not done:
                    return False
        return True

    def _vectorize(self, sch: Schedule, block: BlockRV) -> bool:
        if self.vectorize_init_loop:
            for inner in sch.get_child_blocks(block):
                try:
                    sch.vectorize(sch.get_loops(inner)[-1])
                except ScheduleError:
                    return False
        return True


def _marked(sch: Schedule, root: BlockRV) -> list[tuple[BlockRV, str]]:
    """The blocks that are to be replaced, with the names of the intrinsics."""
    found = []
    for block in blocks_inside(sch, root):
        name = block_of(sch, block).annotations.get(AUTO_TENSORIZE)
        if name is not None:
            found.append((block, str(getattr(name, "value", name))))
    return found


def _tensorize(sch: Schedule, block: BlockRV, name: str) -> bool:
    try:
        sch.tensorize(block, name)
    except ScheduleError:
        return False
    return True
