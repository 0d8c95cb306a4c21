"""Quotients, remainders and comparisons of small linear forms, all of them."""

import itertools

import pytest
from tests.arith.expressions import size

from tilewright.arith import Analyzer
from tilewright.ir import EQ, GE, GT, LE, LT, NE, DType, FloorDiv, FloorMod, IntImm, Var

INT32 = DType("int32")
RANGES = [((0, 4), (0, 2)), ((0, 2), (0, 8)), ((-2, 5), (1, 3)), ((3, 4), (-1, 3))]
OUTER = (-8, -4, -3, -1, 1, 2, 4, 6, 8, 12)
INNER = (-2, -1, 1, 2, 3, 4)
OFFSETS = (-9, -1, 0, 3, 8)


def python_text(expr):
    """The expression as Python text."""
    if isinstance(expr, Var):
        return expr.name
    if isinstance(expr, IntImm):
        return f"({expr.value})"
    symbols = {
        "Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%", "EQ": "==",
        "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=",
    }  # fmt: skip
    return f"({python_text(expr.a)} {symbols[type(expr).__name__]} {python_text(expr.b)})"


def check(kind, right_sides, ranges):
    """Simplify ``a * i + b * j + c <kind> d`` for all coefficients, and compare all values."""
    analyzer = Analyzer()
    i, j = Var("i", INT32), Var("j", INT32)
    for var, (low, extent) in zip((i, j), ranges, strict=True):
        analyzer.bind_range(var, low, extent)
    places = list(itertools.product(*[range(low, low + extent) for low, extent in ranges]))
    for a, b, c, d in itertools.product(OUTER, INNER, OFFSETS, right_sides):
        expr = kind(i * a + j * b + c, IntImm(INT32, d))
        simple = analyzer.simplify(expr)
        # A digit that is taken out of a remainder brings its place value along.
        assert size(simple) <= size(expr) + 2 * (kind is FloorMod)
        value = eval(f"lambda i, j: {python_text(simple)}")
        original = eval(f"lambda i, j: {python_text(expr)}")
        for place in places:
            assert value(*place) == original(*place), f"{python_text(expr)} at {place}"


def test_places_of_a_diagonal_are_taken_apart():
    analyzer, i = Analyzer(), Var("i", INT32)
    analyzer.bind_range(i, 0, 40)
    assert analyzer.simplify(FloorDiv(i * 41, IntImm(INT32, 40))) is i
    assert python_text(analyzer.simplify(FloorDiv(i * 81 + 40, IntImm(INT32, 80)))) == "i"


@pytest.mark.parametrize("ranges", RANGES, ids=str)
@pytest.mark.parametrize("kind", [FloorDiv, FloorMod])
def test_divisions(kind, ranges):
    check(kind, (2, 3, 4, 8, 12, -4), ranges)


@pytest.mark.parametrize("ranges", RANGES, ids=str)
@pytest.mark.parametrize("kind", [EQ, NE, LT, LE, GT, GE])
def test_comparisons(kind, ranges):
    check(kind, (-5, 0, 8, 12), ranges)


@pytest.mark.parametrize("divisor", [-3, 2, 3, 4, 9])
@pytest.mark.parametrize("scale", [1, 2, 4, 6])
def test_a_quotient_and_a_remainder_simplified_on_its_own_are_the_number(scale, divisor):
    analyzer = Analyzer()
    i, j = Var("i", INT32), Var("j", INT32)
    analyzer.bind_range(i, -2, 20)
    analyzer.bind_range(j, 0, scale)
    number = i * scale + j + 5
    again = analyzer.simplify(FloorDiv(number, IntImm(INT32, divisor)) * divisor + number % divisor)
    assert python_text(again) == python_text(analyzer.simplify(number))


@pytest.mark.parametrize(("width", "side"), [(4, 6), (8, 6), (16, 12), (16, 10), (6, 4), (3, 9)])
def test_the_digits_of_a_number_each_simplified_are_the_number(width, side):
    """Planes of `side` x `side` elements, in pieces of `width` that do not end where rows do."""
    analyzer = Analyzer()
    i, j = Var("i", INT32), Var("j", INT32)
    analyzer.bind_range(i, 0, 50)
    analyzer.bind_range(j, 0, width)
    number = i * width + j
    plane = side * side
    digits = (number // plane, number % plane // side, number % side)
    plane_at, row, column = map(analyzer.simplify, digits)
    again = analyzer.simplify(plane_at * plane + row * side + column)
    assert python_text(again) == python_text(analyzer.simplify(number))


@pytest.mark.parametrize(("side", "width"), [(12, 8), (14, 8), (7, 16), (6, 4), (5, 8)])
def test_the_remainder_of_a_number_in_digits_is_that_of_the_number(side, width):
    analyzer = Analyzer()
    i, j = Var("i", INT32), Var("j", INT32)
    analyzer.bind_range(i, 0, 50)
    analyzer.bind_range(j, 0, width)
    number = i * width + j
    row, column = number // side, number % side
    assert analyzer.simplify((row * side + column) % width) is j
    factor = side % width
    assert analyzer.simplify((row * factor + column) % width) is j
    other = analyzer.simplify((row * (factor + 1) + column) % width)
    digits = eval(f"lambda i, j: {python_text(other)}")
    for a in range(50):
        for b in range(width):
            n = a * width + b
            assert digits(a, b) == (n // side * (factor + 1) + n % side) % width


def test_a_remainder_of_a_remainder_that_does_not_fit_stays():
    analyzer = Analyzer()
    i, j = Var("i", INT32), Var("j", INT32)
    expr = (i % 5 * 4 + j) // 6 * 6 + (i * 4 + j) % 6  # 5 * 4 is not a multiple of 6
    simple = eval(f"lambda i, j: {python_text(analyzer.simplify(expr))}")
    original = eval(f"lambda i, j: {python_text(expr)}")
    assert all(simple(a, b) == original(a, b) for a in range(-9, 9) for b in range(-9, 9))


def test_a_quotient_and_a_remainder_of_other_numbers_stay():
    analyzer = Analyzer()
    i, j = Var("i", INT32), Var("j", INT32)
    sums = [(i * 4 + j) // 3 * 3 + (i + j + 1) % 3, (i * 4 + j) // 3 * 4 + (i + j) % 3]
    for expr in sums:
        simple = eval(f"lambda i, j: {python_text(analyzer.simplify(expr))}")
        original = eval(f"lambda i, j: {python_text(expr)}")
        assert all(simple(a, b) == original(a, b) for a in range(-9, 9) for b in range(-9, 9))
