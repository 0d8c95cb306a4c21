"""Buffers: typed, shaped views of memory, and the expressions that read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError, DTypeError, ShapeError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import HANDLE, INT32, DType, PointerType, PrimType
from tilewright.ir.expr import Expr, IntImm, Ramp, Var, is_const_int
from tilewright.ir.node import Node, Span, attr, binds, child, derived, meta, node, use
from tilewright.ir.range import Range

ZERO = IntImm(INT32, 0)
ONE = IntImm(INT32, 1)


def storage_scope(pointer: Var) -> str:
    """The kind of memory that a pointer is into, such as ``"global"`` or ``"shared"``."""
    annotation = pointer.type_annotation
    return annotation.storage_scope if isinstance(annotation, PointerType) else "global"


@node
class Buffer(Node):
    """A multi-dimensional view of memory.

    Element ``[i, j]`` is at ``data + elem_offset + i * strides[0] + j * strides[1]``, in elements;
    without strides the layout is row-major and compact.

    Attributes:
        data: the pointer; its type annotation holds the element type and the storage scope.
        dtype: type of one element.
        shape: extents, outermost first; may be symbolic.
        name: for printing only.
        strides: elements between neighbours per dimension, or empty for compact.
        elem_offset: position of the first element.
        data_alignment: bytes to which `data` is known to be aligned; 0 if nothing is promised.
        offset_factor: `elem_offset` is a multiple of this.
        buffer_type: ``""``, or ``"auto_broadcast"``: a dimension of extent 1 has stride 0.
        axis_separators: dimensions at which a physical axis starts, when flattening to several.
    """

    __is_reference__ = True

    data: Var = binds()
    dtype: DType = attr()
    shape: tuple[Expr, ...] = child()
    name: str = meta(default="buffer")
    strides: tuple[Expr, ...] = child(default=())
    elem_offset: Expr = child(default=ZERO)
    data_alignment: int = attr(default=0)
    offset_factor: int = meta(default=1)
    buffer_type: str = attr(default="")
    axis_separators: tuple[Expr, ...] = child(default=())
    span: Span | None = meta(default=None)

    # Python would otherwise iterate by calling __getitem__ with 0, 1, 2, ... without end.
    __iter__ = None

    def scope(self) -> str:
        """The storage scope, such as ``"global"``, ``"local"`` or ``"shared"``."""
        return storage_scope(self.data)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def is_compact(self) -> bool:
        """Whether elements follow each other in row-major order, from the start of the memory."""
        return not self.strides and is_const_int(self.elem_offset, 0)

    def has_static_shape(self) -> bool:
        """Whether all extents are constants."""
        return all(is_const_int(extent) for extent in self.shape)

    def __getitem__(self, indices: Any) -> Any:
        """A `BufferLoad`; with slices among the indices, a `BufferRegion`."""
        items = indices if isinstance(indices, tuple) else (indices,)
        if any(isinstance(item, slice) for item in items):
            return region_of(self, items)
        return self.vload(items)

    def vload(self, begin: Any, dtype: str | None = None, predicate: Expr | None = None) -> Any:
        """The element at `begin`, or with a vector `dtype` the elements that start there.

        Lanes for which `predicate` does not hold are not read.
        """
        items = begin if isinstance(begin, (tuple, list)) else (begin,)
        return BufferLoad(self, _indices(self, items, dtype), predicate)

    def access_ptr(
        self,
        access_mask: str | int,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: object = 0,
        extent: object = None,
    ) -> Expr:
        """The address of the elements, as an argument of a call.

        Args:
            access_mask: what the callee does: ``"r"``, ``"w"`` or ``"rw"`` (or 1, 2 or 3).
            ptr_type: dtype of the address.
            content_lanes: how many elements the callee takes for one; it divides the offset.
            offset: in elements, added to `elem_offset`.
            extent: number of elements that may be accessed; by default all after the offset.

        Raises:
            ArgumentError: for another mask.
        """
        # Operators are made of buffers.
        from tilewright.tir.op.memory import address_to_access

        return address_to_access(self, access_mask, ptr_type, content_lanes, offset, extent)

    def offset_of(self, indices: Any) -> tuple[Expr, ...]:
        """The position of an element in the memory, counted in elements, as a tuple of one."""
        items = indices if isinstance(indices, (tuple, list)) else (indices,)
        return (_offset(self, _indices(self, items, None)),)

    def vstore(self, begin: Any, value: object, predicate: Expr | None = None) -> Any:
        """The statement that stores `value` at `begin`, in lanes for which `predicate` holds."""
        from tilewright.tir.stmt import BufferStore

        items = begin if isinstance(begin, (tuple, list)) else (begin,)
        stored = as_expr(value, self.dtype)
        return BufferStore(self, stored, _indices(self, items, stored.dtype), predicate)


def _offset(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """The distance of an element from the start of the memory."""
    offset = buffer.elem_offset
    if buffer.strides:
        for index, stride in zip(indices, buffer.strides, strict=True):
            offset = offset + index * stride
        return offset
    position: Expr = ZERO
    for index, extent in zip(indices, buffer.shape, strict=True):
        position = position * extent + index
    return offset + position


def _indices(buffer: Buffer, items: Any, dtype: str | None) -> tuple[Expr, ...]:
    if len(items) != len(buffer.shape):
        raise ShapeError(
            f"buffer {buffer.name} has {len(buffer.shape)} dimensions, got {len(items)} indices"
        )
    indices = tuple(as_expr(item) for item in items)
    for index in indices:
        if not index.dtype.is_integral:
            raise DTypeError(f"index {index!r} of {buffer.name} has dtype {index.dtype!s}")
    lanes = DType(dtype).lanes // buffer.dtype.lanes if dtype is not None else 1
    if lanes > 1 and indices and indices[-1].dtype.lanes == 1:
        last = indices[-1]
        indices = (*indices[:-1], Ramp(last, IntImm(last.dtype, 1), lanes))
    return indices


def region_of(buffer: Buffer, items: tuple[Any, ...]) -> BufferRegion:
    """The region selected by indices and slices; missing trailing dimensions are whole."""
    if len(items) > len(buffer.shape):
        raise ShapeError(
            f"buffer {buffer.name} has {len(buffer.shape)} dimensions, got {len(items)} indices"
        )
    ranges = []
    for position, extent in enumerate(buffer.shape):
        item = items[position] if position < len(items) else slice(None)
        if not isinstance(item, slice):
            index = as_expr(item)
            ranges.append(Range.from_min_extent(index, IntImm(index.dtype, 1)))
            continue
        if item.step not in (None, 1):
            raise ShapeError(f"slices of {buffer.name} have step 1, got {item.step}")
        start = ZERO if item.start is None else item.start
        ranges.append(Range.from_bounds(start, extent if item.stop is None else item.stop))
    return BufferRegion(buffer, tuple(ranges))


def decl_buffer(
    shape: Any,
    dtype: str = "float32",
    name: str = "buffer",
    data: Var | None = None,
    strides: Any = None,
    elem_offset: object = None,
    scope: str = "",
    data_alignment: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    span: Span | None = None,
) -> Buffer:
    """A new buffer.

    Args:
        shape: extents, integers or expressions; one extent may stand alone.
        dtype: element type.
        name: for printing.
        data: pointer to existing memory; by default a new pointer variable.
        strides: elements between neighbours, one per dimension; compact by default.
        elem_offset: first element, 0 by default. With `offset_factor` set and no offset given, a
            new variable stands for it, so that any offset matches.
        scope: storage scope, ``"global"`` by default.
        data_alignment: promised alignment of `data` in bytes, 0 for none.
        offset_factor: what `elem_offset` is a multiple of.
        buffer_type: ``"auto_broadcast"`` or empty.
        axis_separators: dimensions at which a new physical axis starts.
        span: where it was written.

    Raises:
        ShapeError: for a negative extent or a wrong number of strides.
        DTypeError: for extents, strides or an offset that are not integers.
        ArgumentError: if `data` is not a pointer.
        ArgumentValueError: for another `buffer_type`.
    """
    element = DType(dtype)
    extents = _sizes(shape, name, "extent")
    pitches = _sizes(strides, name, "stride") if strides is not None else ()
    if pitches and len(pitches) != len(extents):
        raise ShapeError(f"buffer {name}: {len(extents)} dimensions but {len(pitches)} strides")
    if data is None:
        # A vector buffer points to its elements, and bool is stored as one byte.
        pointee = PrimType(element)
        data = Var(name, HANDLE, PointerType(pointee, scope or "global"))
    if elem_offset is None and offset_factor > 0:
        index_dtype = extents[0].dtype if extents else INT32
        offset: Expr = Var(f"{name}_elem_offset", index_dtype)
    else:
        offset = ZERO if elem_offset is None else as_expr(elem_offset)
    _check_declaration(name, data, offset, buffer_type)
    separators = tuple(as_expr(axis) for axis in axis_separators or ())
    return Buffer(
        data, element, extents, name, pitches, offset, max(data_alignment, 0),
        max(offset_factor, 1), buffer_type.removeprefix("default"), separators, span,
    )  # fmt: skip


def _check_declaration(name: str, data: Var, offset: Expr, buffer_type: str) -> None:
    if not isinstance(data, Var) or not data.dtype.is_handle:
        raise ArgumentError(f"buffer {name}: data is a pointer variable, got {data!r}")
    if not offset.dtype.is_integral:
        raise DTypeError(f"buffer {name}: elem_offset {offset!r} has dtype {offset.dtype!s}")
    if buffer_type not in ("", "default", "auto_broadcast"):
        raise ArgumentValueError(
            f'buffer {name}: buffer_type is "" or "auto_broadcast", got {buffer_type!r}'
        )


def _sizes(values: Any, name: str, what: str) -> tuple[Expr, ...]:
    owner = f"buffer {name}".rstrip()
    items = values if isinstance(values, (tuple, list)) else (values,)
    sizes = tuple(as_expr(item) for item in items)
    for size in sizes:
        if not size.dtype.is_integral or size.dtype.is_bool:
            raise DTypeError(f"{owner}: {what} {size!r} has dtype {size.dtype!s}")
        if isinstance(size, IntImm) and size.value < 0 and what == "extent":
            raise ShapeError(f"{owner}: {what} {size.value} is negative")
    return sizes


def access_dtype(buffer: Buffer, indices: tuple[Expr, ...]) -> DType:
    """The dtype of what is read or written at `indices`."""
    if not indices:
        return buffer.dtype
    lanes = indices[-1].dtype.lanes
    return buffer.dtype if lanes == 1 else buffer.dtype.with_lanes(lanes * buffer.dtype.lanes)


@node
class BufferLoad(Expr):
    """The element (or, with a vector as the last index, the elements) of a buffer."""

    buffer: Buffer = use()
    indices: tuple[Expr, ...] = child()
    predicate: Expr | None = child(default=None)
    span: Span | None = meta(default=None)
    dtype: DType = derived("access_dtype(buffer, indices)")


@node
class BufferRegion(Node):
    """A box of a buffer: one range per dimension."""

    buffer: Buffer = use()
    region: tuple[Range, ...] = child()

    @staticmethod
    def of_element(buffer: Buffer, indices: Iterable[Expr]) -> BufferRegion:
        """The region of one element."""
        return BufferRegion(
            buffer, tuple(Range.from_min_extent(i, IntImm(i.dtype, 1)) for i in indices)
        )

    def as_expr(self) -> BufferLoad:
        """The elements as one vector; all but the last range must have the extent 1.

        Raises:
            ShapeError: for another box, or a range whose extent is not a constant.
        """
        indices = []
        for item in self.region:
            if not isinstance(item.extent, IntImm) or item.extent.value < 1:
                raise ShapeError(f"as a value, {self!r} needs a constant length of at least 1")
            lanes = item.extent.value
            step = IntImm(item.min.dtype, 1)
            indices.append(item.min if lanes == 1 else Ramp(item.min, step, lanes))
        if any(index.dtype.is_vector for index in indices[:-1]):
            raise ShapeError(f"as a value, {self!r} may have a slice as its last index only")
        return BufferLoad(self.buffer, tuple(indices))


@node
class MatchBufferRegion(Node):
    """`buffer` as a view of the region `source` inside a block."""

    buffer: Buffer = binds()
    source: BufferRegion = child()
