"""Expressions: the interpreter against numpy's scalars, Python's integers and exact fractions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.counts import count_program
from tests.property.evaluate import evaluate
from tests.property.expressions import DTYPES, Expressions, Options
from tests.property.harness import assert_same
from tests.property.values import random_scalar, random_values

from tilewright.ir import DType, Expr, Ramp, Var, const
from tilewright.tir import Buffer, BufferStore, PrimFunc, decl_buffer
from tilewright.tir.interpreter import interpret

LANES = 4


class Leaves:
    """Parameters and buffers of the dtypes that an expression asks for."""

    def __init__(self, draw) -> None:
        self.draw = draw
        self.scalars: list[Var] = []
        self.buffers: list[Buffer] = []

    def __call__(self, dtype: DType) -> Expr:
        """An operand of a scalar or vector dtype."""
        if dtype.is_vector:
            name = f"buffer_{len(self.buffers)}"
            buffer = decl_buffer((2 * dtype.lanes,), dtype.element, name)
            self.buffers.append(buffer)
            stride = self.draw(st.sampled_from([1, 2, -1]))
            start = const(dtype.lanes if stride < 0 else 0)
            return buffer[Ramp(start, const(stride), dtype.lanes)]
        known = [var for var in self.scalars if var.dtype is dtype]
        if known and self.draw(st.booleans()):
            return self.draw(st.sampled_from(known))
        self.scalars.append(Var(f"scalar_{len(self.scalars)}", dtype))
        return self.scalars[-1]


@st.composite
def cases(draw, lanes=1, raw=False):
    """An expression, its leaves, and a seed for their values."""
    leaves = Leaves(draw)
    dtype = DType(draw(st.sampled_from(DTYPES))).with_lanes(lanes)
    expr = Expressions(draw, leaves, Options(raw=raw)).make(dtype, 4)
    return expr, leaves, draw(st.integers(0, 2**32))


def check(expr: Expr, leaves: Leaves, seed: int) -> None:
    """Compare the interpreter with `evaluate`."""
    rng = np.random.default_rng(seed)
    values = {var: random_scalar(rng, var.dtype, False) for var in leaves.scalars}
    for buffer in leaves.buffers:
        values[buffer] = random_values(rng, buffer.dtype, (int(buffer.shape[0]),), False)
    lanes = expr.dtype.lanes
    out = decl_buffer((lanes,), expr.dtype.element, "out")
    index = Ramp(const(0), const(1), lanes) if lanes > 1 else const(0)
    params = (*leaves.scalars, *(buffer.data for buffer in (*leaves.buffers, out)))
    result = np.zeros(lanes, expr.dtype.numpy)
    interpret(PrimFunc(params, BufferStore(out, expr, (index,))), *values.values(), result)
    assert_same(result, evaluate(expr, values))
    count_program("interpreter against numpy, expressions")


@given(cases(raw=True))
def test_scalar_expressions(case):
    check(*case)


@given(cases(lanes=LANES, raw=True))
def test_vector_expressions(case):
    check(*case)


@given(cases())
def test_folded_scalar_expressions(case):
    check(*case)


@given(cases(lanes=LANES))
def test_folded_vector_expressions(case):
    check(*case)
