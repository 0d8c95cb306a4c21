"""Elementwise operators of topi against numpy."""

import math

import numpy as np
import pytest
from tests.topi.evaluate import evaluate

from tilewright import te, topi

FLOATS = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: 10.0**x, "erf": np.vectorize(math.erf),
    "tanh": np.tanh, "tan": np.tan, "cos": np.cos, "cosh": np.cosh, "sin": np.sin,
    "sinh": np.sinh, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "floor": np.floor,
    "ceil": np.ceil, "trunc": np.trunc, "round": np.round, "nearbyint": np.rint, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "isnan": np.isnan, "isfinite": np.isfinite, "isinf": np.isinf, "identity": np.copy,
    "negative": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square,
    "fast_exp": np.exp, "fast_tanh": np.tanh, "fast_erf": np.vectorize(math.erf),
}  # fmt: skip
INTEGERS = ("floor", "ceil", "round", "isnan", "isfinite", "identity", "negative", "abs", "sign")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", FLOATS)
def test_floats(name, dtype):
    x = np.array([-2.5, -1, -0.25, 0, 0.5, 1, 1.5, 3, np.nan, np.inf, -np.inf], dtype)
    expected = FLOATS[name](x.astype("float64"))
    result = evaluate(getattr(topi, name), x)
    assert result.dtype == ("bool" if name.startswith("is") else dtype)
    np.testing.assert_allclose(result, expected, rtol=3e-3 if dtype == "float16" else 1e-5)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    x = np.array([[-2, 0], [3, 100]], "int32")
    np.testing.assert_array_equal(evaluate(getattr(topi, name), x), FLOATS[name](x))


def test_bits_and_truth():
    x, flags = np.array([0, 5, 255], "uint8"), np.array([True, False])
    np.testing.assert_array_equal(evaluate(topi.bitwise_not, x), ~x)
    np.testing.assert_array_equal(evaluate(topi.logical_not, flags), ~flags)
    np.testing.assert_array_equal(evaluate(topi.bitwise_not, flags), ~flags)
    np.testing.assert_array_equal(evaluate(topi.sign, x), [0, 1, 1])


def test_clip():
    x = np.array([-1, 0.5, 7, np.nan], "float32")
    np.testing.assert_array_equal(evaluate(lambda a: topi.clip(a, 0, 6), x), np.clip(x, 0, 6))


def test_cast_and_reinterpret():
    x = np.array([-1.75, 0, 2.5], "float32")
    np.testing.assert_array_equal(evaluate(lambda a: topi.cast(a, "int32"), x), [-1, 0, 2])
    bits = evaluate(lambda a: topi.reinterpret(a, "int32"), x)
    np.testing.assert_array_equal(bits, x.view("int32"))


def test_ceil_log2():
    x = np.array([1, 2, 3, 4, 5, 64, 65, 1 << 30], "int32")
    np.testing.assert_array_equal(evaluate(topi.ceil_log2, x), [0, 1, 2, 2, 3, 6, 7, 30])
    y = np.array([0.5, 1, 5], "float32")
    np.testing.assert_array_equal(evaluate(topi.ceil_log2, y), [-1, 0, 3])


def test_fixed_point_multiply():
    x = np.array([-7, 0, 100, 12345], "int32")
    half_again = evaluate(lambda a: topi.fixed_point_multiply(a, 3 << 29, 1), x)
    np.testing.assert_array_equal(half_again, np.floor(x * 1.5 + 0.5))
    y, shift = np.array([1 << 30, 1 << 29], "int32"), np.array([0, 1], "int32")
    matrix = np.array([[10, 20], [-30, 41]], "int32")
    result = evaluate(
        lambda a, m, up, down: topi.fixed_point_multiply_per_axis(a, m, up, down, 1, 0, [1]),
        matrix, y, shift, np.zeros(2, "int32"),
    )  # fmt: skip
    np.testing.assert_array_equal(result, np.floor(matrix * 0.5 + 0.5))


def test_symbolic_shapes_and_empty_arrays():
    x = np.zeros((2, 0), "float32")
    assert evaluate(topi.exp, x, symbolic=True).shape == (2, 0)
    assert evaluate(topi.exp, np.zeros((), "float32")) == 1
    assert str(topi.exp(te.var("x", "float32"))) == "T.exp(x)"
