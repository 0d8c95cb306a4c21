"""Blocks whose bodies and domains mention the loops around them."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright.error import ScriptError
from tilewright.ir import structural_equal
from tilewright.script import from_source
from tilewright.tir import Schedule
from tilewright.tir.interpreter import interpret

HEAD = """
@T.prim_func
def f(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
    for i in range(8):
"""

WITHOUT_ITERATORS = """
        for j in range(4):
            with T.block("x"):
                B[i, j] = A[i, j] + T.float32(1)
"""

NESTED = """
        with T.block("x"):
            T.reads(A[i, 0:4])
            T.writes(B[i, 0:4])
            for j in range(4):
                with T.block("inner"):
                    vj = T.axis.spatial(4, j)
                    B[i, vj] = A[i, 3 - vj]
"""

DOMAIN = """
        for j in range(T.min(i + 1, 4)):
            with T.block("x"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.reduce(T.min(i + 1, 4), j)
                with T.init():
                    B[vi, 0] = T.float32(0)
                B[vi, 0] += A[vi, vj]
"""


@pytest.mark.parametrize("body", [WITHOUT_ITERATORS, NESTED, DOMAIN])
def test_they_run_and_are_scheduled(body):
    func = from_source(HEAD + body.lstrip("\n"))
    assert structural_equal(from_source(func.script()), func)
    sch = Schedule(func, debug_mask="all")
    outer, _ = sch.split(sch.get_loops("x")[0], [None, 3])
    sch.parallel(outer)
    source = np.arange(32, dtype="float32").reshape(8, 4)
    results = []
    for run in (lambda *a: interpret(func, *a), tvm.build(func), tvm.build(sch.mod)):
        result = np.zeros((8, 4), "float32")
        run(source, result)
        results.append(result)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    assert results[0].any()


def test_loops_become_opaque_iterators():
    text = from_source(HEAD + WITHOUT_ITERATORS.lstrip("\n")).script()
    assert "vi = T.axis.opaque(8, i)" in text
    assert "T.writes(B[vi, vj])" in text


def test_two_iterators_of_one_name():
    body = """
        with T.block("x"):
            v = T.axis.spatial(8, i)
            v = T.axis.spatial(8, i)
            B[v, 0] = T.float32(0)
"""
    with pytest.raises(ScriptError, match="two iterators of block x are called `v`"):
        from_source(HEAD + body.lstrip("\n"))
