"""Reductions whose loops are bound to threads: each thread adds up a part, then they combine.

Before::                                      After::

    for i in blockIdx.x(8):                       for i in blockIdx.x(8):
        for k_0 in range(4):                          for k_1 in threadIdx.x(8):
            for k_1 in threadIdx.x(8):                    part[0] = 0
                with block("B"):                          for k_0 in range(4):
                    init: B[i] = 0                            part[0] += A[i, k_0 * 8 + k_1]
                    B[i] += A[i, k_0 * 8 + k_1]           parts[k_1] = part[0]
                                                          if k_1 < 4: parts[k_1] += parts[k_1 + 4]
                                                          if k_1 < 2: parts[k_1] += parts[k_1 + 2]
                                                          if k_1 < 1: parts[k_1] += parts[k_1 + 1]
                                                          if k_1 == 0: B[i] = parts[0]

``part`` is ``local`` memory of a thread, ``parts`` is ``shared`` by the threads of a block;
`insert_barriers` lets them wait for each other. Where threads of a warp can exchange values, they
need less memory and fewer barriers; see `combine_in_warps`. A result in local memory is stored by
all threads, as each has its own. Threads without an element take part with a value that changes
nothing.

This is done while there are blocks, which say what they reduce, and by what.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tilewright.ir.arithmetic import less, logical_and
from tilewright.ir.expr import Expr, IntImm, Var, const_int_value
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.analysis.atomic_updates import is_atomic
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.expr import IterType
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    For,
    ForKind,
    Stmt,
    seq,
)
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.device.combine_parts import where
from tilewright.tir.transform.device.kernel_error import KernelError
from tilewright.tir.transform.device.opened_blocks import (
    TRUE,
    closed,
    is_open,
    open_block,
    opened,
)
from tilewright.tir.transform.device.partial_results import PartialReduction
from tilewright.tir.transform.device.thread_axes import BLOCKS, THREADS, is_bound, tag_of
from tilewright.tir.transform.device.thread_reductions import (
    ReductionBlock,
    blocks_below,
    iterated_by,
    require_hoisted,
)


def lower_cross_thread_reduction(func: PrimFunc, warp_size: int = 0) -> PrimFunc:
    """`func`, with blocks, in which no reduction loop is bound to threads any more.

    Args:
        func: the function.
        warp_size: number of threads that can exchange values without memory; 0 if none can.

    Raises:
        KernelError: for a reduction that threads cannot share.
    """
    if not any(is_bound(stmt) for stmt in statements(func.body)):
        return func
    bound = {stmt.loop_var for stmt in statements(func.body) if is_bound(stmt)}  # type: ignore[attr-defined]
    body = opened(func.body, lambda realize: _reduces_along(realize, bound))
    changed = _CrossThread(warp_size)(body)
    return func if changed is func.body else func.with_body(closed(changed))


def _reduces_along(realize: BlockRealize, bound: set[Var]) -> bool:
    return not bound.isdisjoint(iterated_by(realize, IterType.COMM_REDUCE))


class _CrossThread(Rewriter):
    """Rewrites the outermost loops of reductions that threads share.

    Attributes:
        _extents: the number of threads of each axis of the kernel, where it is a constant.
        _threads: the loops over threads around.
        _done: the blocks that reduce into memory of a thread already.
    """

    def __init__(self, warp_size: int) -> None:
        self._warp_size = warp_size
        self._extents: dict[str, int] | None = None
        self._threads: list[For] = []
        self._done: set[Block] = set()

    def For(self, loop: For) -> Stmt:
        leaves = [leaf for leaf in blocks_below(loop) if self._starts_at(leaf, loop)]
        if self._extents is None and (leaves or is_bound(loop)):
            self._extents = _longest_loops(loop)
            changed = self._inside_of_kernel(loop, leaves)
            self._extents = None
            return changed
        return self._inside_of_kernel(loop, leaves)

    def _inside_of_kernel(self, loop: For, leaves: list[ReductionBlock]) -> Stmt:
        if leaves:
            return self._rewritten(loop, leaves)
        if not (is_bound(loop) and tag_of(loop) in THREADS):
            return loop.map_children(self)
        self._threads.append(loop)
        changed = loop.map_children(self)
        self._threads.pop()
        return changed

    def _starts_at(self, leaf: ReductionBlock, loop: For) -> bool:
        """Whether `loop` is the outermost one that a block reduces along, threads sharing it."""
        block = leaf.realize.block
        if block in self._done or loop.loop_var not in leaf.reduced or is_atomic(block):
            return False
        for shared in leaf.shared:
            if tag_of(shared) in BLOCKS:
                raise KernelError(
                    f"block {leaf.name} reduces along loop {shared.loop_var.name}, which is bound "
                    f"to {tag_of(shared)}: blocks of threads do not wait for each other",
                    loops=[shared.loop_var],
                    hint="rfactor the loop, bind it to threadIdx.x, or make the block atomic",
                )
        return bool(leaf.shared)

    def _rewritten(self, top: For, leaves: list[ReductionBlock]) -> Stmt:
        hoisted = leaves[0].bound
        for leaf in leaves:
            require_hoisted(leaf, hoisted)
            self._require_own_threads(leaf, hoisted)
        axes = self._extents or {}
        reductions = [
            PartialReduction(leaf, hoisted, self._threads, axes, self._warp_size) for leaf in leaves
        ]
        self._done |= {reduction.update.block for reduction in reductions}
        core: Stmt = _Core(hoisted, reductions)(top)
        for loop in hoisted:
            if tag_of(loop) in THREADS:
                self._threads.append(loop)
        core = self(core)
        del self._threads[len(self._threads) - sum(tag_of(p) in THREADS for p in hoisted) :]
        conditions: dict[Var, Expr] = {}
        loops: list[For] = []
        for loop in hoisted:
            loop, condition = self._as_long_as_the_axis(loop)
            loops.append(loop)
            if condition is not None:
                conditions[loop.loop_var] = condition
        core = where(functools.reduce(logical_and, conditions.values(), TRUE), core)
        body = seq(
            *(reduction.start() for reduction in reductions),
            core,
            *(reduction.end(conditions) for reduction in reductions),
        )
        memory = tuple(buffer for reduction in reductions for buffer in reduction.memory)
        names = "_".join(dict.fromkeys(leaf.name for leaf in leaves))
        body = open_block(f"{names}_threads", body, memory)
        for loop in reversed(loops):
            body = loop.replace(body=body)
        return body

    def _require_own_threads(self, leaf: ReductionBlock, hoisted: Sequence[For]) -> None:
        """Threads that share a reduction cannot be those that each have results of their own."""
        for outer in self._threads:
            for loop in hoisted:
                if tag_of(outer) == tag_of(loop) and outer.loop_var in leaf.spatial:
                    raise KernelError(
                        f"block {leaf.name}: loop {loop.loop_var.name} is bound to {tag_of(loop)}, "
                        f"and so is loop {outer.loop_var.name} around it, which computes other "
                        "elements",
                        loops=[loop.loop_var, outer.loop_var],
                        hint="bind them to different axes",
                    )

    def _as_long_as_the_axis(self, loop: For) -> tuple[For, Expr | None]:
        """A loop that all threads of its axis come to, and for which it was if not for all."""
        extent, longest = const_int_value(loop.extent), (self._extents or {}).get(tag_of(loop))
        if extent is None or longest is None or longest <= extent:
            return loop, None
        dtype = loop.extent.dtype
        return loop.replace(extent=IntImm(dtype, longest)), less(loop.loop_var, loop.min + extent)


def _longest_loops(kernel: For) -> dict[str, int]:
    """The number of threads of each axis of a kernel, as far as it is a constant."""
    longest: dict[str, int] = {}
    for stmt in statements(kernel):
        if isinstance(stmt, For) and tag_of(stmt) in THREADS:
            extent = const_int_value(stmt.extent)
            if extent is not None:
                longest[tag_of(stmt)] = max(longest.get(tag_of(stmt), 1), extent)
    return longest


class _Core(Rewriter):
    """The reduction without its loops over threads, into the memory of a thread."""

    def __init__(self, hoisted: Sequence[For], reductions: Sequence[PartialReduction]) -> None:
        self._hoisted = {loop.loop_var for loop in hoisted}
        self._updates = {r.block.realize: r for r in reductions}
        self._targets = {
            target.buffer.data: reduction.block.name
            for reduction in reductions
            for target in reduction.reduction.targets
        }
        self._on_path = {loop.loop_var for r in reductions for loop in r.block.loops}

    def For(self, loop: For) -> Stmt:
        if loop.loop_var in self._hoisted:
            return self(loop.body)
        changed = loop.map_children(self)
        if loop.loop_var in self._on_path and is_bound(loop):  # virtual threads add up together
            return changed.replace(kind=ForKind.UNROLLED, thread_binding=None)
        return changed

    def BlockRealize(self, realize: BlockRealize) -> Stmt:
        reduction = self._updates.get(realize)
        if reduction is not None:
            return reduction.update
        if is_open(realize):
            return realize.map_children(self)
        self._require_elsewhere(realize)
        return realize

    def BufferStore(self, store: BufferStore) -> Stmt:
        self._require_elsewhere(store)
        return store

    def _require_elsewhere(self, stmt: Node) -> None:
        for node in walk(stmt):
            if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.data in self._targets:
                raise KernelError(
                    f"{node.buffer.name} is used inside of the loops in which threads reduce into "
                    f"it (block {self._targets[node.buffer.data]}), where it is not complete",
                    loops=list(self._hoisted),
                    hint="use it after these loops",
                )
