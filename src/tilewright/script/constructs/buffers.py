"""Declaring buffers and memory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError, DiagnosticError, DTypeError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import HANDLE, DType, PointerType, PrimType
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.node import Span
from tilewright.script.builder import BlockFrame, FunctionFrame, WrapFrame, enclosing, require
from tilewright.script.builder.stack import current_span
from tilewright.script.constructs.access import PartialAccess, as_region
from tilewright.script.constructs.dtypes import as_size, as_text
from tilewright.script.constructs.function import constant_attributes
from tilewright.tir.buffer import (
    Buffer,
    BufferLoad,
    BufferRegion,
    MatchBufferRegion,
)
from tilewright.tir.buffer import (
    decl_buffer as make_buffer,
)
from tilewright.tir.stmt import Allocate, AllocateConst, DeclBuffer, Stmt


class BufferFunction:
    """`T.Buffer`: the type of a parameter, or in a body a view of existing memory."""

    __slots__ = ()
    __iter__ = None

    def __call__(
        self,
        shape: Any,
        dtype: str = "float32",
        data: Any = None,
        strides: Any = None,
        elem_offset: object = None,
        scope: str = "global",
        align: int = 0,
        offset_factor: int = 0,
        buffer_type: str = "",
        axis_separators: Any = None,
    ) -> Buffer:
        """A buffer.

        Args:
            shape: extents, outermost first.
            dtype: element type.
            data: pointer to the memory; a new one by default.
            strides: elements between neighbours per dimension; compact by default.
            elem_offset: position of the first element.
            scope: storage scope of a new pointer.
            align: alignment of the pointer in bytes.
            offset_factor: what `elem_offset` is a multiple of.
            buffer_type: ``"auto_broadcast"`` or empty.
            axis_separators: dimensions at which a new physical axis starts.
        """
        return _buffer(
            shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type,
            axis_separators,
        )  # fmt: skip

    def __getitem__(self, keys: Any) -> Buffer:
        """``T.Buffer[(n, m), "float32"]``, an older way to write the type of a parameter."""
        warnings.warn(
            "T.Buffer[shape, dtype] is deprecated: write T.Buffer(shape, dtype)",
            DeprecationWarning,
            stacklevel=2,
        )
        if not isinstance(keys, tuple):
            return self(keys)
        if len(keys) == 2 and isinstance(keys[1], str):
            return self(*keys)
        if len(keys) > 2 and isinstance(keys[1], str):
            raise ArgumentError("T.Buffer[...] takes a shape and a dtype; write T.Buffer(...)")
        return self(keys)

    def __repr__(self) -> str:
        return "T.Buffer"


BUFFER = BufferFunction()


def _buffer(
    shape: Any,
    dtype: str,
    data: Any,
    strides: Any,
    elem_offset: object,
    scope: str,
    align: int,
    offset_factor: int,
    buffer_type: str,
    axis_separators: Any,
) -> Buffer:
    if data is not None and not (isinstance(data, Var) and data.dtype.is_handle):
        raise ArgumentError(f"data= is a pointer such as A.data, got {data!r}")
    kind = "" if buffer_type == "default" else buffer_type
    if kind not in ("", "auto_broadcast"):
        raise ArgumentError(f"buffer_type= is '' or 'auto_broadcast', got {buffer_type!r}")
    return make_buffer(
        shape, DType(dtype), "", data, strides, elem_offset, as_text(scope, "the storage scope"),
        int(align), int(offset_factor), kind, axis_separators, current_span(),
    )  # fmt: skip


def match_buffer(
    param: Any,
    shape: Any = None,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: object = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Any = None,
) -> Buffer:
    """The buffer behind a handle parameter, or a view of a region inside of a block.

    Args:
        param: a parameter of type `T.handle`, or a region such as ``A[0:16, 0:16]``.
        shape: extents; new variables in it are defined by the array of the call. For a region it
            may be left out.
        dtype: element type.
        data: a variable for the pointer.
        strides: elements between neighbours per dimension.
        elem_offset: position of the first element.
        scope: storage scope.
        align: promised alignment of the pointer in bytes.
        offset_factor: what `elem_offset` is a multiple of.
        buffer_type: ``"auto_broadcast"`` or ``"default"``.
        axis_separators: dimensions at which a new physical axis starts.
    """
    layout = data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators
    if isinstance(param, Var):
        function = require(FunctionFrame, "T.match_buffer", "a function")
        _check_handle(function, param)
        if shape is None:
            raise ArgumentError("T.match_buffer needs the shape of the buffer")
        buffer = _buffer(shape, dtype, *layout)
        function.buffer_map[param] = buffer
        return buffer
    if isinstance(param, (Buffer, BufferLoad, BufferRegion, PartialAccess)):
        source = as_region(param)
        block = require(BlockFrame, "T.match_buffer of a region", "T.block")
        extents = tuple(item.extent for item in source.region) if shape is None else shape
        buffer = _buffer(extents, dtype, *layout)
        if buffer.dtype is not source.buffer.dtype:
            raise DTypeError(
                f"T.match_buffer: the view has dtype {buffer.dtype!s}, but {source.buffer.name} "
                f"has {source.buffer.dtype!s}"
            )
        block.match_buffers.append(MatchBufferRegion(buffer, source))
        return buffer
    raise ArgumentError(f"T.match_buffer expects a handle parameter or a region, got {param!r}")


def _check_handle(function: FunctionFrame, param: Var) -> None:
    if not any(param is other for other in function.params):
        raise DiagnosticError(f"T.match_buffer: `{param.name}` is not a parameter of the function")
    if not param.dtype.is_handle:
        raise DTypeError(
            f"T.match_buffer: parameter `{param.name}` has dtype {param.dtype!s}; "
            f"annotate it with T.handle"
        )
    if param in function.buffer_map:
        raise DiagnosticError(f"T.match_buffer: parameter `{param.name}` is matched already")


def alloc_buffer(
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: object = None,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "default",
    axis_separators: Any = None,
) -> Buffer:
    """A new buffer that lives in the innermost block, or in the whole function.

    Arguments are those of `match_buffer`.
    """
    frame = enclosing(BlockFrame) or require(FunctionFrame, "T.alloc_buffer", "a function")
    buffer = _buffer(
        shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type,
        axis_separators,
    )  # fmt: skip
    frame.alloc_buffers.append(buffer)
    return buffer


def _extents(extents: Any, what: str) -> tuple[Expr, ...]:
    items = extents if isinstance(extents, (tuple, list)) else (extents,)
    sizes = tuple(as_size(item, f"an extent of {what}") for item in items)
    for size in sizes:
        if is_const_int(size) and size.value < 0:  # type: ignore[attr-defined]
            raise ArgumentError(f"{what}: the extent {size!r} is negative")
    return sizes


def allocate(
    extents: Any,
    dtype: str,
    scope: str = "global",
    condition: object = None,
    annotations: Mapping[str, Any] | None = None,
) -> WrapFrame:
    """A pointer to new memory for ``prod(extents)`` elements, until the end of the scope."""
    element, sizes = DType(dtype), _extents(extents, "T.allocate")
    guard = as_expr(True if condition is None else condition)
    hints = constant_attributes(annotations or {}, "the annotations of T.allocate")
    place = as_text(scope, "the storage scope")
    pointer = Var("", HANDLE, PointerType(PrimType(element), place))

    def wrap(body: Stmt, span: Span | None) -> Stmt:
        return Allocate(pointer, element, sizes, guard, body, hints, span)

    return WrapFrame("T.allocate", pointer, wrap)


def allocate_const(
    data: Any, dtype: str, extents: Any, annotations: Mapping[str, Any] | None = None
) -> WrapFrame:
    """A pointer to a constant array.

    Args:
        data: the elements, as a list or a numpy array.
        dtype: element type.
        extents: shape of the array.
        annotations: hints for passes.
    """
    import numpy as np

    element, sizes = DType(dtype), _extents(extents, "T.allocate_const")
    shape = []
    for size in sizes:
        if not is_const_int(size):
            raise ArgumentError(f"T.allocate_const: the extent {size!r} is not a constant")
        shape.append(size.value)  # type: ignore[attr-defined]
    values = data.numpy() if hasattr(data, "numpy") else data
    array = np.asarray(values, dtype=element.numpy)
    if array.size != int(np.prod(shape)):
        raise ArgumentError(
            f"T.allocate_const: {array.size} elements do not fill the extents {shape}"
        )
    array = array.reshape(shape)
    hints = constant_attributes(annotations or {}, "the annotations of T.allocate_const")
    pointer = Var("", HANDLE, PointerType(PrimType(element), "global"))

    def wrap(body: Stmt, span: Span | None) -> Stmt:
        return AllocateConst(pointer, element, sizes, array, body, hints, span)

    return WrapFrame("T.allocate_const", pointer, wrap)


def decl_buffer(
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: object = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
) -> WrapFrame:
    """A buffer over the memory at `data`, or over new memory, until the end of the scope.

    Arguments are those of `T.Buffer`.
    """
    buffer = _buffer(
        shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type,
        axis_separators,
    )  # fmt: skip

    def wrap(body: Stmt, span: Span | None) -> Stmt:
        stmt: Stmt = DeclBuffer(buffer, body, span)
        if data is None:
            stmt = Allocate(buffer.data, buffer.dtype, buffer.shape, as_expr(True), stmt, span=span)
        return stmt

    return WrapFrame("T.decl_buffer", buffer, wrap)
