"""Discrete Fourier transforms as products with matrices.

A transform of ``a * b`` elements is ``b`` transforms of ``a``, a product with the twiddle factors,
and ``a`` transforms of ``b`` (Cooley and Tukey 1965), down to sizes that one matrix product does.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.relax import const, op
from tilewright.relax.frontend.emitter import Emitter

LARGEST_MATRIX: Final = 64
"""Sizes up to this are one product with a matrix."""

MOST_TERMS: Final = 1 << 24
"""Maximum number of elements of a matrix; only sizes with a large prime factor need that many."""


class Complex(NamedTuple):
    """An array of complex numbers: two arrays of one shape."""

    real: Any
    imaginary: Any


def is_possible(size: int) -> bool:
    """Whether a transform of `size` elements needs no matrix that is too large."""
    return size >= 1 and _largest_factor(size) ** 2 <= MOST_TERMS


def _largest_factor(size: int) -> int:
    """The size of the largest matrix of a transform."""
    first = _factor(size)
    return size if first == 1 else max(_largest_factor(first), _largest_factor(size // first))


def _factor(size: int) -> int:
    """The greatest factor up to the root of `size`; 1 where the transform is one product."""
    if size <= LARGEST_MATRIX:
        return 1
    return next(n for n in range(math.isqrt(size), 0, -1) if size % n == 0)


def transform(graph: Emitter, x: Complex, size: int, is_inverse: bool) -> Complex:
    """The transform along the last dimension, of extent `size`, which is not scaled.

    Args:
        graph: what the expressions are emitted into.
        x: the elements; an imaginary part that is None is 0.
        size: the extent of the last dimension.
        is_inverse: whether the exponents are positive.
    """
    first = _factor(size)
    sign = 1 if is_inverse else -1
    if first == 1:
        return multiplied(
            graph, x, sign * 2 * np.pi * np.outer(np.arange(size), np.arange(size)) / size
        )
    second = size // first
    outer = graph.shape_of(x.real)[:-1]
    swap = [*range(len(outer)), len(outer) + 1, len(outer)]

    def swapped(part: Any) -> Any:
        return None if part is None else graph.permute(part, swap)

    def parts(value: Complex, shape: list[Any]) -> Complex:
        return Complex(*(None if p is None else graph.reshape(p, shape) for p in value))

    grid = parts(x, [*outer, first, second])
    columns = transform(graph, Complex(*map(swapped, grid)), first, is_inverse)
    turned = turn(graph, columns, _angles(second, first, size, is_inverse))
    rows = transform(graph, Complex(*map(swapped, turned)), second, is_inverse)
    return parts(Complex(*map(swapped, rows)), [*outer, size])


def whole(graph: Emitter, half: Complex, size: int, axis: int) -> Complex:
    """The transform of `size` real numbers, given its first ``size // 2 + 1`` elements on an axis.

    The others are the conjugate numbers in the opposite order.
    """
    bounds = [axis], [1], [(size - 1) // 2 + 1]
    mirrored = [graph.emit(op.flip(op.strided_slice(part, *bounds), axis)) for part in half]
    mirrored[1] = graph.emit(op.negative(mirrored[1]))
    pairs = zip(half, mirrored, strict=True)
    return Complex(*(graph.emit(op.concat(pair, axis)) for pair in pairs))


def _angles(rows: int, columns: int, size: int, is_inverse: bool) -> np.ndarray:
    """The angle of the product of a row and a column, of which `size` are a full turn."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % size / size
    return (2 if is_inverse else -2) * np.pi * turns


def multiplied(graph: Emitter, x: Complex, angles: np.ndarray) -> Complex:
    """The product with the matrix of numbers of absolute value 1 that have these angles."""
    cosine, sine = _on_circle(graph, x, angles)
    real, imaginary = op.matmul(x.real, cosine), op.matmul(x.real, sine)
    if x.imaginary is not None:
        real = op.subtract(real, op.matmul(x.imaginary, sine))
        imaginary = op.add(imaginary, op.matmul(x.imaginary, cosine))
    return Complex(graph.emit(real), graph.emit(imaginary))


def turn(graph: Emitter, x: Complex, angles: np.ndarray) -> Complex:
    """Each element turned by an angle."""
    cosine, sine = _on_circle(graph, x, angles)
    real = op.subtract(op.multiply(x.real, cosine), op.multiply(x.imaginary, sine))
    imaginary = op.add(op.multiply(x.real, sine), op.multiply(x.imaginary, cosine))
    return Complex(graph.emit(real), graph.emit(imaginary))


def _on_circle(graph: Emitter, x: Complex, angles: np.ndarray) -> tuple[Any, Any]:
    dtype = graph.dtype_of(x.real)
    return const(np.cos(angles), dtype), const(np.sin(angles), dtype)
