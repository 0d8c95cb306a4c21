"""Running operators on small arrays, in the reference interpreter."""

import numpy as np

from tilewright import te
from tilewright.arith import Analyzer
from tilewright.ir import const
from tilewright.tir.interpreter import interpret
from tilewright.tir.substitute import substitute


def run(operator, *arrays, dims=None):
    """The results of `operator`, a function of tensors, on arrays.

    Args:
        operator: from tensors to a tensor, or to several.
        arrays: its operands.
        dims: for each operand its extents, names for symbolic ones; by default all are constants.
    """
    sizes, values = {}, {}
    tensors = []
    for position, array in enumerate(arrays):
        extents = array.shape if dims is None else dims[position]
        shape = []
        for extent, value in zip(extents, array.shape, strict=True):
            if isinstance(extent, str):
                extent = sizes.setdefault(extent, te.var(extent, "int64"))
                values[extent.name] = value
            shape.append(extent)
        tensors.append(te.placeholder(shape, str(array.dtype), f"x{position}"))
    results = operator(*tensors)
    several = isinstance(results, (list, tuple))
    listed = list(results) if several else [results]
    outputs = [
        np.zeros([evaluate(extent, sizes, values) for extent in result.shape], str(result.dtype))
        for result in listed
    ]
    function = te.create_prim_func([*tensors, *listed])
    interpret(function, *(array.copy() for array in arrays), *outputs)
    return outputs if several else outputs[0]


def evaluate(extent, sizes, values):
    """The value of an extent."""
    known = {var: const(values[name], str(var.dtype)) for name, var in sizes.items()}
    return int(Analyzer().simplify(substitute(extent, known)).value)


def whole(*shape, dtype="float32", seed=0, low=-4, high=5):
    """Whole numbers, so that sums are exact in any order."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def real(*shape, dtype="float32", seed=0):
    """Normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
