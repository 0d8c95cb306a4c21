"""Symbolic intervals contain every value, and are exact for affine indices."""

from hypothesis import given
from hypothesis import strategies as st
from tests.arith.expressions import Generator, evaluate, outcome, variables
from tests.arith.test_analyzer import same

from tilewright.arith import Analyzer, IntervalSet, interval_of
from tilewright.arith.interval import union
from tilewright.ir import DType, FloorMod, IntImm, Ramp, SizeVar, Var
from tilewright.tir import Range

INT32 = DType("int32")


def test_an_affine_index_over_its_inner_loops():
    i, j, k = (Var(name, INT32) for name in "ijk")
    domains = {j: Range.from_extent(16), k: Range.from_extent(4)}
    low, high = interval_of(i * 64 + j * 4 + k, domains)
    assert same(low, i * 64)
    assert same(high, i * 64 + 63)
    low, high = interval_of(i - j, domains)
    assert same(low, i - 15)
    assert high is i


def test_symbolic_ends():
    n, m = SizeVar("n", INT32), SizeVar("m", INT32)
    i, j = Var("i", INT32), Var("j", INT32)
    found = interval_of(i * m + j, {j: Range.from_extent(m)})
    assert same(found.min_value, i * m)
    assert same(Analyzer().simplify(found.extent), m)
    found = interval_of(i * m, {i: Range.from_extent(n)})
    assert found.min_value.value == 0
    assert evaluate(found.max_value, {n: 5, m: 3}) == 12


def test_what_does_not_range_is_a_point():
    i, j = Var("i", INT32), Var("j", INT32)
    found = interval_of(i % 7 * 2, {j: Range.from_extent(4)})
    assert found.is_point
    assert not found.is_everything


def test_a_remainder_within_one_tile():
    i, j = Var("i", INT32), Var("j", INT32)
    found = interval_of((i * 16 + j) % 16, {j: Range.from_extent(8)})
    assert (found.min_value.value, found.max_value.value) == (0, 7)


def test_a_product_of_points_of_any_sign():
    i, j = Var("i", INT32), Var("j", INT32)
    one = {j: Range.from_extent(1)}
    for expr in ((i * 8 + j) * 4, (i + j) * (i - j), ((i * 3 + j) % 6 - 2) * -4):
        found = interval_of(expr, one)
        assert found.is_point
        for value in (-5, 0, 3):
            assert evaluate(found.min_value, {i: value}) == evaluate(expr, {i: value, j: 0})


def test_the_lanes_of_a_ramp():
    i = Var("i", INT32)
    low, high = interval_of(Ramp(i * 8, IntImm(INT32, 1), 8), {})
    assert same(low, i * 8)
    assert same(high, i * 8 + 7)
    low, high = interval_of(Ramp(i, IntImm(INT32, -2), 4), {i: IntervalSet(None, None)})
    assert low is None
    assert high is None


def test_ends_that_no_value_reaches_do_not_wrap():
    a, j = Var("a", INT32), Var("j", INT32)
    # Nothing is known about the divisor, so the remainder is only known to be an int32.
    remainder = FloorMod(IntImm(INT32, 0), a + j)
    low, high = interval_of(remainder * 2, {j: Range.from_extent(4)})
    assert low is None
    assert high is None


def test_the_union():
    i = Var("i", INT32)
    found = union([IntervalSet(i, i + 3), IntervalSet(i - 1, i + 1)])
    assert same(found.min_value, i - 1)
    assert same(found.max_value, i + 3)


@given(st.data())
def test_every_value_is_inside(data):
    def choose(count):
        return data.draw(st.integers(0, count - 1))

    a, b, c, n = variables("int32")
    ends = {a: (-2, 6), b: (0, 8)}
    domains = {
        var: Range.from_min_extent(IntImm(INT32, low), IntImm(INT32, extent))
        for var, (low, extent) in ends.items()
    }
    expr = Generator(choose, [a, b, c, n]).integer(4)
    low, high = interval_of(expr, domains)
    for _ in range(6):
        place = {c: choose(20) - 10, n: choose(12)}
        inner = {var: least + choose(extent) for var, (least, extent) in ends.items()}
        value = outcome(expr, place | inner)
        if value == "fails":
            continue
        for end, sign in ((low, -1), (high, 1)):
            limit = "fails" if end is None else outcome(end, place)
            assert limit == "fails" or sign * (limit - value) >= 0
