"""Indices that are computed ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.ir.expr import (
    Add,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Sub,
    Var,
)
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import BufferLoad, BufferRegion, decl_buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.buffer_reference import known_storage_scope
from tilewright.tir.schedule.edits.bindings import TRUE
from tilewright.tir.schedule.edits.insertion import place_after
from tilewright.tir.schedule.edits.loops import nest
from tilewright.tir.schedule.edits.stage import (
    require_no_blocks_inside,
    require_not_root,
    with_stage,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.proofs.scope import scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, BufferStore, Stmt
from tilewright.tir.substitute import substitute, variables_of

_ARITHMETIC: Final = (Add, Sub, Mul, FloorDiv, FloorMod, Min, Max, Cast)


@primitive
def cache_index(
    tree: FunctionTree, block: BlockRealize, storage_scope: str, cse_thresh: Number = 0
) -> Edit:
    """Compute the indices with which a block accesses buffers ahead, into buffers.

    Before::

        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi // 4 + vj // 4]

    After ``cache_index("B", "global")``::

        index_var_0 = T.alloc_buffer((16, 32), "int32")
        for ax0, ax1 in T.grid(16, 32):
            with T.block("index_0"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                index_var_0[v0, v1] = v0 // 4 + v1 // 4
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi // 4 + vj // 4], index_var_0[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[index_var_0[vi, vj]]

    Args:
        block: the block, which contains no other block.
        storage_scope: where the buffers live.
        cse_thresh: only what occurs more often than this is computed ahead; with 0, every index
            that is more than an iterator or a constant.

    Returns:
        The blocks that compute; none if there is nothing to compute.

    Raises:
        ScheduleError: for a block that contains blocks, or a negative threshold.

    Example::

        sch = tir.Schedule(enlarge)
        sch.cache_index("B", "local")
    """
    storage_scope = known_storage_scope(storage_scope)
    require_not_root(tree, block)
    require_no_blocks_inside(block)
    if cse_thresh < 0:
        raise ScheduleError(f"the threshold must not be negative, got {cse_thresh}", at=[block])
    chosen = _chosen(tree, block, cse_thresh)
    if not chosen:
        return Edit(tree.func, [])
    loops: list[Stmt] = []
    realizes: list[BlockRealize] = []
    loads: list[BufferLoad] = []
    for number, expr in zip(_numbers(tree, len(chosen)), chosen, strict=True):
        loop, realize, load = _stage(block, expr, number, storage_scope)
        loops.append(loop)
        realizes.append(realize)
        loads.append(load)
    scope = scope_of(tree, block).realize
    place = place_after(tree, scope, block, [])
    changed = _Replacement(chosen, loads)(block.block)
    points = tuple(BufferRegion.of_element(load.buffer, load.indices) for load in loads)
    changed = changed.replace(reads=(*block.block.reads, *points), writes=block.block.writes)
    return with_stage(
        tree, scope, edits={block.block: changed}, place=place.stmt, before=loops,
        buffers=[load.buffer for load in loads], results=realizes,
    )  # fmt: skip


# --- what is computed ahead ---------------------------------------------------------------------


def _chosen(tree: FunctionTree, block: BlockRealize, threshold: int) -> list[Expr]:
    """The largest parts of indices that occur often enough, each once."""
    outside = {loop.loop_var for loop in tree.loops_above(block)}
    iterators = {
        item.var
        for item in block.block.iter_vars
        if item.dom is not None
        and not outside.intersection(variables_of(item.dom.min) + variables_of(item.dom.extent))
    }
    parts = [
        part
        for index in _indices(block.block)
        for part in walk(index)
        if isinstance(part, Expr) and _is_computed(part, iterators)
    ]
    found: list[Expr] = []

    def visit(part: Any) -> None:
        if isinstance(part, Expr) and _is_computed(part, iterators):
            if any(structural_equal(part, known) for known in found):
                return
            if sum(structural_equal(part, other) for other in parts) > threshold:
                found.append(part)
                return
        for child in part.children():
            visit(child)

    for index in _indices(block.block):
        visit(index)
    return found


def _indices(block: Block) -> list[Expr]:
    stmts = [block.body] if block.init is None else [block.init, block.body]
    return [
        index
        for stmt in stmts
        for node in walk(stmt)
        if isinstance(node, (BufferLoad, BufferStore))
        for index in node.indices
    ]


def _is_computed(expr: Expr, iterators: set[Var]) -> bool:
    """Whether `expr` is arithmetic of iterators which is defined for all their values."""
    if not isinstance(expr, _ARITHMETIC) or expr.dtype.lanes != 1:
        return False
    for node in walk(expr):
        if isinstance(node, (FloorDiv, FloorMod)):
            if not isinstance(node.b, IntImm) or node.b.value == 0:
                return False
        elif isinstance(node, Var):
            if node not in iterators:
                return False
        elif not isinstance(node, (*_ARITHMETIC, IntImm)):
            return False
    return bool(variables_of(expr))


def _numbers(tree: FunctionTree, count: int) -> range:
    """Numbers of which no block has its name yet."""
    names = {realize.block.name_hint for realize in tree.blocks()}
    first = 0
    while any(f"index_{first + offset}" in names for offset in range(count)):
        first += 1
    return range(first, first + count)


# --- the new blocks -----------------------------------------------------------------------------


def _stage(
    block: BlockRealize, expr: Expr, number: int, storage_scope: str
) -> tuple[Stmt, BlockRealize, BufferLoad]:
    """Loops around a block that computes `expr`, and what stands for `expr` afterwards."""
    used = [item for item in block.block.iter_vars if item.var in set(variables_of(expr))]
    loops: dict[Var, Expr] = {}
    values: list[Expr] = []
    iterators: list[IterVar] = []
    fresh: dict[Var, Expr] = {}
    for axis, item in enumerate(used):
        assert item.dom is not None
        loop_var, var = Var(f"ax{axis}", item.var.dtype), Var(f"v{axis}", item.var.dtype)
        loops[loop_var] = item.dom.extent
        values.append(loop_var + item.dom.min)
        fresh[item.var] = var
        iterators.append(item.replace(var=var, iter_type=IterType.DATA_PAR))
    buffer = decl_buffer(
        [item.dom.extent for item in used if item.dom is not None],
        expr.dtype,
        f"index_var_{number}",
        scope=storage_scope,
    )
    load = BufferLoad(
        buffer, tuple(item.var - item.dom.min for item in used if item.dom is not None)
    )
    at = tuple(substitute(index, fresh) for index in load.indices)
    region = BufferRegion.of_element(buffer, at)
    new = Block(
        tuple(iterators),
        (),
        (region,),
        f"index_{number}",
        BufferStore(buffer, substitute(expr, fresh), at),
        key=BlockKey(),
    )
    realize = BlockRealize(tuple(values), TRUE, new)
    return nest(loops, realize)[1], realize, load


class _Replacement(Rewriter):
    """Replaces parts of indices."""

    def __init__(self, exprs: Sequence[Expr], loads: Sequence[BufferLoad]) -> None:
        self._pairs = list(zip(exprs, loads, strict=True))

    def _index(self, index: Any) -> Any:
        for expr, load in self._pairs:
            if structural_equal(index, expr):
                return load
        if isinstance(index, BufferLoad):
            return self.BufferLoad(index)
        return index.map_children(self._index)

    def BufferLoad(self, load: BufferLoad) -> Any:
        return load.replace(indices=tuple(map(self._index, load.indices)))

    def BufferStore(self, store: BufferStore) -> Any:
        indices = tuple(map(self._index, store.indices))
        return store.replace(indices=indices, value=self(store.value))
