"""Random contents of arrays and scalars, with the edges of each dtype among them."""

from __future__ import annotations

import numpy as np

from tilewright.ir import DType


def random_values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], exact: bool):
    """An array of random values of a scalar type.

    Args:
        rng: where randomness comes from.
        dtype: scalar type.
        shape: of the array.
        exact: small whole numbers only; otherwise extremes, and NaN and infinities of floats.
    """
    element = DType(dtype)
    if element.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    small = rng.integers(0 if element.is_uint else -4, 5, shape)
    if exact:
        return small.astype(element.numpy)
    if element.is_float:
        values = (rng.standard_normal(shape) * 3).astype(element.numpy)
        edges = np.array([0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 6e-8, 3e4])
        chosen = edges[rng.integers(0, len(edges), shape)].astype(element.numpy)
    else:
        values = small.astype(element.numpy)
        low, high = element.min_int, element.max_int
        edges = np.array([low, low + 1, high, high - 1, high // 3], dtype=object)
        chosen = edges[rng.integers(0, len(edges), shape)].astype(element.numpy)
    return np.where(rng.random(shape) < 0.3, chosen, values).astype(element.numpy)


def random_scalar(rng: np.random.Generator, dtype: str, exact: bool):
    """A Python number of a scalar type."""
    value = random_values(rng, dtype, (1,), exact)[0]
    element = DType(dtype)
    return float(value) if element.is_float else bool(value) if element.is_bool else int(value)
