"""Expanded forms have the values of their expressions, also where arithmetic wraps around."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.arith.expressions import Generator, evaluate, outcome, points

import tilewright
from tilewright.ir import Cast, DType, IntImm, Max, Var
from tilewright.ir.convert import const, wrap_int
from tilewright.script import tir as T
from tilewright.tir.transform.analysis.affine import (
    affine,
    difference,
    factors_of,
    split,
    stride_along,
    to_expr,
)
from tilewright.tir.transform.analysis.ranges import Ranges

PLACES = [(0, 0, 3), (-7, 5, 1), (100, -100, 64)]


def drawn(data, dtype):
    """A random expression over three variables, and them."""
    variables = [Var(name, DType(dtype)) for name in "ijn"]
    generator = Generator(lambda count: data.draw(st.integers(0, count - 1)), variables)
    return generator.sum(3), variables


def value(form, dtype, place):
    total = form.constant
    for term, coefficient in form.terms.items():
        for factor in factors_of(term):
            coefficient *= evaluate(factor, place)
        total += coefficient
    return wrap_int(total, dtype)


@given(st.data(), st.sampled_from(["int8", "int32"]))
def test_forms_and_what_is_made_of_them(data, dtype):
    expr, variables = drawn(data, dtype)
    form = affine(expr)
    assert 0 not in form.terms.values()
    parts = split(form, variables[0])
    for numbers in PLACES:
        place = dict(zip(variables, numbers, strict=True))
        if outcome(expr, place) == "fails":
            continue
        expected = evaluate(expr, place)
        assert value(form, expr.dtype, place) == expected
        assert evaluate(to_expr(form, expr.dtype), place) == expected
        if parts is not None:
            slope, rest = (value(part, expr.dtype, place) for part in parts)
            assert wrap_int(slope * numbers[0] + rest, expr.dtype) == expected


@given(st.data(), st.sampled_from(["int8", "int32"]))
def test_intervals_hold_the_values(data, dtype):
    expr, variables = drawn(data, dtype)
    ranges, domains = Ranges(), {}
    for var, (low, extent) in zip(variables, ((0, 8), (-3, 5), (2, 30)), strict=True):
        ranges.bind(var, const(low, dtype), const(extent, dtype))
        domains[var] = (low, low + extent - 1)
    low, high = ranges.interval(expr)
    wide_low, wide_high = ranges.interval(Cast("int64", expr))
    decided = ranges.decide(expr < 5)
    for place in points(domains, lambda n: data.draw(st.integers(0, n - 1)), 3):
        if outcome(expr, place) != "fails":
            number = evaluate(expr, place)
            assert low <= number <= high
            assert wide_low <= number <= wide_high
            assert decided in (None, number < 5)


def test_products_and_opaque_parts_are_compared_by_structure():
    i, j = Var("i", "int32"), Var("j", "int32")
    assert affine(i * j + i // 3) == affine(i // 3 + j * i)
    assert difference((i // 3 + 1) * j, j * (i // 3)) == affine(j)
    assert affine(i // 3) != affine(i // 4)
    assert affine(Max(i, j)) != affine(Max(j, i))


def test_widened_sums_are_taken_apart():
    i, j = Var("i", "int32"), Var("j", "int32")
    form = affine(Cast("int64", i * 16 + j) * IntImm("int64", 4))
    assert stride_along(form, i) == 64
    assert stride_along(form, j) == 4
    assert stride_along(affine(Cast("int64", i // 2)), i) is None
    assert stride_along(affine(Cast("int8", i * 16)), i) is None
    narrow = Var("k", "int8")
    assert stride_along(affine(Cast("int32", narrow * 16)), narrow) is None


@T.prim_func
def narrow_loop(A: T.Buffer((8,), "int32")):
    for i in T.serial(T.int8(0), T.int8(8)):
        if i * T.int8(64) < T.int8(0):
            A[T.Cast("int32", i)] = 1
        else:
            A[T.Cast("int32", i)] = 2


@T.prim_func
def next_number(B: T.Buffer((4,), "int32"), A: T.Buffer((4,), "int32")):
    for i in range(4):
        if B[i] + 1 > B[i]:
            A[i] = 1
        else:
            A[i] = 2


def test_conditions_on_narrow_integers_and_on_data_wrap_around():
    result = tilewright.nd.array(np.zeros(8, "int32"))
    tilewright.build(narrow_loop, target="llvm")(result)
    assert list(result.numpy()) == [2, 2, 1, 1, 2, 2, 1, 1]
    data = tilewright.nd.array(np.array([0, -5, 2**31 - 1, 7], "int32"))
    result = tilewright.nd.array(np.zeros(4, "int32"))
    tilewright.build(next_number, target="llvm")(data, result)
    assert list(result.numpy()) == [1, 1, 2, 1]
