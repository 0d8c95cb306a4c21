"""Building statements by Python calls, mostly for the function of a `te.extern`::

    ib = tir.ir_builder.create()
    source, result = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(i > 0):
            result[i] = source[i - 1]
        with ib.else_scope():
            result[i] = 0.0
    return ib.get()

The elements of `allocate`, `pointer` and `buffer_ptr` are read and written by index; a number that
is stored is converted to the dtype of the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tilewright.error import ArgumentError, DiagnosticError, ShapeError
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import HANDLE, DType, PointerType, PrimType
from tilewright.ir.expr import Expr, Var
from tilewright.ir.range import Range
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.op.control import likely
from tilewright.tir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
    nop,
    seq,
)

_KINDS: Final = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED,
    "vectorized": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
    "unrolled": ForKind.UNROLLED,
}
"""The names of kinds of loops."""

Wrap = Callable[[Stmt], Stmt]
"""Makes a statement of the statements that follow it in its block."""


class BufferVar:
    """The elements of a buffer: ``a[i, j]`` reads and ``a[i, j] = value`` writes one.

    Where the buffer has several dimensions, a single index counts its elements in row-major order.
    """

    def __init__(self, builder: IRBuilder, buffer: Buffer) -> None:
        self._builder, self._buffer = builder, buffer

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._buffer.dtype

    def asobject(self) -> Var:
        """The pointer to the elements."""
        return self._buffer.data

    as_expr = asobject

    def __getitem__(self, index: Any) -> Expr:
        return BufferLoad(self._buffer, self._indices(index))

    def __setitem__(self, index: Any, value: object) -> None:
        buffer, indices = self._buffer, self._indices(index)
        stored = as_expr(value, buffer.dtype) if isinstance(value, (int, float)) else as_expr(value)
        lanes = indices[-1].dtype.lanes if indices else 1
        dtype = buffer.dtype.with_lanes(buffer.dtype.lanes * lanes) if lanes > 1 else buffer.dtype
        self._builder.emit(BufferStore(buffer, cast(dtype, stored), indices))

    def _indices(self, index: Any) -> tuple[Expr, ...]:
        items = tuple(map(as_expr, index if isinstance(index, (tuple, list)) else (index,)))
        shape = self._buffer.shape
        if len(items) == 1 and len(shape) > 1:
            (rest,), found = items, []
            for extent in shape[:0:-1]:
                found.append(rest % extent)
                rest = rest // extent
            return (rest, *reversed(found))
        if len(items) != len(shape):
            raise ShapeError(
                f"buffer {self._buffer.name} has {len(shape)} dimensions, got {len(items)} indices"
            )
        return items


class IRBuilder:
    """Collects statements; see the module."""

    def __init__(self) -> None:
        self._blocks: list[list[Stmt | Wrap]] = [[]]

    # --- statements ---------------------------------------------------------------------------

    def emit(self, stmt: Any) -> None:
        """Add a statement, the evaluation of an expression, or a function that wraps what follows.

        Raises:
            ArgumentError: for anything else.
        """
        if isinstance(stmt, Expr):
            stmt = Evaluate(stmt)
        if not isinstance(stmt, Stmt) and not callable(stmt):
            raise ArgumentError(f"ir_builder: emit takes a statement or a call, got {stmt!r}")
        part: Any = stmt
        self._blocks[-1].append(part)

    def get(self) -> Stmt:
        """All statements as one.

        Raises:
            DiagnosticError: inside of a loop or condition.
        """
        if len(self._blocks) > 1:
            raise DiagnosticError("ir_builder: get() inside of an open scope")
        return _joined(self._blocks[0])

    # --- scopes -------------------------------------------------------------------------------

    @contextmanager
    def new_scope(self) -> Iterator[None]:
        """A block of its own: what is allocated inside is there only inside."""
        with self._scope(lambda body: body):
            yield

    @contextmanager
    def for_range(
        self,
        begin: object,
        end: object,
        name: str = "i",
        dtype: str | None = None,
        kind: str = "serial",
    ) -> Iterator[Any]:
        """A loop over the integers from `begin` to before `end`; gives the loop variable.

        Args:
            begin: the first value.
            end: the value after the last one.
            name: of the loop variable.
            dtype: of the loop variable; by default that of the bounds.
            kind: ``"serial"``, ``"parallel"``, ``"vectorize"`` or ``"unroll"``.

        Raises:
            ArgumentError: for another kind.
        """
        if kind not in _KINDS:
            raise ArgumentError(f"for_range: the kind is one of {sorted(_KINDS)}, got {kind!r}")
        dom = Range.from_bounds(begin, end)
        chosen = DType(dtype) if dtype is not None else (dom.min + dom.extent).dtype
        var = Var(name, chosen)
        low, extent = cast(chosen, dom.min), cast(chosen, dom.extent)
        with self._scope(lambda body: For(var, low, extent, _KINDS[kind], body)):
            yield var

    @contextmanager
    def while_loop(self, condition: object) -> Iterator[None]:
        """A loop that goes on while `condition` holds."""
        test = as_expr(condition)
        with self._scope(lambda body: While(test, body)):
            yield

    @contextmanager
    def if_scope(self, cond: object) -> Iterator[None]:
        """What runs only if `cond` holds."""
        test = as_expr(cond)
        with self._scope(lambda body: IfThenElse(test, body)):
            yield

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """What runs if the condition of the `if_scope` just before does not hold.

        Raises:
            DiagnosticError: if there is none.
        """
        block = self._blocks[-1]
        before = block[-1] if block else None
        if not isinstance(before, IfThenElse) or before.else_case is not None:
            raise DiagnosticError("ir_builder: else_scope follows directly after an if_scope")
        block.pop()
        with self._scope(lambda body: before.replace(else_case=body)):
            yield

    @contextmanager
    def _scope(self, finish: Wrap) -> Iterator[None]:
        depth = len(self._blocks)
        self._blocks.append([])
        try:
            yield
        except BaseException:
            del self._blocks[depth:]
            raise
        self.emit(finish(_joined(self._blocks.pop())))

    # --- what holds for the rest of a block ---------------------------------------------------

    def scope_attr(self, node: Any, attr_key: str, value: object) -> None:
        """Mark the statements that follow; a thread axis is bound to its extent.

        Args:
            node: what the mark is about, such as a `te.thread_axis`.
            attr_key: what it says, such as ``"thread_extent"``.
            value: a number, string or expression.
        """
        if isinstance(node, BufferVar):
            node = node.asobject()
        mark = as_expr(value)
        if attr_key == "thread_extent" and isinstance(node, IterVar):
            node = _thread(node, mark)
        self.emit(lambda body: AttrStmt(node, attr_key, mark, body))

    def let(self, var_name: str, value: object) -> Var:
        """A variable for the statements that follow, with the value of an expression."""
        expr = as_expr(value)
        var = Var(var_name, expr.dtype)
        self.emit(lambda body: LetStmt(var, expr, body))
        return var

    def allocate(
        self,
        dtype: str,
        shape: Any,
        name: str = "buf",
        axis_separators: Any = None,
        scope: str = "",
    ) -> BufferVar:
        """Memory for the statements that follow.

        Args:
            dtype: of the elements.
            shape: extents; one may stand alone.
            name: of the memory.
            axis_separators: dimensions at which a new physical axis starts.
            scope: the kind of memory, ``"global"`` by default.
        """
        buffer = decl_buffer(shape, dtype, name, scope=scope, axis_separators=axis_separators)
        condition = const(True)
        self.emit(
            lambda body: Allocate(
                buffer.data, buffer.dtype, buffer.shape, condition, DeclBuffer(buffer, body)
            )
        )
        return BufferVar(self, buffer)

    # --- elements -----------------------------------------------------------------------------

    def buffer_ptr(self, buf: Buffer, shape: Any = None) -> BufferVar:
        """The elements of a buffer.

        Args:
            buf: the buffer.
            shape: other extents, in which its memory is seen.
        """
        if not isinstance(buf, Buffer):
            raise ArgumentError(f"buffer_ptr takes a buffer, got {buf!r}")
        if shape is None:
            return BufferVar(self, buf)
        view = decl_buffer(shape, buf.dtype, buf.name, buf.data, elem_offset=buf.elem_offset)
        self.emit(lambda body: DeclBuffer(view, body))
        return BufferVar(self, view)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """A new pointer, which something else defines, and the elements behind it."""
        element = DType(content_type)
        data = Var(name, HANDLE, PointerType(PrimType(element), scope or "global"))
        return BufferVar(self, decl_buffer([1], element, name, data))

    def likely(self, expr: object) -> Expr:
        """The condition `expr`, with the hint that it almost always holds."""
        return likely(expr)


def create() -> IRBuilder:
    """A new builder without statements."""
    return IRBuilder()


def _joined(parts: Sequence[Stmt | Wrap]) -> Stmt:
    """The statements of a block as one; those that wrap what follows do so."""
    following: list[Stmt] = []
    for part in reversed(parts):
        following = [part, *following] if isinstance(part, Stmt) else [part(_one(following))]
    return _one(following)


def _one(statements: list[Stmt]) -> Stmt:
    return seq(statements) if statements else nop()


def _thread(axis: IterVar, extent: Expr) -> IterVar:
    dom = Range.from_extent(cast(axis.var.dtype, extent))
    return IterVar(dom, axis.var, IterType.THREAD_INDEX, axis.thread_tag)
