"""Postprocessors that reject candidates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tilewright.error import TVMError
from tilewright.ir.expr import IntImm, const_int_value
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.nest import realize_of
from tilewright.target import Target
from tilewright.target.accelerator import accelerator_of, limits_of
from tilewright.tir.analysis.kernel_limits import verify_gpu_code
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Allocate, BlockRealize, BufferStore, For, ForKind, Stmt
from tilewright.tir.transform.compact_buffers import compact_buffers
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.plan_buffer_locations import plan_buffer_locations
from tilewright.tune.postproc.postproc import Postproc, all_loops, blocks_inside, root_of, trees_of
from tilewright.tune.rule.block_facts import loop_roles
from tilewright.tune.rule.multi_level_tiling import HIGH, LOW

UNKNOWN = 1 << 40
"""Bytes of memory of unknown size."""


def without_blocks(func: PrimFunc) -> PrimFunc:
    """The function with loops only, and memory where it is needed and as large as is needed."""
    return compact_buffers(plan_buffer_locations(lower_blocks(func)))


def allocated_bytes(stmt: Stmt, scope: str) -> int:
    """Bytes of all memory that is allocated in scopes whose names begin with `scope`."""
    return sum(
        math.prod(
            int(extent.value) if isinstance(extent, IntImm) else UNKNOWN for extent in node.extents
        )
        * node.dtype.itemsize
        for node in walk(stmt)
        if isinstance(node, Allocate) and _scope_of(node).startswith(scope)
    )


def _scope_of(allocation: Allocate) -> str:
    return getattr(allocation.buffer_var.type_annotation, "storage_scope", "") or "global"


class DisallowDynamicLoop(Postproc):
    """Rejects a candidate in which the extent of a loop is not a constant."""

    def apply(self, sch: Schedule) -> bool:
        """Whether all extents are constants."""
        return all(const_int_value(loop.extent) is not None for loop in all_loops(sch))


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
    """The pipeline that has the copy as an asynchronous stage; None if there is none."""
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


SCOPE = "global.vtcm"


class VerifyVTCMLimit(Postproc):
    """Rejects a candidate that allocates more memory of the scope ``global.vtcm`` than there is.

    Args:
        vtcm_capacity: bytes of it; by default the attribute `vtcm-capacity` of the target, and
            without that one any number.
    """

    def __init__(self, vtcm_capacity: int | None = None) -> None:
        self.vtcm_capacity = vtcm_capacity

    def apply(self, sch: Schedule) -> bool:
        """Whether no function allocates more."""
        limit = self.vtcm_capacity or self.target.attrs.get("vtcm-capacity")
        if not limit:
            return True
        try:
            return all(
                allocated_bytes(without_blocks(tree.func).body, SCOPE) <= limit
                for tree in trees_of(sch)
            )
        except TVMError:
            return False


MAX_VTHREADS: Final = 8
MAX_VECTOR_BYTES: Final = 16


class VerifyGPUCode(Postproc):
    """Rejects a candidate with a kernel that has too many threads, or uses too much memory.

    The limits are attributes of the target: `max_threads_per_block`, `max_shared_memory_per_block`
    and `max_local_memory_per_block`. Besides, there are at most 8 virtual threads, no access is
    wider than 16 bytes, and all work is done by threads.
    """

    def apply(self, sch: Schedule) -> bool:
        """Whether all kernels stay below the limits."""
        return all(
            _respects_annotations(tree) and _is_lowered_right(tree.func, self.target)
            for tree in trees_of(sch)
        )


def _is_lowered_right(func: PrimFunc, target: Target) -> bool:
    try:
        lowered = without_blocks(func)
    except TVMError:
        return False
    if any(isinstance(kernel, BufferStore) for kernel in _kernels(lowered.body)):
        return False
    device = accelerator_of(target)
    limits = {
        "max_threads_per_block": device.threads,
        "max_shared_memory_per_block": device.shared_bytes,
        "max_vthread": MAX_VTHREADS,
        "max_vector_bytes": MAX_VECTOR_BYTES,
    }
    return verify_gpu_code(lowered, limits_of(target) | limits)


def _kernels(stmt: Stmt) -> Iterator[Stmt]:
    """The outermost loops that threads run, and whatever else stores something."""
    if isinstance(stmt, BufferStore) or (
        isinstance(stmt, For) and stmt.kind is ForKind.THREAD_BINDING
    ):
        yield stmt
        return
    for child in stmt.children():
        if isinstance(child, Stmt):
            yield from _kernels(child)


def _respects_annotations(tree: FunctionTree) -> bool:
    """Whether blocks have as many threads as their annotations ask for."""
    for realize in tree.blocks():
        low, high = (realize.block.annotations.get(key) for key in (LOW, HIGH))
        if low is None and high is None:
            continue
        count = math.prod(
            const_int_value(loop.extent) or 1
            for loop in tree.all_loops_above(realize)
            if loop.thread_binding is not None
            and loop.thread_binding.thread_tag.startswith("threadIdx")
        )
        if not int(low or 1) <= count <= int(high or count):
            return False
    return True
