"""Statements to lines of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.error import InterpreterError, ProgramAssertionError
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.rewrite import NodeMethods
from tilewright.tir.buffer import Buffer, MatchBufferRegion
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.interpreter.calls import ProgramError
from tilewright.tir.interpreter.emitter import Emitter
from tilewright.tir.interpreter.expression import (
    ExpressionCompiler,
    is_scalar_access,
    vector_lanes,
)
from tilewright.tir.interpreter.memory import (
    BufferView,
    Memory,
    Pointer,
    access,
    allocate,
    compact_strides,
)
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Prefetch,
    SeqStmt,
    Stmt,
    While,
)
from tilewright.tir.transform.building.empty_reductions import initialisation_of


class StatementCompiler(NodeMethods):
    """Appends statements to an emitter.

    Args:
        emitter: where the lines go.
        implicit: for each pointer, the buffers on it that no statement declares.
        check_reads: whether reading memory before it is written is an error.
        reverse_parallel: whether the iterations of parallel loops run in reverse order.
    """

    def __init__(
        self,
        emitter: Emitter,
        implicit: dict[Var, list[Buffer]],
        check_reads: bool,
        reverse_parallel: bool,
    ) -> None:
        self.emitter = emitter
        self.expressions = ExpressionCompiler(emitter)
        self.implicit = implicit
        self.check_reads = check_reads
        self.reverse_parallel = reverse_parallel

    def statement(self, stmt: Stmt) -> None:
        """Append the lines of `stmt`."""
        method = self._hooks.get(stmt.__class__)
        if method is None:
            raise InterpreterError(f"{type(stmt).__name__} cannot be executed:\n{stmt!r}")
        if stmt.__class__ is SeqStmt:
            method(self, stmt)
            return
        with self.emitter.place(stmt):
            method(self, stmt)

    def _text(self, expr: Expr) -> str:
        return self.expressions.text(expr)

    def _tuple(self, exprs: tuple[Expr, ...]) -> str:
        return f"({''.join(f'{self._text(expr)}, ' for expr in exprs)})"

    def _function(self, value: Any) -> str:
        return self.expressions.function(value, getattr(value, "__name__", "constant"))

    # --- memory -----------------------------------------------------------------------------

    def pointer(self, var: Var, text: str) -> None:
        """Bind a pointer to memory, and the buffers on it that are declared nowhere."""
        self.emitter.line(f"{self.emitter.bind(var)} = {text}")
        self.bind_implicit(var)

    def bind_implicit(self, var: Var) -> None:
        """Bind the undeclared buffers on a pointer that has just been bound."""
        for buffer in self.implicit.get(var, ()):
            if buffer not in self.emitter.buffers:
                self.declare(buffer)

    def declare(self, buffer: Buffer) -> None:
        """Bind a buffer on memory whose pointer is in scope."""
        shape, strides = self._tuple(buffer.shape), self._tuple(buffer.strides)
        self.bind_access(buffer, shape, strides, self._text(buffer.elem_offset))

    def bind_access(self, buffer: Buffer, shape: str, strides: str, offset: str) -> None:
        """Bind the accessors of a buffer, given the text of its layout."""
        name = self.emitter.fresh(buffer.name)
        pointer = self._text(buffer.data)
        dtype = self.expressions.function(buffer.dtype, "dtype")
        self.emitter.buffers[buffer] = name
        self.emitter.line(
            f"{name}_get, {name}_set, {name}_view = {self._function(access)}"
            f"({buffer.name!r}, {dtype}, {pointer}, {shape}, {strides}, {offset})"
        )

    def _allocate_buffer(self, buffer: Buffer) -> None:
        dtype = self.expressions.function(buffer.dtype, "dtype")
        shape, strides = self._tuple(buffer.shape), self._tuple(buffer.strides)
        count = f"{self._function(_span)}({shape}, {strides}) + {self._text(buffer.elem_offset)}"
        self.pointer(
            buffer.data, f"{self._function(allocate)}({dtype}, {count}, {self.check_reads})"
        )
        if buffer not in self.emitter.buffers:
            self.declare(buffer)

    def Allocate(self, stmt: Allocate) -> None:
        dtype = self.expressions.function(stmt.dtype, "dtype")
        count = " * ".join(self._text(extent) for extent in stmt.extents) or "1"
        self.pointer(
            stmt.buffer_var, f"{self._function(allocate)}({dtype}, {count}, {self.check_reads})"
        )
        self.statement(stmt.body)

    def AllocateConst(self, stmt: AllocateConst) -> None:
        import numpy as np

        data = np.ascontiguousarray(np.asarray(stmt.data)).reshape(-1).view(np.uint8)
        self.pointer(stmt.buffer_var, self.expressions.function(Pointer(Memory(data), 0), "data"))
        self.statement(stmt.body)

    def DeclBuffer(self, stmt: DeclBuffer) -> None:
        self.declare(stmt.buffer)
        self.statement(stmt.body)

    def BufferStore(self, stmt: BufferStore) -> None:
        name = self.expressions.buffer(stmt.buffer)
        value = self._text(stmt.value)
        if is_scalar_access(stmt.indices):
            indices = "".join(f"{self._text(index)}, " for index in stmt.indices)
            store = f"{name}_set({indices}{value})"
            if stmt.predicate is not None:
                store = f"if {self._text(stmt.predicate)}: {store}"
            self.emitter.line(store)
            return
        lanes = vector_lanes(stmt.indices)
        mask = "None" if stmt.predicate is None else self.expressions.lanes(stmt.predicate)
        scatter, width = self._function(_scatter), stmt.buffer.dtype.lanes
        arguments = f"[{self.expressions.index_lists(stmt.indices)}], {value}"
        self.emitter.line(f"{scatter}({name}_set, {arguments}, {lanes}, {width}, {mask})")

    # --- control ----------------------------------------------------------------------------

    def SeqStmt(self, stmt: SeqStmt) -> None:
        for item in stmt.seq:
            self.statement(item)

    def LetStmt(self, stmt: LetStmt) -> None:
        value = self.expressions.code(stmt.value)
        name = self.emitter.bind(stmt.var, value.low, value.high)
        self.emitter.line(f"{name} = {value.text}")
        if stmt.var.dtype.is_handle:
            self.bind_implicit(stmt.var)
        self.statement(stmt.body)

    def AttrStmt(self, stmt: AttrStmt) -> None:
        is_thread = stmt.attr_key in ("thread_extent", "virtual_thread")
        var = stmt.node.var if isinstance(stmt.node, IterVar) else stmt.node
        if not is_thread or not isinstance(var, Var) or var in self.emitter.variables:
            self.statement(stmt.body)
            return
        self._loop(var, IntImm(var.dtype, 0), stmt.value, stmt.body, "{}")

    def For(self, stmt: For) -> None:
        is_reversed = self.reverse_parallel and stmt.kind is ForKind.PARALLEL
        self._loop(stmt.loop_var, stmt.min, stmt.extent, stmt.body,
                   "reversed({})" if is_reversed else "{}")  # fmt: skip
        initialisation = initialisation_of(stmt)
        if initialisation is not None:
            with self.emitter.block(f"if {self._text(stmt.extent)} <= 0:"):
                self.statement(initialisation)

    def _loop(self, var: Var, begin: Expr, extent: Expr, body: Stmt, order: str) -> None:
        low, size = self.expressions.code(begin), self.expressions.code(extent)
        high = None if low.high is None or size.high is None else low.high + size.high - 1
        values = f"{self._function(_iterations)}({low.text}, {size.text})"
        name = self.emitter.bind(var, low.low, high)
        with self.emitter.block(f"for {name} in {order.format(values)}:", is_loop=True):
            self.statement(body)

    def While(self, stmt: While) -> None:
        with self.emitter.block(f"while {self._text(stmt.condition)}:", is_loop=True):
            self.statement(stmt.body)

    def IfThenElse(self, stmt: IfThenElse) -> None:
        with self.emitter.block(f"if {self._text(stmt.condition)}:"):
            self.statement(stmt.then_case)
        if stmt.else_case is not None:
            with self.emitter.block("else:"):
                self.statement(stmt.else_case)

    def AssertStmt(self, stmt: AssertStmt) -> None:
        check = self._function(_check_assertion)
        self.emitter.line(f"{check}({self._text(stmt.condition)}, {stmt.message.value!r})")
        self.statement(stmt.body)

    def Evaluate(self, stmt: Evaluate) -> None:
        self.emitter.line(self._text(stmt.value))

    def Prefetch(self, stmt: Prefetch) -> None:
        del stmt
        self.emitter.line("pass")

    # --- blocks -----------------------------------------------------------------------------

    def BlockRealize(self, stmt: BlockRealize) -> None:
        if len(stmt.iter_values) != len(stmt.block.iter_vars):
            raise InterpreterError(
                f"block {stmt.block.name_hint} has {len(stmt.block.iter_vars)} iterators, "
                f"but {len(stmt.iter_values)} values are bound"
            )
        predicate = self._text(stmt.predicate)
        if predicate == "True":
            self._instance(stmt)
            return
        with self.emitter.block(f"if {predicate}:"):
            self._instance(stmt)

    def _instance(self, stmt: BlockRealize) -> None:
        block = stmt.block
        names, starts = [], []
        for iterator, value in zip(block.iter_vars, stmt.iter_values, strict=True):
            name, start = self._bind_iterator(block, iterator, value)
            names.append(name)
            if iterator.iter_type is IterType.COMM_REDUCE:
                starts.append(f"{name} == {start}")
        for buffer in block.alloc_buffers:
            self._allocate_buffer(buffer)
        for match in block.match_buffers:
            self._match(match)
        if block.init is not None:
            with self.emitter.block(f"if {' and '.join(starts) or 'True'}:"):
                self.statement(block.init)
        self.statement(block.body)

    def _bind_iterator(self, block: Block, iterator: IterVar, value: Expr) -> tuple[str, str]:
        """Bind a block iterator to a value in its domain; its name, and the domain's start."""
        if iterator.dom is None:
            raise InterpreterError(f"iterator {iterator.name} of {block.name_hint} has no domain")
        code = self.expressions.code(value)
        low = self.expressions.code(iterator.dom.min)
        size = self.expressions.code(iterator.dom.extent)
        high = None if low.high is None or size.high is None else low.high + size.high - 1
        name = self.emitter.bind(iterator.var, low.low, high)
        self.emitter.line(f"{name} = {code.text}")
        proven = low.low is not None and low.low == low.high
        proven = proven and size.low is not None and size.low == size.high
        proven = proven and code.low is not None and code.high is not None
        if not proven or code.low < low.low or code.high > high:  # type: ignore[operator]
            check = self._function(_check_iterator)
            what = f"{block.name_hint!r}, {iterator.name!r}"
            self.emitter.line(f"{check}({what}, {name}, {low.text}, {size.text})")
        return name, low.text

    def _match(self, match: MatchBufferRegion) -> None:
        """Bind a view of a region: its pointer, and the variables of its layout."""
        source, view = match.source.buffer, match.buffer
        begin = self._tuple(tuple(r.min for r in match.source.region))
        extents = self._tuple(tuple(r.extent for r in match.source.region))
        name = self.expressions.buffer(source)
        region = self.emitter.fresh(f"{view.name}_region")
        make = self._function(_region)
        self.emitter.line(f"{region} = {make}({name}_view, {begin}, {extents}, {view.ndim})")
        for position, extent in enumerate(view.shape):
            self.bind_or_check(extent, f"{region}.shape[{position}]", f"{view.name}.shape")
        for position, stride in enumerate(view.strides):
            self.bind_or_check(stride, f"{region}.strides[{position}]", f"{view.name}.strides")
        self.bind_or_check(view.elem_offset, f"{region}.elem_offset", "", check=False)
        pointer = f"{self._function(_rebase)}({region}, {self._text(view.elem_offset)})"
        if view.data in self.emitter.variables:
            raise InterpreterError(f"the pointer of {view.name} is bound twice")
        self.emitter.line(f"{self.emitter.bind(view.data)} = {pointer}")
        strides = self._tuple(view.strides) if view.strides else f"{region}.strides"
        if not view.strides:
            check = self._function(_check_compact)
            self.emitter.line(f"{check}({view.name!r}, {region})")
        self.bind_access(view, self._tuple(view.shape), strides, self._text(view.elem_offset))

    def bind_or_check(self, expr: Expr, text: str, what: str, check: bool = True) -> None:
        """Bind an unbound variable to the value `text`, or check that `expr` has it."""
        if isinstance(expr, Var) and expr not in self.emitter.variables:
            self.emitter.line(f"{self.emitter.bind(expr)} = {text}")
        elif check:
            function = self._function(_check_equal)
            self.emitter.line(f"{function}({what!r}, {text}, {self._text(expr)})")


# --- what the generated lines call ------------------------------------------------------------


def _iterations(begin: int, extent: int) -> range:
    return range(begin, begin + extent)


def _span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The number of elements from the first to the last of a layout."""
    if 0 in shape:
        return 0
    steps = strides or compact_strides(shape)
    return 1 + sum((extent - 1) * step for extent, step in zip(shape, steps, strict=True))


def _scatter(
    store: Callable[..., None],
    indices: list[list[int]],
    value: Any,
    lanes: int,
    width: int,
    mask: list[bool] | None,
) -> None:
    """Store one element of `width` lanes per index; a mask may switch elements off."""
    for lane in range(lanes):
        if mask is None or mask[lane]:
            element = value[lane] if width == 1 else value[lane * width : (lane + 1) * width]
            store(*(index[lane] for index in indices), element)


def _check_assertion(condition: bool, message: str) -> None:
    if not condition:
        raise ProgramError(ProgramAssertionError(message))


def _check_iterator(block: str, name: str, value: int, low: int, extent: int) -> None:
    if not low <= value < low + extent:
        raise InterpreterError(
            f"iterator {name} of block {block!r} is bound to {value}, outside of its domain "
            f"from {low} to before {low + extent}"
        )


def _check_equal(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise InterpreterError(f"{what} is {found} where {expected} was declared")


def _region(
    source: BufferView, begin: tuple[int, ...], extents: tuple[int, ...], rank: int
) -> BufferView:
    """The box of a buffer as a view of `rank` dimensions: leading extents of 1 may go."""
    for low, size, limit in zip(begin, extents, source.shape, strict=True):
        if low < 0 or low + size > limit:
            raise InterpreterError(
                f"region of {source.name} from {begin} of size {extents} exceeds {source.shape}"
            )
    dropped = len(extents) - rank
    if dropped < 0 or any(size != 1 for size in extents[:dropped]):
        raise InterpreterError(f"a region of size {extents} cannot be seen with rank {rank}")
    offset = source.elem_offset
    for low, step in zip(begin, source.strides, strict=True):
        offset += low * step
    return source._replace(
        shape=extents[dropped:], strides=source.strides[dropped:], elem_offset=offset
    )


def _rebase(region: BufferView, elem_offset: int) -> Pointer:
    """The pointer from which `region` starts at `elem_offset`."""
    size = region.dtype.numpy.itemsize * region.dtype.lanes
    pointer = region.pointer
    return Pointer(pointer.memory, pointer.position + (region.elem_offset - elem_offset) * size)


def _check_compact(name: str, region: BufferView) -> None:
    compact = compact_strides(region.shape)
    for extent, found, expected in zip(region.shape, region.strides, compact, strict=True):
        if extent > 1 and found != expected:
            raise InterpreterError(
                f"{name} has no strides, but the region that it matches has {region.strides}"
            )
