"""Running operators on small arrays, in the reference interpreter."""

import numpy as np
from tests.topi.evaluate import interpreted

from tilewright import te


def run(operator, *arrays, dims=None):
    """The results of `operator`, a function of tensors, on arrays.

    Args:
        operator: from tensors to a tensor, or to several.
        arrays: its operands.
        dims: for each operand its extents, names for symbolic ones; by default all are constants.
    """
    named, sizes, tensors = {}, {}, []
    for position, array in enumerate(arrays):
        extents = array.shape if dims is None else dims[position]
        shape = []
        for extent, value in zip(extents, array.shape, strict=True):
            if isinstance(extent, str):
                extent = named.setdefault(extent, te.var(extent, "int64"))
                sizes[extent] = value
            shape.append(extent)
        tensors.append(te.placeholder(shape, str(array.dtype), f"x{position}"))
    return interpreted(tensors, operator(*tensors), [array.copy() for array in arrays], sizes)


def whole(*shape, dtype="float32", seed=0, low=-4, high=5):
    """Whole numbers, so that sums are exact in any order."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def real(*shape, dtype="float32", seed=0):
    """Normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
