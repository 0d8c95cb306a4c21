"""The default schedule does not unroll loops around long expressions."""

import pytest
from tests.schedule_rules.programs import LARGE, kinds_of, matmul_relu, scheduled

import tilewright as tvm
from tilewright import te
from tilewright.schedule_rules import structures
from tilewright.schedule_rules.default import schedule_module
from tilewright.tir.stmt import ForKind


def product_of_polynomials(terms):
    """A product of matrices in which each factor is a polynomial of an element."""
    a = te.placeholder((16, 16), name="A")
    b = te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), "k")

    def value(i, j):
        result = a[i, k]
        for _ in range(terms):
            result = result * b[k, j] + a[i, k]
        return te.sum(result, axis=k)

    return te.create_prim_func([a, b, te.compute((16, 16), value, name="C")])


@pytest.mark.parametrize("terms", [1, 2000])
def test_loops_around_long_expressions_stay_loops(terms):
    sch = schedule_module(tvm.IRModule({"main": product_of_polynomials(terms)}), LARGE)
    assert (ForKind.UNROLLED in kinds_of(sch)) == (terms == 1)


@pytest.mark.parametrize("with_epilogue", [False, True])
def test_a_schedule_that_unrolls_nothing_is_right(monkeypatch, with_epilogue):
    function = matmul_relu(16, 16, 16) if with_epilogue else product_of_polynomials(2)
    assert ForKind.UNROLLED in kinds_of(scheduled(function, LARGE))
    monkeypatch.setattr(structures, "MOST_UNROLLED_NODES", 1)
    assert ForKind.UNROLLED not in kinds_of(scheduled(function, LARGE))
