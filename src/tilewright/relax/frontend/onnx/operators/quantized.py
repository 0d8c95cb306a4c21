"""Quantised numbers: integers that stand for multiples of a scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.ir.dtype import DType
from tilewright.relax import op
from tilewright.relax.frontend.compositions import repeat_interleaved
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.operators.products import convolved
from tilewright.relax.frontend.onnx.table import converts
from tilewright.relax.frontend.onnx.tensors import NARROW, dtype_of
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.integer_products import WIDE, integer_convolution, integer_matmul
from tilewright.topi.operands import accumulator


def limits(dtype: str, bits: int | None = None) -> tuple[int, int]:
    """The smallest and the largest integer of a dtype, or of some bits of it."""
    width = bits or np.iinfo(dtype).bits
    return (
        (0, 2**width - 1) if dtype.startswith("u") else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    )


def aligned(graph: Graph, parameter: Any, x: Any, axis: int, block: int) -> Any:
    """A scale or zero point in a shape that broadcasts to that of the numbers."""
    rank = graph.rank_of(x)
    if rank == 0 or _is_one(graph, parameter):
        return graph.reshape(parameter, [])
    axis = graph.axis(axis, rank)
    if block:
        repeated = repeat_interleaved(graph, parameter, block, axis)
        if graph.same_shape(repeated, graph.shape_of(x)):
            return repeated
        extent = graph.shape_of(x)[axis]  # the last block is shorter
        return graph.emit(op.strided_slice(repeated, [axis], [0], [extent]))
    if graph.rank_of(parameter) == 1:
        return graph.reshape(parameter, [-1 if n == axis else 1 for n in range(rank)])
    return parameter


def parameters(
    graph: Graph, x: Any, scale: Any, zero_point: Any, dtype: str, axis: int
) -> tuple[Any, Any, int]:
    """A scale, a zero point and their axis, as the operators of graphs have them.

    Both parameters are one number, or a vector along the axis.
    """
    zero_point = graph.constant(0, dtype) if zero_point is None else zero_point
    rank = graph.rank_of(x)
    if rank == 0 or _is_one(graph, scale):
        return graph.reshape(scale, []), graph.reshape(zero_point, []), -1
    if _is_one(graph, zero_point):
        zero_point = graph.reshape(zero_point, [])
    return scale, zero_point, graph.axis(axis, rank)


def _is_one(graph: Graph, parameter: Any) -> bool:
    """Whether a parameter is one number, perhaps in a vector."""
    rank = graph.rank_of(parameter)
    return rank == 0 or (rank == 1 and number(graph.shape_of(parameter)[0]) == 1)


def rounded(
    graph: Graph, x: Any, scale: Any, zero_point: Any, dtype: str, bits: int | None = None
) -> Any:
    """The nearest integers ``x / scale + zero_point`` within the limits of a dtype."""
    least, most = limits(dtype, bits)
    kind = graph.dtype_of(x)
    steps = op.round(op.divide(x, graph.cast(scale, kind)))
    if zero_point is not None:
        steps = op.add(steps, graph.cast(zero_point, kind))
    return op.astype(op.clip(graph.emit(steps), least, most), dtype)


@converts("QuantizeLinear")
def quantize(
    graph: Graph, x: Any, scale: Any, zero_point: Any = None, *, axis: int = 1,
    block_size: int = 0, output_dtype: int = 0, precision: int = 0, saturate: int = 1,
) -> Any:  # fmt: skip
    """The integers that stand for numbers."""
    bits = None
    if output_dtype:
        dtype = dtype_of(output_dtype)
        bits = NARROW[output_dtype][1] if output_dtype in NARROW else None  # type: ignore[index]
    else:
        dtype = "uint8" if zero_point is None else graph.dtype_of(zero_point)
        bits = None if zero_point is None else graph.bits.get(zero_point)
    if not dtype.startswith(("int", "uint")):
        raise UnsupportedError(f"numbers quantised to {dtype} are not supported")
    wide = dtype_of(precision) if precision else "float32"
    x = graph.cast(graph.cast(x, wide), "float32" if wide != "float64" else wide)
    scale = graph.cast(scale, graph.dtype_of(x))
    if bits is None and not block_size:
        return op.quantize(x, *parameters(graph, x, scale, zero_point, dtype, axis), dtype)
    scale = aligned(graph, scale, x, axis, block_size)
    if zero_point is not None:
        zero_point = aligned(graph, zero_point, x, axis, block_size)
    return rounded(graph, x, scale, zero_point, dtype, bits)


@converts("DequantizeLinear")
def dequantize(
    graph: Graph, x: Any, scale: Any, zero_point: Any = None, *, axis: int = 1,
    block_size: int = 0, output_dtype: int = 0,
) -> Any:  # fmt: skip
    """The numbers that integers stand for."""
    dtype = dtype_of(output_dtype) if output_dtype else graph.dtype_of(scale)
    wide = str(accumulator(DType(dtype)))
    if not block_size:
        given = graph.cast(scale, wide), zero_point, graph.dtype_of(x), axis
        return graph.cast(graph.emit(op.dequantize(x, *parameters(graph, x, *given), wide)), dtype)
    factor = aligned(graph, graph.cast(scale, wide), x, axis, block_size)
    steps = x
    if zero_point is not None:
        moved = aligned(graph, zero_point, x, axis, block_size)
        steps = op.subtract(graph.cast(x, WIDE), graph.cast(moved, WIDE))
    return graph.cast(graph.emit(op.multiply(op.astype(steps, wide), factor)), dtype)


@converts("DynamicQuantizeLinear")
def dynamic_quantize(graph: Graph, x: Any) -> list[Any]:
    """The integers that stand for numbers, with a scale and a zero point for their range."""
    largest = op.maximum(op.max(x), graph.scalar_like(0, x))
    smallest = graph.emit(op.minimum(op.min(x), graph.scalar_like(0, x)))
    span = graph.emit(op.subtract(largest, smallest))
    scale = graph.emit(op.divide(span, graph.scalar_like(255, x)))
    is_flat = op.equal(scale, graph.scalar_like(0, x))
    divisor = graph.emit(op.where(is_flat, graph.scalar_like(1, x), scale))
    zero = op.clip(op.round(op.divide(op.negative(smallest), divisor)), 0, 255)
    zero_point = graph.emit(op.astype(graph.emit(zero), "uint8"))
    return [rounded(graph, x, divisor, zero_point, "uint8"), scale, zero_point]


# --- products ---------------------------------------------------------------------------------


def _shifted(graph: Graph, x: Any, zero_point: Any, axis: int) -> Any:
    """Integers less their zero point; as they are if that is 0."""
    if _constant_zero(graph, zero_point) == 0:
        return x
    if graph.rank_of(zero_point) == 1:
        zero_point = aligned(graph, zero_point, x, axis, 0)
    return graph.emit(op.subtract(graph.cast(x, WIDE), graph.cast(zero_point, WIDE)))


def _constant_zero(graph: Graph, zero_point: Any) -> int | None:
    """The constant that all zero points are; None if they are not constant, or differ."""
    if zero_point is None:
        return 0
    known = graph.elements(zero_point)
    values = set(known.values.reshape(-1).tolist()) if known and known.is_constant else set()
    return int(values.pop()) if len(values) == 1 else None


def integer_product(graph: Graph, a: Any, a_zero: Any, b: Any, b_zero: Any) -> Any:
    """The product of matrices of integers less their zero points, in int32."""
    known = [_constant_zero(graph, zero) for zero in (a_zero, b_zero)]
    is_matrix = min(map(graph.rank_of, (a, b))) > 1
    ranks = [graph.rank_of(zero) for zero in (a_zero, b_zero) if zero is not None]
    if not is_matrix or max(ranks, default=0) > 1:
        a, b = _shifted(graph, a, a_zero, -2), _shifted(graph, b, b_zero, -1)
        return graph.emit(op.matmul(graph.cast(a, WIDE), graph.cast(b, WIDE)))
    p, q = (
        None if constant == 0
        else graph.reshape(graph.cast(zero, WIDE), [] if _is_one(graph, zero) else form)
        for constant, zero, form in zip(known, (a_zero, b_zero), ([-1, 1], [-1]), strict=True)
    )  # fmt: skip
    return integer_matmul(graph.builder, a, p, b, q)


@converts("MatMulInteger")
def matmul_integer(
    graph: Graph, a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None
) -> Any:
    """The product of matrices of integers."""
    return integer_product(graph, a, a_zero_point, b, b_zero_point)


def requantized(
    graph: Graph, total: Any, x_scale: Any, w_scale: Any, y_scale: Any, y_zero_point: Any, axis: int
) -> Any:
    """Sums of products of integers as integers of another scale."""
    scales = [graph.cast(scale, "float32") for scale in (x_scale, w_scale, y_scale)]
    scales = [aligned(graph, scale, total, axis, 0) for scale in scales]
    factor = graph.emit(op.divide(graph.emit(op.multiply(*scales[:2])), scales[2]))
    number_ = graph.emit(op.multiply(graph.cast(total, "float32"), factor))
    dtype = graph.dtype_of(y_zero_point)
    zero = aligned(graph, y_zero_point, total, axis, 0)
    return rounded(graph, number_, graph.operand(1.0, "float32"), zero, dtype)


@converts("QLinearMatMul")
def qlinear_matmul(
    graph: Graph, a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any,
    y_scale: Any, y_zero: Any,
) -> Any:  # fmt: skip
    """The product of quantised matrices, quantised again."""
    total = integer_product(graph, a, a_zero, b, b_zero)
    return requantized(graph, total, a_scale, b_scale, y_scale, y_zero, -1)


def _integer_convolution(
    graph: Graph, x: Any, x_zero: Any, weight: Any, w_zero: Any, auto_pad: str, dilations: Any,
    group: int, pads: Any, strides: Any,
) -> Any:  # fmt: skip
    """A convolution of integers, in int32; the border has the value of the zero point."""
    options = auto_pad, dilations, group, pads, strides
    zero = _constant_zero(graph, x_zero)
    if zero is not None and _constant_zero(graph, w_zero) == 0:
        call = convolved(graph, x, weight, *options, out_dtype=WIDE)
        return integer_convolution(graph.builder, call, zero)
    x = graph.cast(_shifted(graph, x, x_zero, 1), WIDE)
    weight = graph.cast(_shifted(graph, weight, w_zero, 0), WIDE)
    return graph.emit(convolved(graph, x, weight, *options))


@converts("ConvInteger")
def conv_integer(
    graph: Graph, x: Any, weight: Any, x_zero_point: Any = None, w_zero_point: Any = None, *,
    auto_pad: str = "NOTSET", dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """A convolution of integers."""
    return _integer_convolution(
        graph, x, x_zero_point, weight, w_zero_point, auto_pad, dilations, group, pads, strides
    )


@converts("QLinearConv")
def qlinear_conv(
    graph: Graph, x: Any, x_scale: Any, x_zero: Any, weight: Any, w_scale: Any, w_zero: Any,
    y_scale: Any, y_zero: Any, bias: Any = None, *, auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """A convolution of quantised numbers, quantised again."""
    total = _integer_convolution(
        graph, x, x_zero, weight, w_zero, auto_pad, dilations, group, pads, strides
    )
    if bias is not None:
        thin = graph.reshape(bias, [1, graph.shape_of(bias)[0], *[1] * (graph.rank_of(x) - 2)])
        total = graph.emit(op.add(total, thin))
    return requantized(graph, total, x_scale, w_scale, y_scale, y_zero, 1)
