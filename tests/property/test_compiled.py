"""Random programs and expressions do natively what the interpreter does."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.property.harness import (
    assert_same,
    assert_same_outcome,
    count_program,
    memory_of,
    outcome,
)
from tests.property.programs import programs
from tests.property.test_expressions import LANES, cases
from tests.property.values import random_values
from tests.target.llvm.programs import native

import tilewright as tvm
from tilewright.ir import Ramp, const
from tilewright.target import Target
from tilewright.tir import BufferStore, LetStmt, PrimFunc, decl_buffer
from tilewright.tir.interpreter import interpret

TARGETS = [Target("llvm"), Target("llvm -num-cores=1"), Target("llvm -mattr=-avx512f,-avx512vl")]


@given(programs(), st.sampled_from(TARGETS))
def test_programs(program, target):
    expected = outcome(program.func, program)
    func = program.func.with_attr("global_symbol", "main")
    arguments = program.make_arguments()
    tvm.build(func, target=target)["main"](*arguments)
    assert_same_outcome(memory_of(arguments), expected)
    count_program("compiled")


@given(cases(raw=True))
def test_scalar_expressions(case):
    check(*case)


@given(cases(lanes=LANES, raw=True))
def test_vector_expressions(case):
    check(*case)


def check(expr, leaves, seed):
    """Compare native code with the interpreter; scalars come from arrays."""
    rng = np.random.default_rng(seed)
    scalars = [decl_buffer((1,), var.dtype, var.name) for var in leaves.scalars]
    sources = [*scalars, *leaves.buffers]
    arrays = [random_values(rng, b.dtype, (int(b.shape[0]),), False) for b in sources]
    lanes = expr.dtype.lanes
    out = decl_buffer((lanes,), expr.dtype.element, "out")
    index = Ramp(const(0), const(1), lanes) if lanes > 1 else const(0)
    body = BufferStore(out, expr, (index,))
    for var, buffer in zip(leaves.scalars, scalars, strict=True):
        body = LetStmt(var, buffer[0], body)
    func = PrimFunc(tuple(buffer.data for buffer in (*sources, out)), body)
    expected, actual = (np.zeros(lanes, expr.dtype.numpy) for _ in range(2))
    interpret(func, *arrays, expected)
    assert native(func)(*arrays, actual) == 0
    assert_same(actual, expected)
    count_program("compiled, expressions")
