"""Convolutions with fewer multiplications: products of transformed tiles.

Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015). A tile of ``m x m``
results of a kernel of ``r x r`` depends on ``n x n`` elements of the image, where
``n = m + r - 1``. Image tiles and kernels are transformed so that the tile takes ``n * n``
multiplications for each pair of channels instead of ``m * m * r * r``; these are a product of
matrices for each of the ``n * n`` places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray as Array

from tilewright import te
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, Select, const_int_value
from tilewright.te import Tensor
from tilewright.topi.nn.convolution import pad_spatial
from tilewright.topi.nn.window import Padding, padding_of, simplified

POINTS: Final = {
    4: (Fraction(0), Fraction(1), Fraction(-1)),
    6: (Fraction(0), Fraction(5, 8), Fraction(-5, 8), Fraction(3, 2), Fraction(-3, 2)),
}
"""The points at which polynomials are evaluated, beside infinity, by the extent of an image tile.

They come in pairs of opposite sign, and have few bits. Of such with eighths, those for 6 have the
least error: less than half of that of the usual 1 and 2."""

TRANSFORMED_TOGETHER: Final = 4096
"""Kernels of which what is computed in between, in double precision, stays near."""

Matrix = tuple[tuple[Fraction, ...], ...]


class Transforms(NamedTuple):
    """The matrices of an algorithm; a tile of results is ``A' [(G g G') * (B' d B)] A`` for the
    kernel ``g`` and the tile ``d`` of the image.

    Attributes:
        image: ``B'``, of shape ``(n, n)``.
        kernel: ``G``, ``(n, r)``.
        result: ``A'``, ``(m, n)``.
    """

    image: Matrix
    kernel: Matrix
    result: Matrix


@cache
def winograd_transforms(results: int, kernel: int) -> Transforms:
    """The algorithm of Toom and Cook for so many results in each dimension.

    Args:
        results: how many results of a row are computed from one tile.
        kernel: the extent of the kernel.

    Raises:
        ArgumentValueError: if there are no points for a tile of that size.
    """
    extent = results + kernel - 1
    if extent not in POINTS or results < 1 or kernel < 1:
        raise ArgumentValueError(
            f"winograd_transforms: a tile of the image has an extent in {sorted(POINTS)}; "
            f"{results} results of a kernel of {kernel} need {extent}"
        )
    points = POINTS[extent]
    images, kernels = [], []
    for n, point in enumerate(points):
        others = [*points[:n], *points[n + 1 :]]
        scale = _value(_with_roots(others), point)
        images.append((*_with_roots(others), Fraction(0)))
        kernels.append(tuple(point**power / scale for power in range(kernel)))
    images.append(tuple(_with_roots(points)))
    kernels.append((Fraction(0),) * (kernel - 1) + (Fraction(1),))
    rows = [[*(point**power for point in points), Fraction(0)] for power in range(results)]
    rows[-1][-1] = Fraction(1)  # the point at infinity
    return Transforms(tuple(images), tuple(kernels), tuple(map(tuple, rows)))


def _with_roots(roots: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the monic polynomial with these roots, the constant one first."""
    found = [Fraction(1)]
    for root in roots:
        shifted, same = [Fraction(0), *found], [*found, Fraction(0)]
        found = [low - root * high for low, high in zip(shifted, same, strict=True)]
    return found


def _value(polynomial: Sequence[Fraction], point: Fraction) -> Fraction:
    return sum((c * point**n for n, c in enumerate(polynomial)), Fraction(0))


def winograd_weights(weights: Array[Any], results: int) -> Array[Any]:
    """Kernels as `winograd_conv2d_nhwc` takes them.

    Args:
        weights: ``(r, r, channels, filters)``.
        results: see there.

    Returns:
        ``(n, n, channels, filters)``, of the same dtype.
    """
    kernel, _, channels, filters = weights.shape
    matrix = np.array(winograd_transforms(results, kernel).kernel, "float64")
    extent, count = len(matrix), channels * filters
    flat = weights.reshape(kernel, kernel, count)
    transformed = np.empty((extent, extent, count), weights.dtype)
    for start in range(0, count, TRANSFORMED_TOGETHER):
        part = slice(start, start + TRANSFORMED_TOGETHER)
        rows = (matrix @ flat[..., part].reshape(kernel, -1)).reshape(extent, kernel, -1)
        transformed[..., part] = matrix @ rows
    return transformed.reshape(extent, extent, channels, filters)


def winograd_conv2d_nhwc(data: Tensor, weights: Tensor, results: int, padding: Any = 0) -> Tensor:
    """A convolution with stride 1 as products of transformed tiles.

    Args:
        data: the images, ``(batch, height, width, channels)`` of a float dtype.
        weights: `winograd_weights` of the kernels, ``(n, n, channels, filters)``.
        results: how many rows and columns of results a tile has.
        padding: elements added around the images; see `tilewright.topi.nn.window.padding_of`.

    Returns:
        ``(batch, rows, columns, filters)``, of the dtype of `data`.

    Raises:
        ShapeError: for extents of images that are not constant, or shapes that do not fit.
        ArgumentValueError: if there are no points for tiles of that size.
    """
    extent = const_int_value(weights.shape[0]) or 0
    transforms = winograd_transforms(results, extent - results + 1)
    kernel = len(transforms.kernel[0])
    amounts = padding_of("winograd_conv2d_nhwc", padding, (kernel, kernel), (1, 1))
    rows, columns = _rows_and_columns(data, weights, kernel, amounts)
    batch, channels, filters = data.shape[0], data.shape[3], weights.shape[3]
    down, across = -(-rows // results), -(-columns // results)
    rest = (down * results - rows, across * results - columns)
    after = tuple(simplified(a + b) for a, b in zip(amounts.after, rest, strict=True))
    data = pad_spatial(data, (1, 2), Padding(amounts.before, after))
    tiles = simplified(batch * (down * across))
    number = partial(as_expr, dtype=tiles.dtype)  # of the dtype of the other extents

    def element(tile: Expr, row: Expr, column: Expr, channel: Expr) -> Expr:
        image, place = floordiv(tile, down * across), floormod(tile, down * across)
        first = (floordiv(place, across) * results, floormod(place, across) * results)
        return data[image, first[0] + row, first[1] + column, channel]

    products = _products(element, weights, transforms, (*[number(extent)] * 2, tiles, channels))
    collected = _results(products, transforms, number(results))

    def place(image: Expr, i: Expr, j: Expr, f: Expr) -> Expr:
        tile = (image * down + floordiv(i, results)) * across + floordiv(j, results)
        return collected[floormod(i, results), floormod(j, results), tile, f]

    extents = (batch, number(rows), number(columns), filters)
    return te.compute(extents, place, "winograd_conv2d_nhwc")


def _rows_and_columns(
    data: Tensor, weights: Tensor, kernel: int, amounts: Padding
) -> tuple[int, int]:
    """The extents of the result."""
    rows, columns = (
        const_int_value(simplified(data.shape[axis] + before + after - kernel + 1)) or 0
        for axis, before, after in zip((1, 2), *amounts, strict=True)
    )
    fits = const_int_value(simplified(weights.shape[2] - data.shape[3])) == 0
    if min(rows, columns) < 1 or not fits:
        raise ShapeError(
            f"winograd_conv2d_nhwc: images {tuple(data.shape)}, whose height and width must be "
            f"constant, do not fit weights {tuple(weights.shape)} of a kernel of {kernel}"
        )
    return rows, columns


def _products(
    element: Callable[..., Expr], weights: Tensor, transforms: Transforms, shape: Sequence[Any]
) -> Tensor:
    """The product of the transformed images and weights, for each place of a tile."""
    extent, _, tiles, channels = shape
    columns = te.compute(
        shape,
        lambda x, y, tile, c: _row(transforms.image, x, lambda a: element(tile, a, y, c)),
        "columns",
    )
    transformed = te.compute(
        shape,
        lambda x, y, tile, c: _row(transforms.image, y, lambda b: columns[x, b, tile, c]),
        "transformed",
    )
    step = te.reduce_axis((0, channels), "rc")
    return te.compute(
        (extent, extent, tiles, weights.shape[3]),
        lambda x, y, tile, f: te.sum(transformed[x, y, tile, step] * weights[x, y, step, f], step),
        "products",
    )


def _results(products: Tensor, transforms: Transforms, size: Expr) -> Tensor:
    """The tiles of `size` x `size` results."""
    extent, _, tiles, filters = products.shape
    rows = te.compute(
        (size, extent, tiles, filters),
        lambda i, y, tile, f: _row(transforms.result, i, lambda x: products[x, y, tile, f]),
        "rows",
    )
    return te.compute(
        (size, size, tiles, filters),
        lambda i, j, tile, f: _row(transforms.result, j, lambda y: rows[i, y, tile, f]),
        "results",
    )


def _row(matrix: Matrix, which: Expr, operand: Callable[[int], Expr]) -> Expr:
    """A row of a matrix by a vector: a formula for each value of `which`."""
    formulas = [_combination(row, operand) for row in matrix]
    chosen = formulas[-1]
    for n in range(len(formulas) - 2, -1, -1):
        chosen = Select(which.equal(n), formulas[n], chosen)
    return chosen


def _combination(coefficients: Sequence[Fraction], operand: Callable[[int], Expr]) -> Expr:
    """The sum of some operands, each times a number."""
    total: Expr | None = None
    for n, coefficient in enumerate(coefficients):
        if coefficient == 0:
            continue
        value = operand(n)
        if coefficient != 1:
            value = value * as_expr(float(coefficient), value.dtype)
        total = value if total is None else total + value
    assert total is not None
    return total
