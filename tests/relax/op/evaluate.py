"""Graph operators applied to arrays: inferred, legalised, and run in the reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest
from tests.relax.builders import bindings_in, module_of

from tilewright import relax
from tilewright.ir.expr import Var
from tilewright.relax.interpreter import evaluate as run
from tilewright.relax.op.table import operator_of
from tilewright.relax.struct_info import TensorStructInfo, TupleStructInfo
from tilewright.relax.transform import LegalizeOps

KNOWN = ("shape", "symbolic", "rank")
"""What may be known of the extents of arrays while a graph is made."""


KINDS = pytest.mark.parametrize("known", KNOWN)


def array(*shape, dtype="float32"):
    """The numbers 0, 1, 2, ... in a shape."""
    return np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)


def same(result, expected):
    """The shapes and the elements must be equal."""
    assert result.shape == np.shape(expected)
    np.testing.assert_array_equal(result, expected)


def evaluate(function, *arguments, known="shape"):
    """What graph operators compute of some arrays.

    Inference and legalisation are checked on the way: the evaluator compares each value with what
    is known of it.

    Args:
        function: from graph expressions, one for each array, and the other arguments as they are,
            to a call.
        arguments: arrays, and tuples of them, become parameters.
        known: what is known of the extents: the numbers (``"shape"``), that there are some
            (``"symbolic"``), or only how many (``"rank"``).
    """
    params, values, data = [], [], []
    for position, argument in enumerate(arguments):
        info = _info(argument, known, f"n{position}")
        if info is None:
            values.append(argument)
            continue
        params.append(relax.Var(f"x{position}", info))
        values.append(params[-1])
        data.append(argument)
    module = module_of(params, lambda builder: builder.emit(function(*values)))
    result = run(module, *data)
    lowered = LegalizeOps()(module)
    for binding in bindings_in(lowered["main"]):
        entry = operator_of(binding.value)
        assert entry is None or entry.legalize is None, binding
    _same(run(lowered, *data), result)
    return result


def _info(argument, known, name):
    if isinstance(argument, tuple) and argument and isinstance(argument[0], np.ndarray):
        fields = [_info(field, known, f"{name}_{n}") for n, field in enumerate(argument)]
        return TupleStructInfo(fields)
    if not isinstance(argument, np.ndarray):
        return None
    dtype = str(argument.dtype)
    if known == "rank":
        return TensorStructInfo(None, dtype, ndim=argument.ndim)
    if known == "shape":
        return TensorStructInfo(argument.shape, dtype)
    return TensorStructInfo([Var(f"{name}_{n}", "int64") for n in range(argument.ndim)], dtype)


def _same(one, other):
    if isinstance(one, tuple):
        for a, b in zip(one, other, strict=True):
            _same(a, b)
    else:
        np.testing.assert_array_equal(one, other)


def infer(call):
    """The struct info of a call of parameters."""
    return relax.BlockBuilder().normalize(call).struct_info


def tensor(*shape, dtype="float32"):
    """A parameter."""
    return relax.Var("x", TensorStructInfo(shape, dtype))
