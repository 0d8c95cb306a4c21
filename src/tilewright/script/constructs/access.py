"""Elements and regions of buffers, as scripts write them."""

from __future__ import annotations

from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import DTypeError, ShapeError
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Add, Broadcast, Expr, FloatImm, IntImm, Ramp
from tilewright.ir.node import Span
from tilewright.ir.range import extent_between
from tilewright.script.builder.stack import current_span
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range, region_of
from tilewright.tir.stmt import BufferStore


class PartialAccess:
    """A buffer with some leading indices: ``A[i]`` on the way to ``A[i][j]``."""

    __slots__ = ("buffer", "items")
    __iter__ = None

    def __init__(self, buffer: Buffer, items: tuple[Any, ...]) -> None:
        self.buffer, self.items = buffer, items

    def __getitem__(self, more: Any) -> Any:
        return access(self.buffer, self.items + index_items(more))

    def as_expr(self) -> Expr:
        """Refused: a region is not one element."""
        raise wrong_rank(self.buffer, len(self.items))


def wrong_rank(buffer: Buffer, count: int) -> ShapeError:
    """The error of an access with `count` indices."""
    indices = "1 index" if count == 1 else f"{count} indices"
    dimensions = "1 dimension" if buffer.ndim == 1 else f"{buffer.ndim} dimensions"
    return ShapeError(f"buffer {buffer.name} has {dimensions}, got {indices}")


def index_items(subscript: Any) -> tuple[Any, ...]:
    """The indices between the brackets, as a tuple."""
    if isinstance(subscript, list):
        return tuple(subscript)
    return subscript if isinstance(subscript, tuple) else (subscript,)


def access(buffer: Buffer, items: tuple[Any, ...], span: Span | None = None) -> Any:
    """``buffer[items]``: a load, a region if there are slices, or a part of an access."""
    if len(items) > buffer.ndim:
        raise wrong_rank(buffer, len(items))
    has_slice = any(isinstance(item, slice) for item in items)
    if has_slice and all(not isinstance(i, slice) or i.step is None for i in items):
        plain = tuple(map(_plain, items))
        return _simplified(region_of(buffer, plain), plain)
    if len(items) < buffer.ndim:
        return PartialAccess(buffer, items)
    return BufferLoad(buffer, load_indices(buffer, items), None, span)


def _plain(item: Any) -> Any:
    """An index or slice without Python bools, and with bounds of one dtype."""
    if not isinstance(item, slice):
        return as_index(item)
    if item.start is None or item.stop is None:
        return item
    start, stop = as_index(item.start), as_index(item.stop)
    if isinstance(start, IntImm) and start.dtype is not stop.dtype:
        start = cast(stop.dtype, start)
    elif isinstance(stop, IntImm) and start.dtype is not stop.dtype:
        stop = cast(start.dtype, stop)
    return slice(start, stop)


def _simplified(region: BufferRegion, items: tuple[Any, ...]) -> BufferRegion:
    """`region`, which `items` select, with differences of bounds as constants where they are."""
    ranges = list(region.region)
    for position, item in enumerate(items):
        selected = ranges[position]
        stop = item.stop if isinstance(item, slice) else None
        if stop is None or isinstance(selected.extent, IntImm) or selected.extent is stop:
            continue
        if isinstance(stop, Add) and (selected.extent is stop.a or selected.extent is stop.b):
            continue  # begin:begin + extent says what the extent is
        extent = Analyzer().simplify(selected.extent)
        if isinstance(extent, IntImm):
            ranges[position] = Range.from_min_extent(selected.min, extent)
    return BufferRegion(region.buffer, tuple(ranges))


def as_index(item: Any) -> Expr:
    """An index as an expression."""
    if isinstance(item, BufferRegion):
        item = item.as_expr()
    index = as_expr(item)
    if not index.dtype.is_integral:
        raise DTypeError(f"an index is an integer, got {index!r} of dtype {index.dtype!s}")
    return index


def load_indices(buffer: Buffer, items: tuple[Any, ...]) -> tuple[Expr, ...]:
    """Indices of one access; slices become vectors of indices."""
    if len(items) != buffer.ndim:
        raise wrong_rank(buffer, len(items))
    indices = tuple(
        _slice_index(item, extent) if isinstance(item, slice) else as_index(item)
        for item, extent in zip(items, buffer.shape, strict=True)
    )
    if any(index.dtype.is_vector for index in indices[:-1]):
        raise ShapeError(f"only the last index of {buffer.name} may be a slice or vector here")
    return indices


def _slice_index(item: slice, extent: Expr) -> Expr:
    start = as_index(0 if item.start is None else item.start)
    stop = as_index(extent if item.stop is None else item.stop)
    step = as_index(1 if item.step is None else item.step)
    if not isinstance(step, IntImm) or step.value <= 0:
        raise ShapeError(f"the step of a slice is a positive constant, got {step!r}")
    count = (extent_between(start, stop) + (step - 1)) // step
    if not isinstance(count, IntImm):
        count = Analyzer().simplify(count)
    if not isinstance(count, IntImm):
        raise ShapeError(f"a slice that is a value needs a constant length, got {count!r}")
    return _vector(start, cast(start.dtype, step), count.value)


def _vector(start: Expr, step: Expr, lanes: int) -> Expr:
    if lanes <= 0:
        raise ShapeError(f"the slice has {lanes} elements")
    return start if lanes == 1 else Ramp(start, step, lanes)


def as_region(value: Any) -> BufferRegion:
    """A buffer, an element or a region as a region."""
    if isinstance(value, BufferRegion):
        return value
    if isinstance(value, PartialAccess):
        return region_of(value.buffer, tuple(map(_plain, value.items)))
    if isinstance(value, Buffer):
        return region_of(value, ())
    if isinstance(value, BufferLoad):
        return BufferRegion(value.buffer, tuple(map(_index_range, value.indices)))
    raise DTypeError(f"expected a region of a buffer such as A[i, 0:8], got {value!r}")


def _index_range(index: Expr) -> Range:
    if isinstance(index, Ramp) and isinstance(index.stride, IntImm) and index.stride.value == 1:
        return Range.from_min_extent(index.base, const(index.lanes, index.base.dtype))
    if index.dtype.is_vector:
        raise ShapeError(f"the index {index!r} is not a contiguous region: write a slice")
    return Range.from_min_extent(index, const(1, index.dtype))


def store(
    buffer: Buffer, value: Any, items: tuple[Any, ...], predicate: Expr | None = None
) -> BufferStore:
    """The statement ``buffer[items] = value``; the value is converted where nothing is lost."""
    indices = load_indices(buffer, items)
    lanes = max((index.dtype.lanes for index in indices), default=1)
    target = buffer.dtype.with_lanes(lanes * buffer.dtype.lanes)
    return BufferStore(
        buffer, stored_value(value, target, buffer.name), indices, predicate, current_span()
    )


def stored_value(value: Any, target: DType, name: str) -> Expr:
    """`value` converted to `target`, unless that could change it."""
    if isinstance(value, (bool, int, float)):
        return const(value, target)
    expr = as_expr(value)
    source = expr.dtype
    if source is target:
        return expr
    if source.lanes not in (1, target.lanes):
        raise DTypeError(
            f"cannot store {source.lanes} values into {target.lanes} elements of {name}"
        )
    scalar = expr.value if isinstance(expr, Broadcast) else expr
    if isinstance(scalar, (IntImm, FloatImm)) and not target.is_handle:
        return const(scalar.value, target)
    if _widens(source.element, target.element):
        return cast(target, expr)
    raise DTypeError(
        f"cannot store a value of dtype {source!s} into {name} of dtype {target!s}: "
        f'write T.Cast("{target!s}", ...)'
    )


def _widens(source: DType, target: DType) -> bool:
    """Whether `target` holds every value of `source`, or rounds integers as floats do."""
    if source is target or (source.is_integral and target.is_float):
        return True
    same = source.code == target.code or (source.is_float and target.is_float)
    return same and not source.is_handle and source.bits < target.bits
