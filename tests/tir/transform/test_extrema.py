"""Inequalities with minima and maxima, checked against all values of small variables."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tir.transform.programs import int_var

from tilewright.arith import Analyzer
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import IntImm
from tilewright.tir import max as maximum
from tilewright.tir import min as minimum
from tilewright.tir import substitute
from tilewright.tir.transform.analysis.symbolic_min_max import at_most, upper_bound

I, J = int_var("i"), int_var("j")


def ranges():
    """What is known about the variables."""
    analyzer = Analyzer()
    analyzer.bind_range(I, 0, 4)
    analyzer.bind_range(J, 0, 8)
    return analyzer


def values(expr):
    """All values of an expression."""
    for i, j in itertools.product(range(4), range(8)):
        found = Analyzer().simplify(substitute(as_expr(expr), {I: const(i), J: const(j)}))
        assert isinstance(found, IntImm)
        yield found.value


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (I * 8 - 1, maximum(I * 8 - 1, 0)),
        (maximum(I * 8 - 1, 0), maximum(I * 8 + J - 1, 0)),
        (I * 8 + 8, maximum(I * 8 - 1, 0) + 9),
        (minimum(I * 8 + 8, 31), minimum(I * 8 + 9, 32) - 1),
        (maximum(I, J), maximum(I + 1, J) * 2),
    ],
)
def test_inequalities(small, large):
    assert at_most(small, large, ranges())
    assert not at_most(large + 1, small, ranges())


def test_a_minimum_within_other_terms():
    """It is the same one everywhere, whatever its value."""
    few = minimum(I * J, 64)
    assert at_most(few, (few + 5) // 6 * 6, ranges())
    assert not at_most((few + 5) // 6 * 6, few, ranges())
    assert not at_most(minimum(I * J, 20), (minimum(I * J, 10) + 5) // 6 * 6, ranges())


def test_two_maxima_of_different_variables():
    assert at_most(maximum(I + 1, 0), maximum(J + 1, 0) + 3, ranges())
    assert not at_most(maximum(I + 1, 0), maximum(J + 1, 0), ranges())


def test_bounds():
    size = minimum(I * 8 + 9, 32) - maximum(I * 8 - 1, 0)
    assert upper_bound(size, ranges()) == 10
    assert upper_bound(maximum(I - J, J - I), ranges()) == 7
    assert math.isinf(upper_bound(maximum(int_var("n"), 3), ranges()))


@st.composite
def sums(draw):
    """Sums of multiples of variables, minima and maxima."""

    def plain():
        a, b, c = (draw(st.integers(-2, 2)) for _ in range(3))
        return I * a + J * b + c

    total = plain()
    for _ in range(draw(st.integers(0, 3))):
        function = draw(st.sampled_from([maximum, minimum]))
        total = total + function(plain(), plain()) * draw(st.sampled_from([-2, -1, 1, 2]))
    return total


@given(sums(), sums())
def test_nothing_is_claimed_that_does_not_hold(a, b):
    if at_most(a, b, ranges()):
        assert all(x <= y for x, y in zip(values(a), values(b), strict=True))
    assert max(values(a)) <= upper_bound(as_expr(a), ranges())
