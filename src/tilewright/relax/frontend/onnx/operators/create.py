"""Arrays that are made of numbers, and conversions between dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from tilewright import topi
from tilewright.relax import op
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.table import converts
from tilewright.relax.frontend.onnx.tensors import NARROW, array_of, dtype_of
from tilewright.relax.frontend.table import UnsupportedError


@converts("Constant")
def constant(
    graph: Graph, *, value: TensorProto | None = None, value_float: float | None = None,
    value_floats: Sequence[float] | None = None, value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """A constant array."""
    if value is not None:
        return graph.tensor(value)
    if value_float is not None or value_floats is not None:
        return graph.constant(value_float if value_floats is None else value_floats, "float32")
    if value_int is not None or value_ints is not None:
        return graph.constant(value_int if value_ints is None else value_ints, "int64")
    raise UnsupportedError("a constant without value, or with texts, is not supported")


@converts("ConstantOfShape")
def constant_of_shape(graph: Graph, shape: Any, *, value: TensorProto | None = None) -> Any:
    """An array with one value everywhere."""
    element = np.zeros(1, "float32") if value is None else array_of(value, graph.folder)
    dtype = str(element.dtype)
    sizes = graph.bound(graph.integers(shape))
    return op.full(sizes, graph.constant(element.reshape(()), dtype), dtype)


@converts("Range")
def arange(graph: Graph, start: Any, limit: Any, delta: Any, *, stash_type: int = 1) -> Any:
    """`start`, ``start + delta``, ... before `limit`."""
    dtype = graph.dtype_of(start)
    known = [graph.elements(value) for value in (start, limit, delta)]
    if all(k is not None and k.is_constant for k in known):
        bounds = [k.values.reshape(-1)[0] for k in known if k is not None]
        count = max(int(np.ceil((float(bounds[1]) - float(bounds[0])) / float(bounds[2]))), 0)
        steps = graph.emit(op.arange(0, count, 1, dtype="int64"))
    elif not graph.is_float(start):
        first, last, step = (graph.integers(value)[0] for value in (start, limit, delta))
        return op.astype(op.arange(first, last, step, "int64"), dtype)
    else:
        # The number of steps is computed, and becomes a size.
        span = op.divide(op.subtract(limit, start), delta)
        steps_count = op.maximum(
            op.astype(op.ceil(graph.emit(span)), "int64"), graph.operand(0, "int64")
        )
        (count,) = graph.integers(graph.emit(steps_count))
        steps = graph.emit(op.arange(0, count, 1, dtype="int64"))
    moved = op.multiply(graph.cast(steps, dtype), graph.reshape(delta, []))
    return op.add(moved, graph.reshape(start, []))


@converts("EyeLike")
def eye_like(graph: Graph, x: Any, *, dtype: int | None = None, k: int = 0) -> Any:
    """A matrix of the shape of another with 1 on a diagonal."""
    kind = graph.dtype_of(x) if dtype is None else dtype_of(dtype)
    rows, columns = graph.shape_of(x)
    row = op.expand_dims(graph.emit(op.arange(0, rows, 1, dtype="int64")), 1)
    column = graph.emit(op.arange(0, columns, 1, dtype="int64"))
    return op.astype(op.equal(op.add(row, graph.operand(k, "int64")), column), kind)


@converts("Cast")
def cast(graph: Graph, x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    """`x` in another dtype."""
    return converted(graph, x, dtype_of(to), NARROW[to][1] if to in NARROW else None)  # type: ignore[index]


def converted(graph: Graph, x: Any, dtype: str, bits: int | None = None) -> Any:
    """`x` in another dtype, or in some bits of it."""
    if bits is not None and graph.bits.get(x, 8) > bits:
        return _narrowed(graph, x, dtype, bits)
    if dtype == "bool" and graph.dtype_of(x) != "bool":
        return op.not_equal(x, graph.scalar_like(0, x))
    return graph.cast(x, dtype)


def _narrowed(graph: Graph, x: Any, dtype: str, bits: int) -> Any:
    """Integers of less than a byte: the lowest bits of `x`, which is rounded to the nearest."""
    x = graph.emit(op.round(x)) if graph.is_float(x) else x
    wide = graph.cast(graph.cast(x, "int32"), dtype)
    amount = graph.operand(8 - bits, dtype)
    result = graph.emit(op.right_shift(op.left_shift(wide, amount), amount))
    graph.bits[result] = bits
    return result


@converts("CastLike")
def cast_like(graph: Graph, x: Any, like: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    """`x` in the dtype of another array."""
    return converted(graph, x, graph.dtype_of(like), graph.bits.get(like))


@converts("BitCast")
def bit_cast(graph: Graph, x: Any, *, to: int) -> Any:
    """The same bits as elements of another dtype of the same width."""
    if graph.dtype_of(x) == "bool":
        x = graph.cast(x, "uint8")  # its byte is 0 or 1
    return graph.emit_te(topi.reinterpret, x, dtype_of(to))
