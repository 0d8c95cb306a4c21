"""Elements of resized arrays as sums of the elements around their places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright import topi
from tilewright.relax.expr import const
from tilewright.relax.frontend.emitter import Emitter


class Kernel(NamedTuple):
    """How much an element counts.

    Attributes:
        radius: from what distance on it does not.
        weights: from distances.
    """

    radius: int
    weights: Callable[[np.ndarray], np.ndarray]


TRIANGLE: Final = Kernel(1, lambda distance: np.maximum(1 - np.abs(distance), 0))
"""Linear interpolation."""


def cubic(a: float) -> Kernel:
    """Cubic convolution; `a` is the slope where the distance is 1."""

    def weights(distance: np.ndarray) -> np.ndarray:
        x = np.abs(distance)
        inner = ((a + 2) * x - (a + 3)) * x * x + 1
        outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, inner, np.where(x < 2, outer, 0))

    return Kernel(2, weights)


class Table(NamedTuple):
    """For each element of a result, which elements it is the sum of, and their weights."""

    elements: np.ndarray
    weights: np.ndarray


def table(
    places: np.ndarray, extent: int, kernel: Kernel, width: float = 1.0, *, excludes: bool = False
) -> Table:
    """The elements around places.

    Args:
        places: where the elements of the result are.
        extent: number of elements.
        kernel: how much each counts.
        width: how much wider the kernel is, as it has to be where an image becomes smaller.
        excludes: whether elements outside do not count; otherwise those at the border repeat there.
    """
    place = places.astype("float64")[:, None]
    first = int(np.floor(-kernel.radius * width)) + 1
    elements = np.ceil(place) - 1 + np.arange(first, 2 - first)
    weights = kernel.weights((elements - place) / width)
    if excludes:
        weights = np.where((elements >= 0) & (elements < extent), weights, 0)
    if excludes or width != 1:
        weights = weights / weights.sum(1, keepdims=True)
    used = np.flatnonzero(weights.any(0))
    columns = slice(used[0], used[-1] + 1)
    inside = np.clip(elements[:, columns], 0, extent - 1).astype("int64")
    return Table(inside, weights[:, columns])


def resampled(graph: Emitter, x: Any, axis: int, by: Table) -> Any:
    """An array with sums of its elements along a dimension."""
    dtype = "float64" if graph.dtype_of(x) == "float64" else "float32"
    operands = const(by.elements, "int64"), const(by.weights, dtype)
    return graph.emit_te(topi.image.resample, x, *operands, axis)
