"""Graphs of one operator, legalised and evaluated; what was inferred of the result is checked."""

import numpy as np

from tilewright import relax
from tilewright.arith import Analyzer
from tilewright.ir import Var as Size
from tilewright.ir import const
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.interpreter import evaluate
from tilewright.tir.substitute import substitute


def compute(function, *arrays, known="shape"):
    """What a graph operator computes.

    Args:
        function: from graph values, one for each array, to a call.
        arrays: what the operands are.
        known: what is known of them while the graph is built: ``"shape"``, ``"symbolic"`` if each
            extent is a size of its own, or ``"rank"``.
    """
    sizes = {}
    params = [
        relax.Var(f"x{n}", struct_info(n, array, known, sizes)) for n, array in enumerate(arrays)
    ]
    builder = BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(function(*params))
        builder.emit_func_output(result)
    found = evaluate(relax.transform.LegalizeOps()(builder.get()), *arrays)
    check(result.struct_info, found, sizes)
    return found


def struct_info(position, array, known, sizes):
    """What is known of an operand."""
    dtype = str(array.dtype)
    if known == "rank":
        return relax.TensorStructInfo(None, dtype, ndim=array.ndim)
    if known == "shape":
        return relax.TensorStructInfo(array.shape, dtype)
    names = [Size(f"n{position}_{n}", "int64") for n in range(array.ndim)]
    sizes.update(zip(names, array.shape, strict=True))
    return relax.TensorStructInfo(names, dtype)


def check(info, value, sizes):
    """The value must be what inference said."""
    if isinstance(info, relax.TupleStructInfo):
        assert len(info.fields) == len(value)
        for field, part in zip(info.fields, value, strict=True):
            check(field, part, sizes)
        return
    assert info.ndim == value.ndim
    assert str(info.dtype) == str(value.dtype)
    if info.extents is not None:
        known = {size: const(extent, "int64") for size, extent in sizes.items()}
        extents = [Analyzer().simplify(substitute(e, known)) for e in info.extents]
        assert tuple(int(e.value) for e in extents) == value.shape


def infer(expr):
    """The struct info of an expression."""
    return BlockBuilder().normalize(expr).struct_info


def tensor(*shape, dtype="float32"):
    """A variable for an array; names stand for symbolic extents."""
    extents = [Size(e, "int64") if isinstance(e, str) else e for e in shape]
    return relax.Var("x", relax.TensorStructInfo(extents, dtype))


def whole(*shape, dtype="float32", seed=0, low=-4, high=5):
    """Whole numbers, so that sums are exact in any order."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def real(*shape, dtype="float32", seed=0):
    """Normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
