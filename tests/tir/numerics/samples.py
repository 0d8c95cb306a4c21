"""Arguments for tests of mathematical functions: all exponents, dense ranges, special values."""

from __future__ import annotations

import numpy as np

COUNT = 64_000


def special_values(dtype):
    """NaN, infinities, signed zeros, denormals, extremes, and borders of the expansions."""
    limits = np.finfo(dtype)
    positive = np.array(
        [
            0.0, limits.smallest_subnormal, limits.tiny / 3, limits.tiny, limits.eps, 0.25, 0.5,
            0.625, 0.925, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 100.0, 1e4, 1e30, limits.max, np.inf,
        ],
        dtype,
    )  # fmt: skip
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def samples_of(dtype, seed=0):
    """At least 200,000 numbers."""
    rng = np.random.default_rng(seed)
    limits = np.finfo(dtype)
    near_one = 1.0 + rng.uniform(-1, 1, COUNT) * 2.0 ** rng.uniform(-limits.nmant, 0, COUNT)
    parts = [
        _any_bits(rng, dtype),
        rng.uniform(-2, 2, COUNT),
        rng.normal(0, 20, COUNT),
        near_one * rng.choice([-1.0, 1.0], COUNT),
        # Where exponentials overflow, become denormal and vanish.
        rng.uniform(-1.1, 1.1, COUNT // 4) * np.log(float(limits.max)),
        # Multiples of pi / 2, where reductions of angles cancel most.
        rng.integers(-(10**5), 10**5, COUNT // 4) * (np.pi / 2),
    ]
    return np.concatenate([special_values(dtype), *(part.astype(dtype) for part in parts)])


def pairs_of(dtype, *, positive_first):
    """Two arrays of at least 200,000 numbers; with small and large exponents for powers."""
    rng = np.random.default_rng(1)
    first, second = samples_of(dtype, 2), rng.permutation(samples_of(dtype, 3))
    if positive_first:
        # Most powers of negative numbers are NaN: keep a quarter of them.
        keep = rng.random(len(first)) < 0.25
        first = np.where(keep, first, np.abs(first))
    special = special_values(dtype)
    crossed = np.meshgrid(special, special)
    return (
        np.concatenate([first, crossed[0].ravel()]),
        np.concatenate([second, crossed[1].ravel()]),
    )


def _any_bits(rng, dtype):
    unsigned = np.uint32 if np.dtype(dtype).itemsize == 4 else np.uint64
    return rng.integers(0, np.iinfo(unsigned).max, COUNT, unsigned, endpoint=True).view(dtype)
