"""Constructors of arithmetic: promotion, folding, refusals."""

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright import ir
from tilewright.error import DTypeError
from tilewright.ir import (
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Div,
    DType,
    FloatImm,
    FloorDiv,
    IntImm,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Sub,
    SymbolicTruthError,
    Var,
    arithmetic,
)

INT_TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
I32, F32, BOOL = DType("int32"), DType("float32"), DType("bool")


def var(name="x", dtype="int32"):
    return Var(name, DType(dtype))


@st.composite
def int_pairs(draw):
    dtype = DType(draw(st.sampled_from(INT_TYPES)))
    value = st.integers(dtype.min_int, dtype.max_int)
    return dtype, draw(value), draw(value)


class TestConst:
    @pytest.mark.parametrize(
        ("value", "dtype"),
        [(True, "bool"), (3, "int32"), (1 << 40, "int64"), (0.5, "float32"), (np.int8(3), "int8")],
    )
    def test_default_dtypes(self, value, dtype):
        assert ir.const(value).dtype == dtype

    def test_floats_are_rounded_to_their_dtype(self):
        assert ir.const(0.1, "float32").value == float(np.float32(0.1))
        assert ir.const(0.1, "float16").value == float(np.float16(0.1))
        assert ir.const(1e300, "float32").value == math.inf
        assert ir.const(0.1, "float64").value == 0.1

    @pytest.mark.parametrize(
        ("value", "dtype"), [(128, "int8"), (-1, "uint8"), (0.5, "int32"), (1, "handle")]
    )
    def test_values_that_do_not_fit(self, value, dtype):
        with pytest.raises(DTypeError):
            ir.const(value, dtype)

    def test_a_vector_constant_is_a_broadcast(self):
        value = ir.const(2, "float32x4")
        assert isinstance(value, Broadcast)
        assert value.dtype == "float32x4"

    def test_other_objects_are_refused(self):
        with pytest.raises(DTypeError, match="expected a number"):
            ir.const([1])


class TestFolding:
    @given(int_pairs())
    def test_integer_folding_wraps_like_numpy(self, case):
        dtype, x, y = case
        a, b = IntImm(dtype, x), IntImm(dtype, y)
        for function in (operator.add, operator.sub, operator.mul):
            folded = function(a, b)
            expected = arithmetic.wrap_int(function(x, y), dtype)
            assert (folded.dtype, folded.value) == (dtype, expected)
            with np.errstate(over="ignore"):
                assert folded.value == function(dtype.numpy.type(x), dtype.numpy.type(y))

    @given(int_pairs())
    def test_the_two_divisions_satisfy_their_laws(self, case):
        dtype, x, y = case
        if y == 0:
            return
        a, b = IntImm(dtype, x), IntImm(dtype, y)
        q, r = a // b, a % b
        assert arithmetic.wrap_int(q.value * y + r.value, dtype) == x
        assert r.value == 0 or (r.value < 0) == (y < 0)
        q, r = arithmetic.truncdiv(a, b), arithmetic.truncmod(a, b)
        assert arithmetic.wrap_int(q.value * y + r.value, dtype) == x
        assert r.value == 0 or (r.value < 0) == (x < 0)
        assert abs(r.value) < abs(y)

    @given(int_pairs())
    def test_comparisons(self, case):
        dtype, x, y = case
        a, b = IntImm(dtype, x), IntImm(dtype, y)
        for function in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq):
            assert function(a, b).dtype is BOOL
            assert bool(function(a, b)) == function(x, y)

    @given(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))
    def test_float_folding_rounds_once(self, x, y):
        a, b = FloatImm(F32, x), FloatImm(F32, y)
        for function in (operator.add, operator.sub, operator.mul):
            folded = function(a, b)
            with np.errstate(all="ignore"):
                expected = function(np.float32(x), np.float32(y))
            if isinstance(folded, FloatImm):
                assert np.float32(folded.value).tobytes() == expected.tobytes() or (
                    math.isnan(folded.value) and math.isnan(expected)
                )

    def test_neutral_elements(self):
        x, f = var(), var("f", "float32")
        assert x + 0 is x
        assert 0 + x is x
        assert x - 0 is x
        assert x * 1 is x
        assert (x * 0).value == 0
        assert x // 1 is x
        assert (x % 1).value == 0
        assert f * 1 is f
        assert isinstance(f + 0.0, Add), "f + 0.0 differs from f for -0.0"
        assert isinstance(f * 0.0, Mul), "0 * inf is NaN"

    def test_division_by_zero_is_refused(self):
        for function in (operator.floordiv, operator.mod, arithmetic.truncdiv, arithmetic.truncmod):
            with pytest.raises(DTypeError, match="by zero"):
                function(var(), 0)


class TestPromotion:
    def test_a_number_takes_the_dtype_of_the_other_side(self):
        for dtype in INT_TYPES:
            assert (var(dtype=dtype) + 1).b.dtype == dtype
        assert (var(dtype="float16") * 2).b.dtype == "float16"
        assert (1 - var(dtype="float64")).a.dtype == "float64"

    def test_a_number_that_does_not_fit_widens(self):
        assert (var(dtype="int8") + 1000).dtype == "int32"

    def test_mixed_variables_are_cast(self):
        total = var("i", "int32") + var("f", "float32")
        assert total.dtype is F32
        assert isinstance(total.a, Cast)

    def test_a_scalar_is_broadcast(self):
        total = var("v", "float32x4") + 1
        assert total.dtype == "float32x4"
        assert isinstance(total.b, Broadcast)

    def test_handles_do_not_add(self):
        with pytest.raises(DTypeError):
            var("p", "handle") + 1
        with pytest.raises(DTypeError):
            var("p", "handle") + var("q", "handle")

    def test_true_division_of_integers_is_ambiguous(self):
        with pytest.raises(DTypeError, match="floordiv"):
            var() / 2
        assert isinstance(var("f", "float32") / 2, Div)


class TestCast:
    def test_same_dtype_and_constants(self):
        x = var()
        assert ir.cast("int32", x) is x
        assert ir.cast("int8", ir.const(300)).value == 44
        assert ir.cast("float32", ir.const(3)).value == 3.0
        assert ir.cast("bool", ir.const(5)).value == 1

    def test_out_of_range_floats_are_left_to_run_time(self):
        assert isinstance(ir.cast("int32", ir.const(1e30)), Cast)
        assert isinstance(ir.cast("int32", FloatImm(F32, math.nan)), Cast)

    def test_lanes(self):
        assert isinstance(ir.cast("float32x4", var()), Broadcast)
        assert ir.cast("float32x4", Ramp(var(), ir.const(1), 4)).dtype == "float32x4"
        with pytest.raises(DTypeError, match="different numbers of lanes"):
            ir.cast("float32x8", Ramp(var(), ir.const(1), 4))


class TestLogic:
    def test_constants_disappear(self):
        p = var("p", "bool")
        assert arithmetic.logical_and(p, True) is p
        assert bool(arithmetic.logical_and(p, False)) is False
        assert arithmetic.logical_or(False, p) is p
        assert isinstance(arithmetic.logical_not(p), Not)
        q = var("q", "bool")
        assert isinstance(arithmetic.logical_and(p, q), And)
        assert isinstance(arithmetic.logical_or(p, q), Or)

    def test_numbers_are_no_truth_values(self):
        with pytest.raises(DTypeError, match="compare it with 0"):
            arithmetic.logical_and(var(), True)

    def test_select(self):
        p, x = var("p", "bool"), var()
        assert arithmetic.select(True, x, 1) is x
        chosen = arithmetic.select(p, x, 1)
        assert isinstance(chosen, Select)
        assert chosen.dtype is I32

    def test_equality_is_sameness(self):
        x, y = var("x"), var("y")
        assert x == x
        assert bool(x == y) is False
        assert x != y
        assert x * 2 + 1 == x * 2 + 1
        assert x + 1 != x + 2
        assert x not in (y, x + 1)
        assert [y, x].index(x) == 1
        assert bool(x == 3) is False

    def test_equality_of_unknown_values_is_no_truth_value(self):
        x, y = var("x"), var("y")
        with ir.expr.values_unknown([x]):
            assert x != y
            assert y == y
            assert bool(y == 3) is False
            with pytest.raises(SymbolicTruthError, match="structural_equal"):
                bool(x == 3)
            with ir.expr.values_unknown(None), pytest.raises(SymbolicTruthError):
                bool(y == y)
        assert bool(x == 3) is False

    def test_an_expression_is_no_truth_value(self):
        with pytest.raises(SymbolicTruthError, match="structural_equal"):
            bool(var() < var())
        with pytest.raises(SymbolicTruthError):
            if var():
                pass

    def test_constants_are_truth_values(self):
        assert ir.const(1)
        assert not ir.const(0.0)
        assert int(ir.const(3)) == 3
        assert [10, 20][ir.const(1)] == 20


class TestBits:
    @given(int_pairs())
    def test_folding(self, case):
        dtype, x, y = case
        a, b = IntImm(dtype, x), IntImm(dtype, y)
        for function in (operator.and_, operator.or_, operator.xor):
            assert function(a, b).value == function(x, y)

    def test_shifts(self):
        x = var()
        assert isinstance(x << 3, Call)
        assert (ir.const(-8) >> 1).value == -4
        for amount in (-1, 32, ir.const(32), Broadcast(ir.const(40), 4)):
            with pytest.raises(DTypeError, match="at least 0 and below 32"):
                x << amount
        # The left operand takes the dtype of the right one, and with it the number of bits.
        with pytest.raises(DTypeError, match=r"`>>` of 1 by 40: .* below 32"):
            1 >> ir.const(40)
        assert (ir.const(1, "int64") << 40).value == 1 << 40

    def test_floats_have_no_bits(self):
        with pytest.raises(DTypeError, match="needs integers"):
            var("f", "float32") & 1

    def test_invert(self):
        assert isinstance(~var("p", "bool"), Not)
        assert isinstance(~var(), Call)


def test_unary():
    x, f = var(), var("f", "float32")
    assert isinstance(-x, Mul)
    assert +x is x
    assert isinstance(abs(x), Select)
    assert abs(f).op.name == "tir.fabs"
    assert abs(var("u", "uint8")).name == "u"
    with pytest.raises(DTypeError, match="cannot negate"):
        -var("u", "uint8")


def test_operators_with_foreign_objects_are_type_errors():
    with pytest.raises(TypeError):
        var() + "1"
    with pytest.raises(TypeError):
        [] * var()


def test_objects_that_stand_for_an_expression():
    class Axis:
        def as_expr(self):
            return x

    x = var()
    assert ir.as_expr(Axis()) is x
    assert isinstance(Sub(x, x).a, Var)
    assert isinstance(x // 2, FloorDiv)
