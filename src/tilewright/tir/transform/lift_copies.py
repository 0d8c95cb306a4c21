"""Computing before a call what a function computes from one parameter alone.

A schedule that packs an operand into panels does so in each call. Where the operand is a constant,
the panels are, too, and a function that takes them in its place packs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tilewright.ir.convert import attributes
from tilewright.ir.dtype import BOOL, HANDLE
from tilewright.ir.expr import Call, Expr, IntImm, Var
from tilewright.ir.op import Op
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.edits.copying import copied
from tilewright.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    Stmt,
    nop,
    seq,
)


class LiftedCopy(NamedTuple):
    """A function without the computation of a copy, and that computation.

    Attributes:
        func: takes the copy where it took the original.
        copy: takes the original and writes the copy.
        buffer: the copy.
    """

    func: PrimFunc
    copy: PrimFunc
    buffer: Buffer


def lift_copy(func: PrimFunc, param: Var) -> LiftedCopy | None:
    """`func` with what it computes from `param` alone as a function of its own::

        def f(B, ...):                          def copy(B, P):
            P = T.alloc_buffer(...)                 for i, j: P[j // 16, i, j % 16] = B[i, j]
            for ...:                       ->
                P[j // 16, i, j % 16] = B[i, j] def f(P, ...):
                ... P[...] ...                      for ...:
                                                        ... P[...] ...

    Elements of the copy that are not computed are never read.

    Returns:
        None if `param` is read by something else than one block whose results depend on nothing
        but its elements, or the sizes are symbolic.
    """
    source = func.buffer_map.get(param)
    root = func.body
    if source is None or not isinstance(root, BlockRealize) or root.block.iter_vars:
        return None
    found = _only_reader(root.block, source)
    if found is None or not source.has_static_shape():
        return None
    target = _only_target(root.block, found, source)
    if target is None or not target.has_static_shape():
        return None
    kept = tuple(buffer for buffer in root.block.alloc_buffers if buffer is not target)
    body = _Without(found)(root.block.body)
    changed = root.replace(block=root.block.replace(body=body, alloc_buffers=kept))
    buffer_map = {p: target if p is param else b for p, b in func.buffer_map.items()}
    lifted = func.replace(body=changed, buffer_map=buffer_map)
    return LiftedCopy(lifted, _copy_function(found.block, source, target), target)


def lift_copies(func: PrimFunc, positions: Iterable[int]) -> tuple[PrimFunc, dict[int, PrimFunc]]:
    """`func` without what it copies of some parameters, and the functions that copy, by position.

    Parameters that are read in another way stay as they are.
    """
    copies = {}
    for position in positions:
        lifted = lift_copy(func, func.params[position])
        if lifted is not None:
            func, copies[position] = lifted.func, lifted.copy
    return func, copies


def _only_reader(root: Block, source: Buffer) -> BlockRealize | None:
    """The block below the root that has all accesses of `source`, if it is one of its own."""
    holders = [item for item in _realized(root.body) if _mentions(item, source)]
    outside = any(isinstance(node, Var) and node is source.data for node in walk(root))
    if len(holders) != 1 or outside or holders[0].block.annotations:
        return None
    return holders[0]


def _realized(stmt: Stmt) -> list[BlockRealize]:
    """The outermost blocks below a statement."""
    if isinstance(stmt, BlockRealize):
        return [stmt]
    return [
        found for part in stmt.children() if isinstance(part, Stmt) for found in _realized(part)
    ]


def _mentions(stmt: Stmt, buffer: Buffer) -> bool:
    return any(
        getattr(node, "buffer", None) is not None and node.buffer.data is buffer.data  # type: ignore[attr-defined]
        for node in walk(stmt)
    )


def _only_target(root: Block, reader: BlockRealize, source: Buffer) -> Buffer | None:
    """The buffer that `reader` alone writes, each element from those of `source` alone."""
    block = reader.block
    if block_kind(block) is not BlockKind.COMPLETE or not isinstance(block.body, BufferStore):
        return None
    target = block.body.buffer
    iterators = {item.var for item in block.iter_vars}
    for node in walk(block.body):
        if isinstance(node, BufferLoad) and node.buffer is not source:
            return None
        if isinstance(node, Var) and node not in iterators:
            return None
        if isinstance(node, Call) and not isinstance(node.op, Op):
            return None
    stores = [
        node
        for node in walk(root.body)
        if isinstance(node, BufferStore) and node.buffer.data is target.data
    ]
    allocated = any(buffer is target for buffer in root.alloc_buffers)
    plain = target.scope() == "global" and not target.strides
    return target if len(stores) == 1 and allocated and plain else None


class _Without(Rewriter):
    """Removes a block with the loops that have nothing else in them."""

    def __init__(self, removed: BlockRealize) -> None:
        self._removed = removed

    def BlockRealize(self, realize: BlockRealize) -> Stmt:
        return nop() if realize is self._removed else realize

    def For(self, loop: For) -> Stmt:
        changed = loop.map_children(self)
        return changed if changed is loop or not _is_nothing(changed.body) else nop()

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        changed = stmt.map_children(self)
        parts = [part for part in (changed.then_case, changed.else_case) if part is not None]
        return changed if changed is stmt or not all(map(_is_nothing, parts)) else nop()

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        changed = stmt.map_children(self)
        if changed is stmt:
            return stmt
        return seq(part for part in changed.seq if not _is_nothing(part))


def _is_nothing(stmt: Stmt) -> bool:
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)


def _copy_function(block: Block, source: Buffer, target: Buffer) -> PrimFunc:
    """The function that runs all instances of a block."""
    own = {old: _fresh(old) for old in (source, target)}
    loops = [Var(item.var.name, item.var.dtype) for item in block.iter_vars]
    values: tuple[Expr, ...] = tuple(loops)
    inner = block.replace(key=None)
    body: Stmt = BlockRealize(values, IntImm(BOOL, 1), inner)
    for var, item in zip(reversed(loops), reversed(block.iter_vars), strict=True):
        assert item.dom is not None
        body = For(var, item.dom.min, item.dom.extent, ForKind.SERIAL, body)
    body = copied(body, str, buffers=own, keyed=False)
    root = BlockRealize((), IntImm(BOOL, 1), Block((), (), (), "root", body))
    handles = {Var(f"var_{buffer.name}", HANDLE): buffer for buffer in own.values()}
    return PrimFunc(tuple(handles), root, None, handles, attributes({"tir.noalias": True}))


def _fresh(buffer: Buffer) -> Buffer:
    return buffer.replace(data=buffer.data.replace())
