"""Rejects candidates with asynchronous copies of what is not side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.tir.buffer import BufferLoad
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, BufferStore, For
from tilewright.tune.postproc.functions import blocks_inside, root_of, trees_of
from tilewright.tune.postproc.postproc import Postproc
from tilewright.tune.rule.block_facts import realize_of
from tilewright.tune.rule.loop_roles import loop_roles

STAGES = "software_pipeline_stage"
ASYNC_STAGES = "software_pipeline_async_stages"


class DisallowAsyncStridedMemCopy(Postproc):
    """Rejects a candidate in which an asynchronous stage of a pipeline copies with strides.

    A machine that copies in the background copies one stretch of memory at a time. The stages are
    those that the annotations `software_pipeline_stage` and `software_pipeline_async_stages` of a
    loop say.
    """

    def apply(self, sch: Schedule) -> bool:
        """Whether all asynchronous copies are of one stretch of memory."""
        for tree in trees_of(sch):
            if not any(ASYNC_STAGES in loop.annotations for loop in tree.loops()):
                continue
            for block in blocks_inside(sch, root_of(sch, tree)):
                pipeline = _asynchronous_in(tree, realize_of(sch, block))
                if pipeline is not None and not _is_one_stretch(sch, block, tree, pipeline):
                    return False
        return True


def _asynchronous_in(tree: FunctionTree, realize: BlockRealize) -> For | None:
    """The pipeline of which the copy is an asynchronous stage; None if it is none."""
    if not isinstance(realize.block.body, BufferStore):
        return None
    if not isinstance(realize.block.body.value, BufferLoad):
        return None
    for loop in tree.all_loops_above(realize):
        if ASYNC_STAGES not in loop.annotations:
            continue
        stages = _numbers(loop.annotations.get(STAGES, ()))
        position = next(
            n
            for n, child in enumerate(tree.children(loop))
            if child is realize or tree.is_above(child, realize)
        )
        stage = stages[position] if position < len(stages) else None
        if stage in _numbers(loop.annotations[ASYNC_STAGES]):
            return loop
    return None


def _numbers(values: Any) -> Sequence[int]:
    return [int(value) for value in values]


def _is_one_stretch(sch: Schedule, block: BlockRV, tree: FunctionTree, pipeline: For) -> bool:
    """Whether all that one iteration of the pipeline copies is side by side, on both sides."""
    around = tree.loops_above(realize_of(sch, block))
    inside = [
        role
        for loop, role in zip(around, loop_roles(sch, block), strict=True)
        if tree.is_above(pipeline, loop)
    ]
    reached = 1
    for role in reversed(inside):
        if role.extent == 1:
            continue
        if role.extent is None or any(stride != reached for stride in role.strides):
            return False
        reached *= role.extent
    return True
