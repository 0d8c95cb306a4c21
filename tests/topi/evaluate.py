"""Operators of topi applied to arrays, in the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import te
from tilewright.arith import Analyzer
from tilewright.ir.expr import Expr
from tilewright.te.tensor import Tensor
from tilewright.tir.interpreter import interpret
from tilewright.tir.substitute import substitute

BOTH = pytest.mark.parametrize("symbolic", [False, True], ids=["constant", "symbolic"])
"""Tensors of known extents, and of symbolic ones."""


def array(*shape, dtype="float32"):
    """The numbers 0, 1, 2, ... in a shape."""
    return np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)


def same(result, expected):
    """The shapes and the elements must be equal."""
    assert result.shape == np.shape(expected)
    np.testing.assert_array_equal(result, expected)


def evaluate(function, *arguments, symbolic=False):
    """What `function` computes of some arrays and other arguments.

    Args:
        function: from tensors, one for each array, and the other arguments as they are, to a
            tensor or several.
        arguments: arrays become tensors.
        symbolic: whether the extents of the tensors are variables instead of numbers.
    """
    sizes: dict[Expr, int] = {}
    values, tensors, arrays = [], [], []
    for position, argument in enumerate(arguments):
        if not isinstance(argument, np.ndarray):
            values.append(argument)
            continue
        shape = [_extent(position, n, e, sizes, symbolic) for n, e in enumerate(argument.shape)]
        tensors.append(te.placeholder(shape, str(argument.dtype), f"arg{position}"))
        arrays.append(argument)
        values.append(tensors[-1])
    result = function(*values)
    return interpreted(tensors, result, arrays, sizes)


def interpreted(tensors, result, arrays, sizes):
    """The numbers of a tensor, or of several.

    Args:
        tensors: those that they are computed from.
        result: the tensor or tensors.
        arrays: the numbers of `tensors`.
        sizes: those of symbolic extents.
    """
    outputs = [result] if isinstance(result, Tensor) else list(result)
    program = te.create_prim_func([*tensors, *outputs])
    empty = [np.full(_shape(out, sizes), 77).astype(out.dtype.numpy) for out in outputs]
    interpret(program, *arrays, *empty)
    return empty[0] if isinstance(result, Tensor) else empty


def _extent(position, n, extent, sizes, symbolic):
    if not symbolic:
        return extent
    size = te.size_var(f"n{position}_{n}", "int64")
    sizes[size] = extent
    return size


def _shape(tensor, sizes):
    numbers = {size: te.const(extent, str(size.dtype)) for size, extent in sizes.items()}
    return [Analyzer().simplify(substitute(e, numbers)).value for e in tensor.shape]
