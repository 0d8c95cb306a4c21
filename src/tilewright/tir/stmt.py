"""Statements of tensor programs."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from tilewright.ir.convert import EMPTY, Attributes
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, StringImm, Var
from tilewright.ir.node import Node, Span, attr, binds, child, meta, node, use
from tilewright.tir.buffer import Buffer, BufferRegion, MatchBufferRegion, Range
from tilewright.tir.expr import IterVar


class Stmt(Node):
    """Base class of statements."""

    __slots__ = ()
    span: Span | None


class ForKind(enum.IntEnum):
    """How the iterations of a loop run."""

    SERIAL = 0
    PARALLEL = 1
    """On several threads."""
    VECTORIZED = 2
    """As the lanes of vector instructions."""
    UNROLLED = 3
    """The body is repeated."""
    THREAD_BINDING = 4
    """One per GPU thread or block."""

    @property
    def is_in_order(self) -> bool:
        """Whether an iteration is done when the next one begins."""
        return self in (ForKind.SERIAL, ForKind.UNROLLED)


@node
class LetStmt(Stmt):
    """`body` in which `var` stands for `value`."""

    var: Var = binds()
    value: Expr = child()
    body: Stmt = child()
    span: Span | None = meta(default=None)


@node
class AttrStmt(Stmt):
    """`body` with the attribute `attr_key` of `node` set to `value` (pragmas, thread extents)."""

    node: Any = use()
    attr_key: str = attr()
    value: Expr = child()
    body: Stmt = child()
    span: Span | None = meta(default=None)


@node
class AssertStmt(Stmt):
    """Stop with `message` unless `condition` holds; then `body`."""

    condition: Expr = child()
    message: StringImm = child()
    body: Stmt = child()
    span: Span | None = meta(default=None)


@node
class BufferStore(Stmt):
    """``buffer[indices] = value``, where `predicate` holds if there is one."""

    buffer: Buffer = use()
    value: Expr = child()
    indices: tuple[Expr, ...] = child()
    predicate: Expr | None = child(default=None)
    span: Span | None = meta(default=None)


@node
class BufferRealize(Stmt):
    """`body` with memory for the box `bounds` of `buffer`, where `condition` holds."""

    buffer: Buffer = use()
    bounds: tuple[Range, ...] = child()
    condition: Expr = child()
    body: Stmt = child()
    span: Span | None = meta(default=None)


@node
class Allocate(Stmt):
    """`body` with `buffer_var` pointing to memory for ``prod(extents)`` elements of `dtype`."""

    buffer_var: Var = binds()
    dtype: DType = attr()
    extents: tuple[Expr, ...] = child()
    condition: Expr = child()
    body: Stmt = child()
    annotations: Attributes = attr(default=EMPTY)
    span: Span | None = meta(default=None)


@node
class AllocateConst(Stmt):
    """`body` with `buffer_var` pointing to the constant array `data` (a numpy array)."""

    buffer_var: Var = binds()
    dtype: DType = attr()
    extents: tuple[Expr, ...] = child()
    data: Any = attr()
    body: Stmt = child()
    annotations: Attributes = attr(default=EMPTY)
    span: Span | None = meta(default=None)


@node
class DeclBuffer(Stmt):
    """`body` in which `buffer` is a view of memory that exists already."""

    buffer: Buffer = binds()
    body: Stmt = child()
    span: Span | None = meta(default=None)


@node
class SeqStmt(Stmt):
    """Statements one after the other."""

    seq: tuple[Stmt, ...] = child()
    span: Span | None = meta(default=None)

    def __getitem__(self, position: int) -> Stmt:
        return self.seq[position]

    def __len__(self) -> int:
        return len(self.seq)


@node
class IfThenElse(Stmt):
    """`then_case` if `condition` holds, else `else_case`."""

    condition: Expr = child()
    then_case: Stmt = child()
    else_case: Stmt | None = child(default=None)
    span: Span | None = meta(default=None)


@node
class Evaluate(Stmt):
    """Evaluate `value` for its effect."""

    value: Expr = child()
    span: Span | None = meta(default=None)


@node
class For(Stmt):
    """``for loop_var in kind(min, min + extent): body``."""

    loop_var: Var = binds()
    min: Expr = child()
    extent: Expr = child()
    kind: ForKind = attr()
    body: Stmt = child()
    thread_binding: IterVar | None = child(default=None)
    annotations: Attributes = attr(default=EMPTY)
    span: Span | None = meta(default=None)


@node
class While(Stmt):
    """`body` again and again while `condition` holds."""

    condition: Expr = child()
    body: Stmt = child()
    span: Span | None = meta(default=None)


@node
class Prefetch(Stmt):
    """Bring the region `bounds` of `buffer` into the cache."""

    buffer: Buffer = use()
    bounds: tuple[Range, ...] = child()
    span: Span | None = meta(default=None)


class BlockKey:
    """The identity of a block in a schedule: stays the same while the block is rewritten."""

    __slots__ = ()


@node
class Block(Stmt):
    """A computation that is isolated from the loops around it.

    Its body mentions only its own iterators; `BlockRealize` binds them to loop variables.

    Attributes:
        iter_vars: iterators with their domains and types.
        reads: what one instance reads, in terms of the iterators.
        writes: what one instance writes.
        name_hint: the name by which schedules find it.
        body: the computation of one instance.
        init: for reductions, what runs before the first instance that updates an element.
        alloc_buffers: buffers that live inside the block.
        match_buffers: views of sub-regions.
        annotations: hints for schedules and passes.
        key: in a function that is being scheduled, what identifies the block; rewriting keeps it.
    """

    __compare_first__ = ("iter_vars", "alloc_buffers", "match_buffers")

    iter_vars: tuple[IterVar, ...] = child()
    reads: tuple[BufferRegion, ...] = child()
    writes: tuple[BufferRegion, ...] = child()
    name_hint: str = meta()
    body: Stmt = child()
    init: Stmt | None = child(default=None)
    alloc_buffers: tuple[Buffer, ...] = binds(default=())
    match_buffers: tuple[MatchBufferRegion, ...] = child(default=())
    annotations: Attributes = attr(default=EMPTY)
    span: Span | None = meta(default=None)
    key: BlockKey | None = meta(default=None)


@node
class BlockRealize(Stmt):
    """One instance of `block` where `predicate` holds, its iterators set to `iter_values`."""

    iter_values: tuple[Expr, ...] = child()
    predicate: Expr = child()
    block: Block = child()
    span: Span | None = meta(default=None)


def seq(*stmts: Stmt | Iterable[Stmt] | None) -> Stmt:
    """The statements one after the other, nested sequences flattened and None left out.

    A single statement stays alone; no statement at all is ``evaluate(0)``.
    """
    flat: list[Stmt] = []
    for item in stmts:
        if item is None:
            continue
        for stmt in (item,) if isinstance(item, Stmt) else item:
            flat.extend(stmt.seq if isinstance(stmt, SeqStmt) else (stmt,))
    if len(flat) == 1:
        return flat[0]
    return SeqStmt(tuple(flat)) if flat else nop()


def nop() -> Stmt:
    """A statement that does nothing."""
    from tilewright.tir.buffer import ZERO

    return Evaluate(ZERO)
