"""Every buffer access becomes an access of one-dimensional memory.

Strides and the offset of the first element go into the index, which is multiplied out. Buffers of
bool become buffers of int8, one byte per element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tilewright.ir.arithmetic import floordiv, minimum
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import INT8, INT32, INT64, DType, PointerType, PrimType
from tilewright.ir.expr import Broadcast, Call, Cast, Expr, IntImm, Ramp, Var, is_const_int
from tilewright.ir.op import Op
from tilewright.tir.buffer import ZERO, Buffer, BufferLoad, storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.memory import prefetch_address
from tilewright.tir.stmt import (
    Allocate,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    Prefetch,
    Stmt,
)
from tilewright.tir.transform.analysis.affine import expand
from tilewright.tir.transform.analysis.ranges import Ranges
from tilewright.tir.transform.building.allocations import compact_strides, element_count, span
from tilewright.tir.transform.building.folding import FoldingRewriter
from tilewright.tir.transform.machine import LINE_BYTES


def flatten_buffers(func: PrimFunc) -> PrimFunc:
    """`func` in which all accesses have one index; the buffers of the parameters stay as they are.

    The index is int32 if every element of the buffer has a position below 2**31 and nothing in the
    index is int64, else int64.
    """
    return func.with_body(_Flattening()(func.body))


class _Flattening(FoldingRewriter):
    def __init__(self) -> None:
        FoldingRewriter.__init__(self)
        self._pointers: dict[Var, Var] = {}
        self._strides: dict[Buffer, tuple[Expr, ...]] = {}
        self._ranges = Ranges()

    def map_buffer(self, buffer: Buffer) -> Buffer:
        """The flat view of the memory of `buffer`."""
        dtype = INT8.with_lanes(buffer.dtype.lanes) if buffer.dtype.is_bool else buffer.dtype
        pointer = self._pointers.get(buffer.data, buffer.data)
        if _is_flat(buffer) and dtype is buffer.dtype and pointer is buffer.data:
            return buffer
        return Buffer(
            pointer, dtype, (expand(span(buffer)),), buffer.name,
            data_alignment=buffer.data_alignment,
        )  # fmt: skip

    def Var(self, var: Var) -> Expr:
        return self._pointers.get(var, var)

    def For(self, loop: For) -> Stmt:
        minimum, extent = self(loop.min), self(loop.extent)
        self._ranges.bind(loop.loop_var, minimum, extent)
        body = self(loop.body)
        if minimum is loop.min and extent is loop.extent and body is loop.body:
            return loop
        return loop.replace(min=minimum, extent=extent, body=body)

    def under(self, condition: Expr, stmt: Stmt) -> Stmt:
        with self._ranges.assuming(condition):
            return self(stmt)

    # --- accesses ---------------------------------------------------------------------------

    def BufferLoad(self, load: BufferLoad) -> Expr:
        flat = self._flat_load(load)
        return cast(load.dtype, flat) if load.buffer.dtype.is_bool else flat

    def _flat_load(self, load: BufferLoad) -> BufferLoad:
        buffer, indices = self.buffer(load.buffer), self._flat_index(load)
        predicate = None if load.predicate is None else self(load.predicate)
        if (
            buffer is load.buffer
            and predicate is load.predicate
            and len(load.indices) == 1
            and indices[0] is load.indices[0]
        ):
            return load
        return BufferLoad(buffer, indices, predicate, load.span)

    def Call(self, call: Call) -> Expr:
        if isinstance(call.op, Op) and call.op.name == "tir.address_of":
            # Its argument names a place: it must stay a load, also of a bool.
            args = (self._flat_load(call.args[0]), *map(self, call.args[1:]))  # type: ignore[arg-type]
            return call.replace(args=args)
        return call.map_children(self)

    def BufferStore(self, store: BufferStore) -> Stmt:
        buffer, indices = self.buffer(store.buffer), self._flat_index(store)
        value = self(store.value)
        predicate = None if store.predicate is None else self(store.predicate)
        if store.buffer.dtype.is_bool:
            value = Cast(INT8.with_lanes(value.dtype.lanes), value)
        if (
            buffer is store.buffer
            and value is store.value
            and predicate is store.predicate
            and len(store.indices) == 1
            and indices[0] is store.indices[0]
        ):
            return store
        return BufferStore(buffer, value, indices, predicate, store.span)

    def _flat_index(self, access: BufferLoad | BufferStore) -> tuple[Expr]:
        indices = tuple(self(index) for index in access.indices)
        buffer = access.buffer
        if len(indices) == 1 and _is_flat(buffer):
            return (self._ranges.simplify_index(indices[0]),)
        strides = self._strides.get(buffer)
        if strides is None:
            strides = self._strides[buffer] = buffer.strides or compact_strides(buffer.shape)
        if buffer.buffer_type == "auto_broadcast":
            strides = tuple(
                const(0, stride.dtype) if is_const_int(extent, 1) else stride
                for extent, stride in zip(buffer.shape, strides, strict=True)
            )
        dtype = _index_dtype(buffer, (*indices, *strides, buffer.elem_offset))
        position: Expr = cast(dtype, buffer.elem_offset)
        lanes = 1
        for index in indices:
            lanes = max(lanes, index.dtype.lanes)
        if lanes > 1:
            simplify = self._ranges.simplify_index
            return (_vector_position(indices, strides, position, lanes, simplify),)
        for index, stride in zip(indices, strides, strict=True):
            position = as_expr(position + cast(dtype, index) * cast(dtype, stride))
        return (self._ranges.simplify_index(position),)

    # --- memory -----------------------------------------------------------------------------

    def Allocate(self, stmt: Allocate) -> Stmt:
        dtype, var = stmt.dtype, stmt.buffer_var
        if dtype.is_bool:
            dtype = INT8.with_lanes(dtype.lanes)
            scope = storage_scope(var)
            var = Var(var.name, var.dtype, PointerType(PrimType(dtype), scope))
            self._pointers[stmt.buffer_var] = var
        total = expand(element_count(tuple(self(extent) for extent in stmt.extents)))
        body = self(stmt.body)
        if body is stmt.body and len(stmt.extents) == 1 and var is stmt.buffer_var:
            return stmt
        return stmt.replace(buffer_var=var, dtype=dtype, extents=(total,), body=body)

    def DeclBuffer(self, declaration: DeclBuffer) -> Stmt:
        return self(declaration.body)

    def Prefetch(self, prefetch: Prefetch) -> Stmt:
        return self(prefetch_lines(prefetch))


def _is_flat(buffer: Buffer) -> bool:
    compact = not buffer.strides or is_const_int(buffer.strides[0], 1)
    return len(buffer.shape) == 1 and compact and is_const_int(buffer.elem_offset, 0)


def _index_dtype(buffer: Buffer, parts: Iterable[Expr]) -> DType:
    """int64 if anything that goes into the index is, or if a position may exceed int32."""
    if any(part.dtype.element is INT64 for part in parts):
        return INT64
    if any(extent.dtype is INT64 for extent in buffer.shape):
        return INT64
    if not all(isinstance(size, IntImm) for size in (*buffer.shape, *buffer.strides)):
        return INT32  # which a compiled function checks of its arguments and of what it allocates
    size = span(buffer.replace(elem_offset=ZERO))
    return INT64 if isinstance(size, IntImm) and size.value > INT32.max_int else INT32


def _vector_position(
    indices: tuple[Expr, ...],
    strides: tuple[Expr, ...],
    start: Expr,
    lanes: int,
    simplify: Callable[[Expr], Expr],
) -> Expr:
    """The positions of the lanes of an access with vectors among its indices."""
    dtype = start.dtype
    base: Expr = start
    step: Expr = const(0, dtype)
    other: Expr | None = None
    for index, stride in zip(indices, strides, strict=True):
        scale = cast(dtype, stride)
        if isinstance(index, Ramp):
            base = as_expr(base + cast(dtype, index.base) * scale)
            step = as_expr(step + cast(dtype, index.stride) * scale)
        elif isinstance(index, Broadcast) or index.dtype.lanes == 1:
            scalar = index.value if isinstance(index, Broadcast) else index
            base = as_expr(base + cast(dtype, scalar) * scale)
        else:
            term = as_expr(cast(dtype.with_lanes(lanes), index) * scale)
            other = term if other is None else as_expr(other + term)
    base = simplify(base)
    if is_const_int(step, 0):
        uniform: Expr = Broadcast(base, lanes)
    else:
        uniform = Ramp(base, expand(step), lanes)
    return uniform if other is None else as_expr(uniform + other)


def prefetch_lines(prefetch: Prefetch) -> Stmt:
    """Loops that prefetch each cache line of each row of the region.

    Where a row begins within a line is not known, so its last element is asked for, too.
    """
    buffer = prefetch.buffer
    per_line = max(LINE_BYTES * 8 // (buffer.dtype.bits * buffer.dtype.lanes), 1)
    loops: list[tuple[Var, Expr]] = []
    indices: list[Expr] = []
    for number, bound in enumerate(prefetch.bounds):
        dtype = bound.extent.dtype
        var = Var(f"ax{number}", dtype)
        if number < len(prefetch.bounds) - 1:
            extent, step = bound.extent, as_expr(var)
        else:
            last = as_expr(bound.extent - 1)
            extent = as_expr(floordiv(as_expr(last + (per_line - 1)), const(per_line, dtype)) + 1)
            step = minimum(as_expr(var * per_line), last)
        loops.append((var, extent))
        indices.append(as_expr(bound.min + step))
    body: Stmt = Evaluate(prefetch_address(BufferLoad(buffer, tuple(indices))))
    for var, extent in reversed(loops):
        body = For(var, const(0, var.dtype), extent, ForKind.SERIAL, body)
    return body
