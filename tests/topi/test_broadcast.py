"""Binary operators of topi against numpy."""

import numpy as np
import pytest
from tests.topi.evaluate import evaluate

from tilewright import te, topi
from tilewright.error import DTypeError, ShapeError

NUMBERS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "floor_divide": np.floor_divide,
    "mod": np.fmod,
    "floor_mod": np.mod,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "greater": np.greater,
    "less": np.less,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater_equal": np.greater_equal,
    "less_equal": np.less_equal,
}
INTEGERS = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
}
BOOLS = {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
FLOATS = {"divide": np.divide, "power": np.power, "atan2": np.arctan2}


def array(shape, dtype, low=-5, high=6):
    return np.random.default_rng(3).integers(low, high, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name, dtype):
    a, b = array((2, 3), dtype), array((3,), dtype, 1)
    expected = NUMBERS[name](a, b)
    np.testing.assert_array_equal(evaluate(getattr(topi, name), a, b), expected)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    a, b = array((2, 1, 3), "uint8", 0, 200), array((2, 1), "uint8", 0, 8)
    np.testing.assert_array_equal(evaluate(getattr(topi, name), a, b), INTEGERS[name](a, b))


def test_quotients_rounded_towards_zero():
    a, b = array((2, 3), "int32"), array((3,), "int32", 1)
    np.testing.assert_array_equal(evaluate(topi.trunc_divide, a, b), np.trunc(a / b))


@pytest.mark.parametrize("name", BOOLS)
def test_bools(name):
    a, b = np.array([[False], [True]]), np.array([False, True])
    np.testing.assert_array_equal(evaluate(getattr(topi, name), a, b), BOOLS[name](a, b))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", FLOATS)
def test_floats(name, dtype):
    a, b = array((2, 3), dtype, 1), array((2, 1), dtype)
    with np.errstate(divide="ignore"):
        expected = FLOATS[name](a, b)
    np.testing.assert_allclose(evaluate(getattr(topi, name), a, b), expected, rtol=1e-3)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "reference"),
    [("floor_divide", np.floor_divide), ("floor_mod", np.mod), ("mod", np.fmod)],
)
def test_divisions_of_floats_are_exact(name, reference):
    """1 / 0.1 of float32 is a little less than 10, and is rounded to it."""
    a = np.array([1, -1, 7.5, -7.5, 3, np.inf, np.nan, 1, -1e8, 0.3], "float32")
    b = np.array([0.1, 0.1, np.inf, np.inf, 0, 2, 1, -0.1, 3, -0.1], "float32")
    result = evaluate(getattr(topi, name), a, b)
    np.testing.assert_array_equal(result, reference(a, b))


def test_quotients_of_floats_towards_zero():
    a = np.array([7, -7, 1, -1, 2, np.inf], "float32")
    b = np.array([2, 2, 0.1, 0.1, 0, 2], "float32")
    expected = np.array([3, -3, 9, -9, np.inf, np.nan], "float32")
    np.testing.assert_array_equal(evaluate(topi.trunc_divide, a, b), expected)


def test_the_larger_of_a_number_and_nan_is_nan():
    a, b = np.array([1, np.nan, np.inf], "float32"), np.array([np.nan, 1, 2], "float32")
    np.testing.assert_array_equal(evaluate(topi.maximum, a, b), [np.nan, np.nan, np.inf])


def test_numbers_take_the_dtype_of_the_tensor():
    a = array((3,), "float16")
    result = evaluate(topi.multiply, a, 0.5)
    assert result.dtype == "float16"
    np.testing.assert_array_equal(result, a * np.float16(0.5))


def test_of_two_scalars_the_result_is_a_scalar():
    n = te.var("n")
    assert str(topi.add(n, 1)) == "n + 1"


def test_symbolic_extents_broadcast():
    a, b = array((2, 3), "float32"), array((1,), "float32")
    double = evaluate(lambda x: topi.add(x, x), a, symbolic=True)
    np.testing.assert_array_equal(double, a + a)
    x = te.placeholder((te.var("n"), 3))
    assert str(topi.add(x, te.placeholder((1, 3))).shape[0]) == "n"
    np.testing.assert_array_equal(evaluate(lambda x, y: topi.add(x, y), a, b), a + b)


def test_extents_that_are_equal_in_another_form_fit():
    n = te.var("n")
    assert topi.add(te.placeholder((n + n,)), te.placeholder((n * 2,))).ndim == 1


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match=r"T_add: shapes .*neither equal nor 1"):
        topi.add(te.placeholder((2, 3)), te.placeholder((2,)))


def test_integers_are_not_divided_without_a_rounding():
    with pytest.raises(DTypeError, match="use floordiv"):
        topi.divide(te.placeholder((2,), "int32"), te.placeholder((2,), "int32"))


@pytest.mark.parametrize(
    ("shape", "target"), [((3,), (2, 3)), ((2, 1), (2, 4)), ((), (2,)), ((1, 2), (0, 3, 2))]
)
def test_broadcast_to(shape, target):
    a = array(shape, "int32")
    result = evaluate(topi.broadcast_to, a, target)
    np.testing.assert_array_equal(result, np.broadcast_to(a, target))


@pytest.mark.parametrize("extent", [1, 4])
def test_a_symbolic_extent_repeats_if_it_is_one_when_the_program_runs(extent):
    a = array((extent,), "int32")
    result = evaluate(lambda x: topi.broadcast_to(x, (2, 4)), a, symbolic=True)
    np.testing.assert_array_equal(result, np.broadcast_to(a, (2, 4)))


def test_broadcast_to_another_extent_is_refused():
    with pytest.raises(ShapeError, match=r"\(2,\) cannot be repeated to \(3,\)"):
        topi.broadcast_to(te.placeholder((2,)), (3,))
    with pytest.raises(ShapeError, match="cannot be repeated"):
        topi.broadcast_to(te.placeholder((2, 3)), (3,))
