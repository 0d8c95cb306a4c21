"""Memory for the buffers that blocks allocate."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.error import LoweringError
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import BOOL, INT32, INT64
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import ONE, Buffer, BufferLoad
from tilewright.tir.stmt import Allocate, BufferStore, Evaluate, For, ForKind, Stmt
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.statements import statements


def compact_strides(shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """The strides of a compact row-major layout, in elements."""
    strides: list[Expr] = []
    stride: Expr = ONE
    for extent in reversed(shape):
        strides.append(stride)
        stride = _product(stride, extent)
    return tuple(reversed(strides))


def element_count(shape: Sequence[Expr]) -> Expr:
    """The number of elements of a compact buffer of that shape."""
    count: Expr = ONE
    for extent in shape:
        count = _product(count, extent)
    return count


def _product(a: Expr, b: Expr) -> Expr:
    """`a * b`, as int64 where constants do not fit int32."""
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        value = a.value * b.value
        if value > INT64.max_int:
            raise LoweringError(
                f"a buffer cannot have {value} elements, which is more than any memory holds"
            )
        dtype = INT64 if INT64 in (a.dtype, b.dtype) or value > INT32.max_int else INT32
        return IntImm(dtype, value)
    return as_expr(a * b)


def span(buffer: Buffer) -> Expr:
    """How many elements there are from `data` to the end of the last element of `buffer`.

    For a compact buffer that is the number of its elements (and `elem_offset`); a dimension of
    extent 0 counts as if the others were there.
    """
    if not buffer.strides:
        return as_expr(element_count(buffer.shape) + buffer.elem_offset)
    last: Expr = buffer.elem_offset
    for extent, stride in zip(buffer.shape, buffer.strides, strict=True):
        last = as_expr(last + _product(as_expr(extent - 1), stride))
    return as_expr(last + 1)


def allocate(body: Stmt, buffers: Sequence[Buffer]) -> Stmt:
    """`body` with memory for `buffers`.

    Memory is allocated around the whole of `body`, so that loops use the same again and again. The
    iterations of a parallel loop cannot share it: a buffer that only they use, with the same
    elements in each of them, is allocated inside of the loop.
    """
    if not buffers:
        return body
    parallel = any(
        isinstance(stmt, For) and stmt.kind is ForKind.PARALLEL for stmt in statements(body)
    )
    for buffer in reversed(buffers):
        body = _allocate_privately(body, buffer) if parallel else allocation(body, buffer)
    return body


def allocation(body: Stmt, buffer: Buffer) -> Stmt:
    """`body` with memory for `buffer`."""
    extents = buffer.shape or (ONE,)
    if buffer.strides:
        extents = (span(buffer),)
    return Allocate(buffer.data, buffer.dtype, extents, const(True, BOOL), body)


def _allocate_privately(body: Stmt, buffer: Buffer) -> Stmt:
    """`body` with memory for `buffer`, in the innermost parallel loop that must have its own."""
    owner: For | None = None
    stmt: Stmt | None = body
    while stmt is not None:
        if isinstance(stmt, For) and stmt.kind is ForKind.PARALLEL:
            if _depends_on(stmt.body, buffer.data, stmt.loop_var):
                break
            owner = stmt
        users = [
            child
            for child in stmt.children()
            if isinstance(child, Stmt) and _uses(child, buffer.data)
        ]
        in_statement = isinstance(stmt, (BufferStore, Evaluate)) or len(users) != 1
        stmt = None if in_statement else users[0]
    if owner is None:
        return allocation(body, buffer)
    inside = owner.replace(body=allocation(owner.body, buffer))
    return _Replace(owner, inside)(body)


class _Replace(Rewriter):
    def __init__(self, old: For, new: For) -> None:
        self._old, self._new = old, new

    def For(self, loop: For) -> Stmt:
        return self._new if loop is self._old else loop.map_children(self)


def _uses(stmt: Stmt, data: Var) -> bool:
    return any(
        node is data or (isinstance(node, (BufferLoad, BufferStore)) and node.buffer.data is data)
        for node in walk(stmt)
    )


def _depends_on(stmt: Stmt, data: Var, var: Var) -> bool:
    """Whether the elements that `stmt` accesses depend on `var`."""
    return any(
        found is var
        for node in walk(stmt)
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.data is data
        for index in node.indices
        for found in variables_of(index)
    )
