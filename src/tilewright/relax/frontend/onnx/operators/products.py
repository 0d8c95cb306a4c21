"""Products of matrices and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.expr import Call
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.table import converts
from tilewright.relax.frontend.table import UnsupportedError


@converts("MatMul")
def matmul(graph: Graph, x: Any, y: Any) -> Any:
    """The products of matrices."""
    return op.matmul(x, y)


@converts("Gemm")
def gemm(
    graph: Graph, a: Any, b: Any, c: Any = None, *, alpha: float = 1, beta: float = 1,
    transA: int = 0, transB: int = 0,  # noqa: N803
) -> Any:  # fmt: skip
    """``alpha a b + beta c`` of matrices, which may be transposed."""
    a = graph.permute(a, [1, 0]) if transA else a
    product = graph.emit(op.linear(a, b) if transB else op.matmul(a, b))
    if alpha != 1:
        product = graph.emit(op.multiply(product, graph.scalar_like(alpha, product)))
    if c is None or beta == 0:
        return product
    if beta != 1:
        c = graph.emit(op.multiply(c, graph.scalar_like(beta, c)))
    return op.add(product, c)


@converts("Einsum")
def einsum(graph: Graph, *operands: Any, equation: str) -> Any:
    """Sums of products in the notation of Einstein."""
    return op.einsum(operands, equation.replace(" ", ""))


_FORWARD: Final = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_TRANSPOSED: Final = {
    1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose,
}  # fmt: skip


def window(
    graph: Graph, x: Any, kernel: Sequence[int], auto_pad: str, pads: Sequence[int] | None,
    strides: Sequence[int] | None, dilations: Sequence[int] | None,
) -> tuple[list[int], list[int], list[int]]:  # fmt: skip
    """The padding (all before, then all after), the strides and the dilations of windows.

    Raises:
        UnsupportedError: if the padding depends on extents that are not known.
    """
    rank = len(kernel)
    stride = list(strides) if strides else [1] * rank
    dilation = list(dilations) if dilations else [1] * rank
    lengths = len(stride), len(dilation), len(pads or ()) or 2 * rank, len(kernel)
    if lengths != (rank, rank, 2 * rank, graph.rank_of(x) - 2):
        raise UnsupportedError("the window has not a number for each dimension")
    if auto_pad in ("NOTSET", ""):
        return (list(pads) if pads else [0] * (2 * rank)), stride, dilation
    if auto_pad == "VALID":
        return [0] * (2 * rank), stride, dilation
    if auto_pad not in ("SAME_UPPER", "SAME_LOWER"):
        raise UnsupportedError(f"auto_pad={auto_pad!r} is not supported")
    before, after = [], []
    for extent, k, s, d in zip(graph.shape_of(x)[2:], kernel, stride, dilation, strict=True):
        size = number(extent)
        if not isinstance(size, int) and s != 1:
            raise UnsupportedError("the padding depends on a dynamic extent; use pads")
        last = (
            0
            if not isinstance(size, int)
            else ((size + s - 1) // s - 1) * s + (k - 1) * d + 1 - size
        )
        total = max(last, 0) if isinstance(size, int) else (k - 1) * d
        small, large = total // 2, total - total // 2
        before.append(small if auto_pad == "SAME_UPPER" else large)
        after.append(large if auto_pad == "SAME_UPPER" else small)
    return [*before, *after], stride, dilation


def kernel_of(graph: Graph, weight: Any) -> list[int]:
    """The extents of the windows of a convolution.

    Raises:
        UnsupportedError: if they are not known.
    """
    kernel = [number(extent) for extent in graph.shape_of(weight)[2:]]
    if not all(isinstance(extent, int) for extent in kernel):
        raise UnsupportedError("the extents of the weight must be known")
    return kernel


@converts("Conv")
def convolution(
    graph: Graph, x: Any, weight: Any, bias: Any = None, *, auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """A convolution."""
    value = convolved(graph, x, weight, auto_pad, dilations, group, pads, strides)
    return with_bias(graph, graph.emit(value), bias)


def convolved(
    graph: Graph, x: Any, weight: Any, auto_pad: str, dilations: Any, group: int, pads: Any,
    strides: Any, out_dtype: str | None = None,
) -> Call:  # fmt: skip
    """A convolution without bias."""
    kernel = kernel_of(graph, weight)
    if len(kernel) not in _FORWARD:
        raise UnsupportedError(f"a convolution of {len(kernel)} dimensions is not supported")
    padding, stride, dilation = window(graph, x, kernel, auto_pad, pads, strides, dilations)
    return _FORWARD[len(kernel)](
        x, weight, strides=stride, padding=padding, dilation=dilation, groups=group,
        out_dtype=out_dtype,
    )  # fmt: skip


def with_bias(graph: Graph, value: Any, bias: Any) -> Any:
    """`value` plus a number for each channel."""
    if bias is None:
        return value
    rank = graph.rank_of(value) - 2
    return op.add(value, graph.reshape(bias, [1, graph.shape_of(bias)[0], *[1] * rank]))


@converts("ConvTranspose")
def transposed_convolution(
    graph: Graph, x: Any, weight: Any, bias: Any = None, *, auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:  # fmt: skip
    """The transpose of a convolution."""
    kernel = kernel_of(graph, weight)
    rank = len(kernel)
    if rank not in _TRANSPOSED:
        raise UnsupportedError(f"a convolution of {rank} dimensions is not supported")
    stride = list(strides) if strides else [1] * rank
    dilation = list(dilations) if dilations else [1] * rank
    extra = list(output_padding) if output_padding else [0] * rank
    padding = list(pads) if pads else [0] * (2 * rank)
    if output_shape or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        padding, extra = _padding_for(
            graph, x, kernel, stride, dilation, extra, list(output_shape or ()), auto_pad
        )
    # What the convolution here cannot leave out, or add, is cut or padded behind it.
    value = graph.emit(
        _TRANSPOSED[rank](
            x, weight, strides=stride, padding=[0] * (2 * rank), dilation=dilation, groups=group
        )
    )
    for n in range(rank):
        behind = extra[n] - padding[rank + n]
        if behind > 0:
            widths = [0] * (2 * (rank + 2))
            widths[2 * (n + 2) + 1] = behind
            value = graph.emit(op.nn.pad(value, widths))
        if padding[n] or behind < 0:
            extent = graph.shape_of(value)[n + 2]
            end = extent + min(behind, 0)
            value = graph.emit(op.strided_slice(value, [n + 2], [padding[n]], [end]))
    return with_bias(graph, value, bias)


def _padding_for(
    graph: Graph, x: Any, kernel: list[int], stride: list[int], dilation: list[int],
    extra: list[int], output_shape: list[int], auto_pad: str,
) -> tuple[list[int], list[int]]:  # fmt: skip
    """The padding for which the result has a certain shape, and the elements behind it."""
    before, after = [], []
    extents = [number(extent) for extent in graph.shape_of(x)[2:]]
    for n, extent in enumerate(extents):
        if not isinstance(extent, int):
            raise UnsupportedError("the shape of the result needs known extents")
        wanted = output_shape[n] if output_shape else extent * stride[n]
        full = stride[n] * (extent - 1) + extra[n] + (kernel[n] - 1) * dilation[n] + 1
        total = full - wanted
        if total < 0:
            extra[n] -= total
            total = 0
        small, large = total // 2, total - total // 2
        before.append(small if auto_pad == "SAME_UPPER" else large)
        after.append(large if auto_pad == "SAME_UPPER" else small)
    return [*before, *after], extra


@converts("Det")
def determinant(graph: Graph, x: Any) -> Any:
    """The determinants of matrices, by the minors of their first rows."""
    *outer, rows, columns = (number(extent) for extent in graph.shape_of(x))
    if rows != columns or rows not in range(1, 5):
        raise UnsupportedError(f"the determinant of {rows} by {columns} is not supported")
    elements = graph.emit(op.split(graph.reshape(x, [*outer, rows * rows]), rows * rows, -1))
    grid = [[graph.emit(elements[i * rows + j]) for j in range(rows)] for i in range(rows)]
    return graph.reshape(graph.emit(_minor(grid, list(range(rows)))), outer)


def _minor(grid: list[list[Any]], columns: list[int]) -> Any:
    """The determinant of the last rows and some columns, as many of both."""
    row = grid[len(grid) - len(columns)]
    if len(columns) == 1:
        return row[columns[0]]
    total: Any = None
    for position, column in enumerate(columns):
        rest = [other for other in columns if other != column]
        term = op.multiply(row[column], _minor(grid, rest))
        combine = op.subtract if position % 2 else op.add
        total = term if total is None else combine(total, term)
    return total
