"""Moving elements that are known while a model is converted, and combining those of an array."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.ir.dtype import DType
from tilewright.relax.frontend.onnx.elements import Elements, UnknownElementsError
from tilewright.relax.frontend.onnx.tensors import array_of


def _integers(operand: Any) -> list[int]:
    if isinstance(operand, Elements):
        if not operand.is_constant:
            raise UnknownElementsError
        return [int(item) for item in operand.values.reshape(-1)]
    return [int(item) for item in np.atleast_1d(operand)]


def gather(x: Elements, indices: Elements, *, axis: int = 0) -> Elements:
    """The elements at some places of a dimension."""
    if not indices.is_constant:
        raise UnknownElementsError
    return x.like(np.take(x.values, indices.values, axis=axis))


def slice_(x: Elements, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Elements:
    """The elements of a box."""
    begin, end = _integers(starts), _integers(ends)
    along = list(range(len(begin))) if axes is None else _integers(axes)
    stride = [1] * len(begin) if steps is None else _integers(steps)
    places = [slice(None)] * x.values.ndim
    for axis, first, last, step in zip(along, begin, end, stride, strict=True):
        extent = x.values.shape[axis]
        stop = None if step < 0 and last < -extent else last
        places[axis] = slice(first, stop, step)
    return x.like(x.values[tuple(places)])


def concat(*operands: Elements, axis: int) -> Elements:
    """Arrays one after the other."""
    if all(operand.is_constant for operand in operands):
        values = np.concatenate([operand.values for operand in operands], axis=axis)
        return Elements(values, operands[0].dtype)
    parts = [operand.objects() for operand in operands]
    return Elements.of(np.concatenate(parts, axis=axis), operands[0].dtype)


def unsqueeze(x: Elements, axes: Any) -> Elements:
    """An array with more dimensions of extent 1."""
    return x.like(np.expand_dims(x.values, tuple(_integers(axes))))


def squeeze(x: Elements, axes: Any = None) -> Elements:
    """An array without dimensions of extent 1."""
    places = None if axes is None else tuple(_integers(axes))
    return x.like(np.squeeze(x.values, axis=places))


def reshape(x: Elements, shape: Elements, *, allowzero: int = 0) -> Elements:
    """The same elements in another shape."""
    wanted = _integers(shape)
    if not allowzero:
        wanted = [x.values.shape[n] if extent == 0 else extent for n, extent in enumerate(wanted)]
    return x.like(x.values.reshape(wanted))


def reduction(plain: Callable[..., Any], fold: Callable[[Any, Any], Any]) -> Any:
    """A function that combines elements: `plain` of numbers, else by `fold`."""

    def compute(
        x: Elements, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Elements:
        places = [] if axes is None else _integers(axes)
        if not places and noop_with_empty_axes:
            return x
        along = tuple(places) if places else tuple(range(x.values.ndim))
        if x.is_constant:
            values = plain(x.values, axis=along, keepdims=bool(keepdims))
            return Elements(np.asarray(values, dtype=x.values.dtype), x.dtype)
        function = np.frompyfunc(fold, 2, 1)
        values = x.values
        for axis in sorted((axis % values.ndim for axis in along), reverse=True):
            reduced = np.asarray(function.reduce(values, axis=axis), dtype=object)
            values = np.expand_dims(reduced, axis) if keepdims else reduced
        return x.like(np.asarray(values, dtype=object))

    return compute


def expand(x: Elements, shape: Elements) -> Elements:
    """An array repeated along dimensions."""
    wanted = _integers(shape)
    _limit(wanted)
    common = np.broadcast_shapes(x.values.shape, tuple(wanted))
    return x.like(np.broadcast_to(x.values, common).copy())


def _limit(extents: Sequence[int]) -> None:
    if math.prod(extents) > 4096:
        raise UnknownElementsError


def range_(start: Elements, limit: Elements, delta: Elements) -> Elements:
    """Numbers of equal distance."""
    bounds = [_integers(operand)[0] for operand in (start, limit, delta)]
    if not start.is_constant or not DType(start.dtype).is_integral:
        raise UnknownElementsError
    _limit([max(0, (bounds[1] - bounds[0]) // bounds[2] + 1)])
    return Elements(np.arange(*bounds, dtype=DType(start.dtype).numpy), start.dtype)


def split(x: Elements, split: Any = None, *, axis: int = 0, num_outputs: int = 0) -> Any:
    """Parts of an array along a dimension."""
    if split is not None:
        places = np.cumsum(_integers(split))[:-1]
    elif num_outputs > 0:
        part = -(-x.values.shape[axis] // num_outputs)
        places = np.arange(1, num_outputs) * part
    else:
        raise UnknownElementsError
    return [x.like(part) for part in np.split(x.values, places, axis=axis)]


def constant_of_shape(shape: Elements, *, value: Any = None) -> Elements:
    """An array of one number again and again."""
    extents = _integers(shape)
    _limit(extents)
    element = np.zeros(1, "float32") if value is None else array_of(value, None).reshape(-1)
    return Elements(np.full(extents, element[0]), str(element.dtype))
