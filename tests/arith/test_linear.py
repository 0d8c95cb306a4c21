"""Linear equations, and what the analyzer remembers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arith.expressions import Generator, evaluate, outcome
from tests.arith.test_analyzer import same

from tilewright.arith import Analyzer, detect_linear_equation
from tilewright.ir import DType, FloorDiv, FloorMod, IntImm, Max, Min, Var

INT32 = DType("int32")


@pytest.fixture
def variables():
    return [Var(name, INT32) for name in "ijn"]


def test_coefficients_and_rest(variables):
    i, j, n = variables
    found = detect_linear_equation((i * 4 + n) * 2 - j + 7, [i, j])
    assert [c.value for c in found[:2]] == [8, -1]
    assert evaluate(found[2], {n: 5}) == 17


def test_symbolic_coefficients(variables):
    i, j, n = variables
    slope, rest = detect_linear_equation(n * i + i * 2 + j, [i])
    assert evaluate(slope, {n: 5}) == 7
    assert rest is j


def test_a_variable_that_does_not_occur_has_coefficient_0(variables):
    i, j, n = variables
    found = detect_linear_equation(n + 1, [i, j])
    assert [c.value for c in found[:2]] == [0, 0]
    assert same(found[2], n + 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda i, j: i * j,
        lambda i, j: i // 2,
        lambda i, j: i * i,
        lambda i, j: j % i,
        lambda i, j: i.astype("float32"),
    ],
)
def test_what_is_not_linear(make, variables):
    i, j, _ = variables
    assert detect_linear_equation(make(i, j), [i, j]) is None


@given(st.data())
def test_the_equation_holds(data):
    i, j, n = (Var(name, INT32) for name in "ijn")
    generator = Generator(lambda count: data.draw(st.integers(0, count - 1)), [i, j, n])
    expr = generator.sum(3)
    found = detect_linear_equation(expr, [i, j])
    if found is None:
        return
    for numbers in [(0, 0, 3), (1, 0, 2), (-2, 5, 1), (7, 7, 4)]:
        place = dict(zip((i, j, n), numbers, strict=True))
        expected = outcome(expr, place)
        if expected == "fails":
            continue
        a, b, rest = (evaluate(part, {n: place[n]}) for part in found)
        assert a * place[i] + b * place[j] + rest == expected


def test_an_edit_costs_only_what_changed(variables):
    i, j, n = variables
    analyzer = Analyzer()
    part = i
    for k in range(60):
        kind = (Min, Max)[k % 2]
        part = kind(FloorDiv(part, IntImm(INT32, 2)), FloorMod(n, IntImm(INT32, k + 3)))
    memo = analyzer._simplifier.facts.simplified
    analyzer.simplify(Max(part, i))
    before = len(memo)
    assert before > 120
    analyzer.simplify(Max(part, j))
    assert len(memo) - before <= 3  # j, and the new root before and after
