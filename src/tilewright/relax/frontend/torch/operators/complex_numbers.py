"""Complex numbers, as pairs of arrays, and Fourier transforms of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright import topi
from tilewright.relax import op
from tilewright.relax.frontend.compositions import product
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.fourier import Complex, is_possible, transform, whole
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.operators.slices import part
from tilewright.relax.frontend.torch.table import (
    convert_complex_by,
    converter_of,
    converts,
    converts_complex,
)

# --- from and to real numbers -----------------------------------------------------------------


@converts("aten.view_as_complex")
def view_as_complex(graph: Graph, x: Any) -> Complex:
    """Pairs in the last dimension as complex numbers."""
    shape = graph.shape_of(x)[:-1]
    return Complex(*(graph.reshape(part(graph, x, -1, n, 1), shape) for n in range(2)))


@converts("aten.complex")
def complex_of(graph: Graph, real: Any, imaginary: Any) -> Complex:
    """Complex numbers with these parts."""
    return Complex(*(graph.emit(op.broadcast_to(x, graph.shape)) for x in (real, imaginary)))


@converts("aten.polar")
def polar(graph: Graph, radius: Any, angle: Any) -> Complex:
    """Complex numbers with these absolute values and angles."""
    parts = (op.multiply(radius, op.cos(angle)), op.multiply(radius, op.sin(angle)))
    return Complex(*map(graph.emit, parts))


@converts_complex("aten.view_as_real")
def view_as_real(graph: Graph, x: Complex) -> Any:
    """Complex numbers as pairs in a new last dimension."""
    return graph.emit(op.stack(list(x), -1))


@converts_complex("aten.abs")
def absolute(graph: Graph, x: Complex) -> Any:
    """Absolute values, also of numbers whose squares are too large or too small."""
    size = [graph.emit(op.abs(component)) for component in x]
    most, least = op.maximum(*size), op.minimum(*size)
    ratio = graph.emit(op.where(op.equal(most, 0.0), 0.0, op.divide(least, most)))
    return graph.emit(op.multiply(most, op.sqrt(op.add(op.multiply(ratio, ratio), 1.0))))


@converts_complex("aten._to_copy", "aten.to")
def converted(graph: Graph, x: Complex, *_: Any, **__: Any) -> Any:
    """The same numbers in another dtype, or their real parts."""
    parts = Complex(*(graph.cast(component, graph.dtype) for component in x))
    return parts if graph.result.dtype.is_complex else parts.real


# --- arithmetic -------------------------------------------------------------------------------


def _as_complex(graph: Graph, x: Any, like: Complex) -> Complex:
    """An operand, which may be real or a number of Python, as a complex one."""
    dtype = graph.dtype_of(like.real)
    if isinstance(x, Complex):
        return x
    if isinstance(x, complex):
        return Complex(graph.operand(x.real, dtype), graph.operand(x.imag, dtype))
    return Complex(graph.operand(x, dtype), None)


def _pair(graph: Graph, x: Any, y: Any) -> tuple[Complex, Complex]:
    like = x if isinstance(x, Complex) else y
    return _as_complex(graph, x, like), _as_complex(graph, y, like)


@converts_complex("aten.mul")
def multiply(graph: Graph, x: Any, y: Any) -> Complex:
    """Products."""
    (a, b), (c, d) = _pair(graph, x, y)
    if b is None or d is None:
        factor, (real, imaginary) = (a, (c, d)) if b is None else (c, (a, b))
        return Complex(*(graph.emit(op.multiply(p, factor)) for p in (real, imaginary)))
    real = op.subtract(op.multiply(a, c), op.multiply(b, d))
    imaginary = op.add(op.multiply(a, d), op.multiply(b, c))
    return Complex(graph.emit(real), graph.emit(imaginary))


@converts_complex("aten.div")
def divide(graph: Graph, x: Any, y: Any) -> Complex:
    """Quotients."""
    (a, b), (c, d) = _pair(graph, x, y)
    if d is None:
        return Complex(graph.emit(op.divide(a, c)), graph.emit(op.divide(b, c)))
    square = graph.emit(op.add(op.multiply(c, c), op.multiply(d, d)))
    inverse = Complex(
        graph.emit(op.divide(c, square)), graph.emit(op.divide(op.negative(d), square))
    )
    return multiply(graph, x, inverse)


def _sum(function: Any) -> Any:
    """The conversion of ``add`` or ``sub``."""

    def convert(graph: Graph, x: Any, y: Any, *, alpha: Any = 1) -> Complex:
        (a, b), (c, d) = _pair(graph, x, y if alpha == 1 else multiply(graph, y, alpha))
        zero = graph.operand(0.0, graph.dtype_of(b if d is None else d))
        imaginary = function(zero if b is None else b, zero if d is None else d)
        shape = graph.shape
        return Complex(
            graph.emit(op.broadcast_to(function(a, c), shape)),
            graph.emit(op.broadcast_to(imaginary, shape)),
        )

    return convert


def _negated(graph: Graph, x: Any) -> Any:
    return graph.emit(op.negative(x))


def _by_part(graph: Graph, *arguments: Any, **options: Any) -> Complex:
    """The real parts and the imaginary parts, both rearranged as real numbers are."""
    convert = converter_of(graph.node.target)
    assert convert is not None, "what rearranges real numbers has a conversion"
    parts = (
        convert(graph, *(_part_of(argument, index) for argument in arguments), **options)
        for index in range(2)
    )
    return Complex(*map(graph.emit, parts))


def _part_of(argument: Any, index: int) -> Any:
    if isinstance(argument, Complex):
        return argument[index]
    if isinstance(argument, list):
        return [_part_of(item, index) for item in argument]
    return argument


_REARRANGING = (
    "view", "_unsafe_view", "reshape", "permute", "transpose", "t", "unsqueeze", "squeeze",
    "expand", "slice", "select", "cat", "stack", "flip", "roll", "clone", "alias", "detach",
    "contiguous", "index_select", "constant_pad_nd", "repeat", "sum",
)  # fmt: skip
convert_complex_by({
    " ".join(f"aten.{name}" for name in _REARRANGING): _by_part,
    "aten.add": _sum(op.add),
    "aten.sub": _sum(op.subtract),
    "aten.neg": lambda graph, x: Complex(*(_negated(graph, component) for component in x)),
    "aten._conj aten._conj_physical aten.conj_physical":
        lambda graph, x: Complex(x.real, _negated(graph, x.imaginary)),
    "aten.resolve_conj aten.resolve_neg": lambda graph, x: x,
    "aten.real": lambda graph, x: x.real,
    "aten.imag": lambda graph, x: x.imaginary,
    "aten.angle": lambda graph, x: graph.emit_te(topi.atan2, x.imaginary, x.real),
})  # fmt: skip


# --- Fourier transforms -----------------------------------------------------------------------


def _size(graph: Graph, x: Any, dim: int) -> int:
    size = number(graph.shape_of(x)[dim])
    if not isinstance(size, int):
        raise UnsupportedError("a Fourier transform of dynamic size is not supported")
    if not is_possible(size):
        raise UnsupportedError(f"a Fourier transform of {size} elements is not supported")
    return size


def _along(graph: Graph, x: Complex, dims: Sequence[int], is_inverse: bool) -> Complex:
    """The transform along several dimensions."""
    rank = graph.rank_of(x.real)
    for dim in dims:
        size = _size(graph, x.real, dim)
        order = [n for n in range(rank) if n != dim % rank]
        order.append(dim % rank)
        back = [order.index(n) for n in range(rank)]
        last = Complex(*(None if p is None else graph.permute(p, order) for p in x))
        result = transform(graph, last, size, is_inverse)
        x = Complex(*(graph.permute(p, back) for p in result))
    return x


def _scaled(graph: Graph, x: Complex, count: Any, normalization: int) -> Complex:
    """The elements, divided by their number (2), by its root (1), or as they are (0)."""
    if normalization == 0:
        return x
    factor = 1 / count if normalization == 2 else 1 / math.sqrt(count)
    scale = graph.operand(factor, graph.dtype_of(x.real))
    return Complex(*(graph.emit(op.multiply(p, scale)) for p in x))


def _count(graph: Graph, x: Any, dims: Sequence[int]) -> int:
    return product([_size(graph, x, dim) for dim in dims])


@converts("aten._fft_r2c")
def transform_real(
    graph: Graph, x: Any, dims: Sequence[int], normalization: int, onesided: bool
) -> Complex:
    """The transform of real numbers; `onesided` leaves out what follows from the rest."""
    *others, last = dims
    value = _along(graph, Complex(x, None), [last], is_inverse=False)
    if onesided:
        kept = graph.shape[last]
        value = Complex(*(part(graph, p, last, 0, kept) for p in value))
    value = _along(graph, value, others, is_inverse=False)
    return _scaled(graph, value, _count(graph, x, dims), normalization)


@converts_complex("aten._fft_c2c")
def transform_complex(
    graph: Graph, x: Complex, dims: Sequence[int], normalization: int, forward: bool
) -> Complex:
    """The transform of complex numbers."""
    value = _along(graph, x, dims, is_inverse=not forward)
    return _scaled(graph, value, _count(graph, x.real, dims), normalization)


@converts_complex("aten._fft_c2r")
def transform_to_real(
    graph: Graph, x: Complex, dims: Sequence[int], normalization: int, size: Any
) -> Any:
    """The real numbers of which the first half of a transform is given."""
    *others, last = dims
    x = _along(graph, x, others, is_inverse=True)
    extent, half = number(size), _size(graph, x.real, last)
    if not isinstance(extent, int) or half != extent // 2 + 1:
        raise UnsupportedError("these extents of a Fourier transform are not supported")
    value = _along(graph, whole(graph, x, extent, last), [last], is_inverse=True)
    return _scaled(graph, value, _count(graph, value.real, dims), normalization).real
