"""Rejects candidates that use more than a block of threads has on a GPU."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from tilewright.error import TVMError
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import Schedule
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BufferStore, For, ForKind, Stmt
from tilewright.tune.postproc.functions import trees_of
from tilewright.tune.postproc.memory_use import allocated_bytes, without_blocks
from tilewright.tune.postproc.postproc import Postproc
from tilewright.tune.rule.block_facts import constant
from tilewright.tune.rule.gpu_limits import max_shared_memory, max_threads_per_block
from tilewright.tune.rule.multi_level_tiling import HIGH, LOW

MAX_VTHREADS: Final = 8
MAX_VECTOR_BYTES: Final = 16


class Limits(NamedTuple):
    """What a kernel may use."""

    threads: int
    shared_bytes: int
    local_bytes: int | None
    vthreads: int = MAX_VTHREADS
    vector_bytes: int = MAX_VECTOR_BYTES


class VerifyGPUCode(Postproc):
    """Rejects a candidate of which a kernel has too many threads, or uses too much memory.

    The limits are attributes of the target: `max_threads_per_block`, `max_shared_memory_per_block`
    and `max_local_memory_per_block`. Besides, there are at most 8 virtual threads, no access is
    wider than 16 bytes, and all work is done by threads.
    """

    def apply(self, sch: Schedule) -> bool:
        """Whether all kernels stay below the limits."""
        limits = Limits(
            max_threads_per_block(self.target),
            max_shared_memory(self.target),
            self.target.attrs.get("max_local_memory_per_block"),
        )
        for tree in trees_of(sch):
            if not _respects_annotations(tree) or not _is_lowered_right(tree.func, limits):
                return False
        return True


def _is_lowered_right(func: PrimFunc, limits: Limits) -> bool:
    try:
        lowered = without_blocks(func)
    except TVMError:
        return False
    return all(_stays_below(kernel, limits) for kernel in _kernels(lowered.body))


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


def _stays_below(kernel: Stmt, limits: Limits) -> bool:
    if not isinstance(kernel, For):
        return False
    threads = _extents(kernel)
    if threads is None:
        return False
    count = math.prod(n for tag, n in threads.items() if tag.startswith("threadIdx"))
    virtual = math.prod(n for tag, n in threads.items() if tag.startswith("vthread"))
    if count > limits.threads or virtual > limits.vthreads:
        return False
    if allocated_bytes(kernel, "shared") > limits.shared_bytes:
        return False
    if limits.local_bytes is not None and allocated_bytes(kernel, "local") > limits.local_bytes:
        return False
    return all(_widest(loop) <= limits.vector_bytes for loop in _vectors(kernel))


def _extents(kernel: For) -> dict[str, int] | None:
    """The number of threads along each axis; None if loops of one axis differ."""
    found: dict[str, int] = {}
    for node in walk(kernel):
        if not isinstance(node, For) or node.thread_binding is None:
            continue
        tag, extent = node.thread_binding.thread_tag, constant(node.extent)
        if tag.startswith("vthread"):
            found[tag] = found.get(tag, 1) * (extent or 1)
        elif extent is None:
            if tag.startswith("threadIdx"):
                return None
        elif found.setdefault(tag, extent) != extent:
            return None
    return found


def _vectors(kernel: Stmt) -> Iterator[For]:
    return (n for n in walk(kernel) if isinstance(n, For) and n.kind is ForKind.VECTORIZED)


def _widest(loop: For) -> int:
    """Bytes of the widest access that all lanes of a loop make together."""
    lanes = constant(loop.extent) or 1
    sizes = [
        node.buffer.dtype.itemsize
        for node in walk(loop.body)
        if isinstance(node, (BufferLoad, BufferStore))
        and any(loop.loop_var is part for index in node.indices for part in walk(index))
    ]
    return lanes * max(sizes, default=1)


def _respects_annotations(tree: FunctionTree) -> bool:
    """Whether blocks have as many threads as their annotations ask for."""
    for realize in tree.blocks():
        low, high = (realize.block.annotations.get(key) for key in (LOW, HIGH))
        if low is None and high is None:
            continue
        count = math.prod(
            constant(loop.extent) or 1
            for loop in tree.all_loops_above(realize)
            if loop.thread_binding is not None
            and loop.thread_binding.thread_tag.startswith("threadIdx")
        )
        if not int(low or 1) <= count <= int(high or count):
            return False
    return True
