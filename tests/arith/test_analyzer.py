"""What passes ask of an Analyzer: simplified indices, proofs, bounds."""

import math

import pytest

from tilewright.arith import Analyzer, ConstIntBound
from tilewright.error import ArgumentError, DTypeError
from tilewright.ir import DType, IntImm, Let, SizeVar, Var
from tilewright.ir.arithmetic import logical_and, minimum
from tilewright.ir.convert import const, wrap_int
from tilewright.tir import Range, decl_buffer


def same(a, b):
    """Whether two expressions are the same tree."""
    if a.__class__ is not b.__class__ or a.dtype is not b.dtype:
        return False
    if isinstance(a, Var):
        return a is b
    if isinstance(a, IntImm):
        return a.value == b.value
    return all(same(x, y) for x, y in zip(a.children(), b.children(), strict=True))


class Setting:
    """An analyzer and variables that are made when asked for."""

    def __init__(self, dtype="int32"):
        self.analyzer = Analyzer()
        self.dtype = DType(dtype)

    def var(self, name, minimum=None, extent=None):
        var = Var(name, self.dtype)
        if extent is not None:
            self.analyzer.bind_range(var, minimum, extent)
        return var

    def size(self, name):
        return SizeVar(name, self.dtype)

    def becomes(self, expr, expected):
        found = self.analyzer.simplify(expr)
        assert same(found, expected), f"{found!r} is not {expected!r}"


@pytest.fixture(params=["int32", "int64"])
def at(request):
    return Setting(request.param)


def test_tiled_indices_read_as_written(at):
    i, j = at.var("i", 0, 64), at.var("j", 0, 16)
    at.becomes((i * 16 + j) // 16, i)
    at.becomes((i * 16 + j) % 16, j)
    at.becomes((i * 16 + j) // 8, i * 2 + j // 8)
    at.becomes((i * 16 + j) % 8, j % 8)
    at.becomes((i * 16 + j) // 32, i // 2)
    at.becomes((i * 16 + j) % 32, i % 2 * 16 + j)


def test_flat_index_keeps_the_order_of_terms(at):
    io, ii = at.var("io", 0, 64), at.var("ii", 0, 16)
    jo, ji = at.var("jo", 0, 128), at.var("ji", 0, 8)
    index = (io * 16 + ii) * 1024 + (jo * 8 + ji)
    at.becomes(index, io * 16384 + ii * 1024 + jo * 8 + ji)


def test_quotient_and_remainder_make_the_number(at):
    a = at.var("a")
    at.becomes(a % 16 + a // 16 * 16, a)
    at.becomes(a // 64 * 64 + a % 64 // 8 * 8 + a % 8, a)
    at.becomes(a // 64 * 64 + a // 8 % 8 * 8 + a % 8, a)


def test_symbolic_sizes(at):
    n, m = at.size("n"), at.size("m")
    fused = at.var("fused", 0, n * m)
    i, j = at.var("i", 0, n), at.var("j", 0, m)
    at.becomes(fused // m * m + fused % m, fused)
    at.becomes((i * m + j) // m, i)
    at.becomes((i * m + j) % m, j)
    prove = at.analyzer.can_prove
    assert prove(i < n)
    assert prove(i * m + j < n * m)
    assert not prove(i * m + j < n * m - 1)
    assert prove((n + 15) // 16 * 16 >= n)
    io, ii = at.var("io", 0, (n + 15) // 16), at.var("ii", 0, 16)
    assert prove(io * 16 + ii < (n + 15) // 16 * 16)
    assert not prove(io * 16 + ii < n)
    assert prove(minimum(n - io * 16, 16) >= 0)


def test_parts_of_a_fused_loop_are_put_together(at):
    n, m = at.var("n"), at.var("m")
    part = at.var("part", 0, (n * m + 7) // 8)
    lane = at.var("lane", 0, 8)
    place = part * 8 + lane
    at.becomes(place // m * m + place % m, place)


def test_a_number_of_parts_that_may_be_rounded_up_from_nothing(at):
    n, m = at.var("n"), at.var("m")
    part = at.var("part", 0, (n * m + 8) // 8)  # there is one where m is 0
    at.becomes(part // m * m + part % m, part // m * m + part % m)


def test_indices_of_a_fused_loop_are_in_bounds(at):
    n, m, k = at.size("n"), at.size("m"), at.size("k")
    fused = at.var("fused", 0, n * m * k)
    prove = at.analyzer.can_prove
    assert prove(fused // (m * k) < n)
    assert prove(fused % (m * k) < m * k)
    assert prove(fused % k < k)
    assert prove(fused % (m * k) // k < m)
    assert not prove(fused // m < n)
    at.becomes(fused // (m * k) * (m * k) + fused % (m * k), fused)


def test_tiles_of_symbolic_extents(at):
    n = at.size("n")
    outer, inner = at.var("outer", 0, (n + 31) // 32), at.var("inner", 0, 32)
    index = outer * 32 + inner
    prove = at.analyzer.can_prove
    assert prove(index < (n + 31) // 32 * 32)
    assert prove(index < n + 31)
    assert not prove(index < n)
    at.becomes(index // 32, outer)
    at.becomes(index % 32, inner)
    with at.analyzer.constraint(index < n):
        assert prove(index < n)
        assert prove(outer * 32 < n)
    with at.analyzer.constraint((n % 32).equal(0)):
        assert prove(n // 32 * 32 >= n)
    assert prove(minimum(n - outer * 32, 32) <= 32)
    assert prove(outer * 32 < n)


def test_values_from_memory_wrap_around(at):
    data = decl_buffer((8,), at.dtype)
    i, loaded = at.var("i", 0, 8), at.var("loaded")
    big = 1 << at.dtype.bits // 2
    at.analyzer.bind(loaded, data[i])
    for value in (data[i], loaded):
        at.becomes(value * big // big, value * big // big)
        at.becomes(value + 1 > value, value + 1 > value)
    index = at.var("index")
    at.becomes(index * big // big, index)


def test_let_expressions(at):
    x, i, data = at.var("x"), at.var("i", 0, 8), decl_buffer((8,), at.dtype)
    at.becomes(Let(x, i * 2 - i, x + 1), i + 1)
    found = at.analyzer.simplify(Let(x, data[i], x * 2 - x))
    assert isinstance(found, Let)
    assert found.body is x


def test_division_by_what_may_be_zero_stays():
    at = Setting()
    n, k = at.size("n"), at.var("k")
    at.becomes(k // n * n + k % n, k // n * n + k % n)
    at.becomes(k // n - k // n, k // n - k // n)
    at.becomes((k * n) // n, (k * n) // n)
    at.analyzer.bind_range(n, 1, 100)
    at.becomes(k // n * n + k % n, k)
    at.becomes((k * n) // n, k)


def test_comparisons(at):
    x, y = at.var("x", 0, 16), at.var("y", 0, 8)
    true = IntImm(DType("bool"), 1)
    at.becomes(x * 8 + y < 128, true)
    at.becomes(x * 8 + y < 120, x < 15)
    at.becomes(x * 8 + y < 121, x * 8 + y < 121)
    at.becomes(x * 16 + y < x * 16 + 5, y < 5)


def test_constraints_hold_in_their_scope_only(at):
    a, b = at.var("a"), at.var("b")
    with at.analyzer.constraint(logical_and(a * 8 + b < 100, b >= 0)):
        assert at.analyzer.can_prove(a * 8 + b < 101)
        assert at.analyzer.can_prove(a * 8 < 100)
        assert not at.analyzer.can_prove(a * 8 + b < 99)
    assert not at.analyzer.can_prove(a * 8 + b < 101)


def test_bounds(at):
    i, a = at.var("i", 2, 6), at.var("a")
    assert at.analyzer.const_int_bound(i * 3 - 1) == (5, 20)
    assert at.analyzer.const_int_bound(a) == (-math.inf, math.inf)
    assert at.analyzer.const_int_bound(at.size("n") + 1) == (1, math.inf)
    assert at.analyzer.const_int_bound(a % 5) == (0, 4)
    assert at.analyzer.const_int_bound(a < 1) == (0, 1)


def test_remainders(at):
    a, b = at.var("a"), at.var("b")
    assert at.analyzer.modular_set(a * 16 + 32) == (16, 0)
    assert at.analyzer.modular_set(a * 12 + b * 8 + 3) == (4, 3)
    with at.analyzer.constraint((a % 16).equal(4)):
        assert at.analyzer.modular_set(a + 8) == (16, 12)
        assert at.analyzer.can_prove((a % 4).equal(0))


def test_a_variable_that_stands_for_an_expression(at):
    a, b = at.var("a", 0, 8), at.var("b")
    at.analyzer.bind(b, a * 4 + 1)
    at.becomes(b // 4, a)
    at.becomes(b + 1, a * 4 + 2)


def test_a_loop_of_one_iteration_has_a_known_variable(at):
    i, j, one = at.var("i", 0, 8), at.var("j", 3, 1), at.var("one")
    at.becomes(i * 4 + j, i * 4 + 3)
    at.analyzer.bind_range(one, i, 1)
    at.becomes(one * 2 - i, i)


def test_binding_a_value_of_another_type_is_refused():
    at = Setting()
    with pytest.raises(DTypeError, match=r"bind: b has dtype int32"):
        at.analyzer.bind(at.var("b"), Var("a", DType("int64")))


def test_range_objects_bind():
    at = Setting()
    i = at.var("i")
    at.analyzer.bind(i, Range.from_extent(4))
    assert at.analyzer.can_prove_less(i, 4)
    assert at.analyzer.can_prove_greater_equal(i, 0)
    assert not at.analyzer.can_prove_less(i, 3)


def test_learning_about_a_variable_is_used_for_expressions_seen_before(at):
    a = at.var("a")
    question = a < 10
    assert not at.analyzer.can_prove(question)
    at.analyzer.bind_range(a, 0, 10)
    assert at.analyzer.can_prove(question)


def test_what_is_simple_already_is_returned_itself(at):
    i, j = at.var("i", 0, 64), at.var("j", 0, 16)
    first, second = i * 1024 + j // 3, i * 1024 + j // 3
    assert at.analyzer.simplify(first) is first
    assert at.analyzer.simplify(second) is second


def test_a_simplified_expression_is_still_comparable():
    i = Var("i", DType("int32"))
    analyzer = Analyzer()
    first, second = analyzer.simplify(i * 2 // 8), analyzer.simplify(i - i // 4 * 4)
    assert analyzer.simplify(second) is second
    assert analyzer.can_prove_equal(i // 4, first)
    assert analyzer.can_prove_equal(i % 4, second)


def test_what_is_proved_does_not_depend_on_memory():
    # A quotient cancels if the variable whose range mentions it is replaced first.
    kept = []
    for count in range(20):
        kept.append([object() for _ in range(count * 7 % 13)])
        i, j = Var("i", "int32"), Var("j", "int32")
        analyzer = Analyzer()
        analyzer.bind_range(i, 0, 6)
        analyzer.bind_range(j, 0, i // 2 - (i + 1) // 2 + 1)
        assert analyzer.can_prove((i + 1) // 2 + j < 3)
        assert not analyzer.can_prove((i + 1) // 2 + j < 2)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_numbers_beyond_the_dtype_wrap_around(dtype):
    setting = Setting(dtype)
    x, most = setting.var("x"), const(DType(dtype).max_int, dtype)
    power = const(1 << DType(dtype).bits // 2, dtype)
    analyzer = setting.analyzer
    assert same(analyzer.plus(x + most + most, 4), analyzer.simplify(x + 2))
    assert same(analyzer.plus(x * power * power + x, 1), analyzer.simplify(x + 1))
    assert same(analyzer.difference(x + most + most, x), const(wrap_int(-2, DType(dtype)), dtype))


@pytest.mark.parametrize("factor", [1, 2, -3])
def test_a_multiple_of_a_sum_that_is_bounded_is_part_of_a_larger_one(factor):
    a, b, c = (Var(name, "int64") for name in "abc")
    analyzer = Analyzer()
    for var, extent in ((a, 4), (b, 16), (c, 3)):
        analyzer.bind_range(var, 0, extent)
    least, largest = (0, factor * 55 + 2) if factor > 0 else (factor * 55, 2)
    total = (a * 16 + b) * factor + c
    with analyzer.constraint(a * 16 + b < 56):
        assert analyzer.can_prove(total <= largest)
        assert not analyzer.can_prove(total <= largest - 1)
        assert analyzer.can_prove(total >= least)
        assert not analyzer.can_prove(total >= least + 1)
    assert not (analyzer.can_prove(total >= least) and analyzer.can_prove(total <= largest))


def test_bounds_of_a_variable_are_updated():
    x = Var("x", "int32")
    analyzer = Analyzer()
    analyzer.update(x, ConstIntBound(0, 10))
    assert analyzer.can_prove(x < 11)
    analyzer.update(x, ConstIntBound(-3, 7))
    assert analyzer.const_int_bound(x + 1) == (1, 8)
    analyzer.update(x, ConstIntBound(3, float("inf")), override=True)
    assert analyzer.can_prove(x > 2)
    assert not analyzer.can_prove(x < 11)
    analyzer.update(x, ConstIntBound(5, 5))
    assert analyzer.can_prove(x.equal(5))
    with pytest.raises(ArgumentError, match="x has no value"):
        analyzer.update(x, ConstIntBound(6, 7))
    with pytest.raises(ArgumentError, match="expected a ConstIntBound"):
        analyzer.update(x, 3)


def test_other_names():
    x = Var("x", "int32")
    analyzer = Analyzer()
    with analyzer.constraint_scope(x > 3):
        assert analyzer.can_prove(x > 2)
    assert not analyzer.can_prove(x > 2)
    assert same(analyzer.canonical_simplify(x * 2 - x), x)
    assert same(analyzer.rewrite_simplify(x + 1 - 1), x)
