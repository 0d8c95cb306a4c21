"""Every expansion of a mathematical function against references of higher precision."""

import math

import numpy as np
import pytest
from tests.tir.numerics.evaluate import evaluate, evaluate_function
from tests.tir.numerics.reference import REFERENCES, TWO_ARGUMENTS
from tests.tir.numerics.samples import pairs_of, samples_of, special_values

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Var
from tilewright.ir.op import Op
from tilewright.tir.numerics import KERNELS
from tilewright.tir.transform.lower_math import expand_call

NAMES = [*KERNELS, "rsqrt"]
FLOAT64_ULP = {
    "log1p": 2.5, "asinh": 3.0, "acosh": 3.0, "atanh": 3.0, "asin": 2.5, "tan": 3.5,
    "tanh": 2.5,
}  # fmt: skip
"""Bounds in float64 where they are not 2 ulp; docs/numerics.md states them."""

extended_precision = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="numpy's longdouble is not wider than float64 here"
)


def ulp_errors(result, exact, dtype):
    """Distance of `result` to `exact` in units of the last place of `dtype`.

    Infinite where only one of them is NaN, or infinite after rounding, or where the signs of zeros
    differ.
    """
    dtype = np.dtype(dtype)
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        finite = np.isfinite(rounded)
        unit = np.abs(np.spacing(np.where(finite, rounded, dtype.type(1)))).astype(exact.dtype)
        errors = np.abs(result.astype(exact.dtype) - exact) / unit
    same = (np.isnan(result) & np.isnan(rounded)) | (~finite & (result == rounded))
    errors = np.where(finite & np.isfinite(result), errors, np.where(same, 0.0, np.inf))
    wrong_zero = (result == 0) & (exact == 0) & (np.signbit(result) != np.signbit(exact))
    return np.where(wrong_zero, np.inf, errors)


def arguments_of(name, dtype):
    """Sample arrays: one, or two for a function of two arguments."""
    if name in TWO_ARGUMENTS:
        return pairs_of(dtype, positive_first=name == "pow")
    return (in_domain(name, samples_of(dtype)),)


def in_domain(name, x):
    """The arguments that a function is for."""
    return -np.abs(x) if name == "exp_nonpositive" else x


def check(name, dtype, wide, bound, **machine):
    arguments = arguments_of(name, dtype)
    assert len(arguments[0]) >= 200_000
    result = evaluate_function(name, dtype, *arguments, **machine)
    assert result.dtype == np.dtype(dtype)
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](*(argument.astype(wide) for argument in arguments))
    errors = ulp_errors(result, exact, dtype)
    worst = int(np.argmax(errors))
    at = tuple(argument[worst] for argument in arguments)
    assert errors[worst] <= bound, (
        f"{name}{at} is {result[worst]!r}, exactly {exact[worst]!r}: {errors[worst]} ulp"
    )


@pytest.mark.parametrize("name", NAMES)
def test_float32(name):
    check(name, "float32", np.float64, 2.0)


@extended_precision
@pytest.mark.parametrize("name", NAMES)
def test_float64(name):
    check(name, "float64", np.longdouble, FLOAT64_ULP.get(name, 2.0))


@pytest.mark.parametrize("name", NAMES)
def test_float32_without_fused_multiply_add(name):
    check(name, "float32", np.float64, 2.0, has_fma=False)


@extended_precision
@pytest.mark.parametrize("name", NAMES)
def test_float64_without_fused_multiply_add(name):
    check(name, "float64", np.longdouble, FLOAT64_ULP.get(name, 2.0), has_fma=False)


POWERS = ("exp", "exp2", "exp10", "exp_nonpositive", "sinh", "cosh", "erf", "pow")
"""Functions that are scaled by powers of two."""


@pytest.mark.parametrize("name", POWERS)
def test_float32_where_scaling_is_an_instruction(name):
    check(name, "float32", np.float64, 2.0, has_avx512=True)


@extended_precision
@pytest.mark.parametrize("name", POWERS)
def test_float64_where_scaling_is_an_instruction(name):
    check(name, "float64", np.longdouble, 2.0, has_avx512=True)


@extended_precision
@pytest.mark.parametrize(("low", "high"), [(-744.0, -600.0), (600.0, 709.7), (-1e-3, 1e-3)])
def test_powers_near_the_ends_of_the_range(low, high):
    rng = np.random.default_rng(2)
    x = np.exp(rng.uniform(-700, 700, 100_000))
    x[::2] = rng.uniform(0.5, 2.0, 50_000)
    y = rng.uniform(low, high, 100_000) / np.log(x)
    result = evaluate_function("pow", "float64", x, y)
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    assert ulp_errors(result, exact, "float64").max() <= 1.25


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", NAMES)
def test_half_types_are_within_one_unit(name, dtype):
    numpy_dtype = DType(dtype).numpy
    every = in_domain(name, np.arange(1 << 16, dtype=np.uint16).view(numpy_dtype))
    arguments = (every,)
    if name in TWO_ARGUMENTS:
        arguments = (every, np.random.default_rng(1).permutation(every))
    result = evaluate_function(name, dtype, *arguments)
    assert result.dtype == numpy_dtype
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](*(argument.astype(np.float64) for argument in arguments))
        rounded = exact.astype(np.float32).astype(numpy_dtype)
    steps = np.abs(_position(result) - _position(rounded))
    wrong = np.where(np.isnan(result.astype(np.float32)), ~np.isnan(exact), steps > 1)
    assert not wrong.any(), [argument[wrong][:3] for argument in arguments]


def _position(values):
    """The place of each value of a half type in the order of all of them."""
    bits = values.view(np.int16).astype(np.int32)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


@pytest.mark.parametrize("machine", [{}, {"has_avx512": True}, {"has_fma": False}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name, dtype, machine):
    special = in_domain(name, special_values(dtype))
    arguments = (special,)
    if name in TWO_ARGUMENTS:
        first, second = np.meshgrid(special, special)
        arguments = (first.ravel(), second.ravel())
    result = evaluate_function(name, dtype, *arguments, **machine)
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](*(argument.astype(np.longdouble) for argument in arguments))
        expected = exact.astype(dtype)
    for *at, got, want in zip(*arguments, result, expected, strict=True):
        if math.isnan(want):
            assert math.isnan(got), (name, at)
        elif want in (0, math.inf, -math.inf):
            assert got == want, (name, at)
            assert np.signbit(got) == np.signbit(want), (name, at)


@pytest.mark.parametrize(
    ("name", "argument", "expected"),
    [
        ("exp", 0.0, 1.0),
        ("exp2", -3.0, 0.125),
        ("exp10", 0.0, 1.0),
        ("exp_nonpositive", 0.0, 1.0),
        ("log", 1.0, 0.0),
        ("log2", 1024.0, 10.0),
        ("log2", 2.0**-1060, -1060.0),
        ("log10", 1.0, 0.0),
        ("sigmoid", 0.0, 0.5),
        ("tanh", 40.0, 1.0),
        ("erf", -7.0, -1.0),
        ("sin", -0.0, -0.0),
        ("cos", 0.0, 1.0),
        ("acos", 1.0, 0.0),
        ("acos", -1.0, math.pi),
        ("asin", 1.0, math.pi / 2),
        ("atan", math.inf, math.pi / 2),
        ("rsqrt", 0.25, 2.0),
    ],
)
def test_exact_values(name, argument, expected):
    result = evaluate_function(name, "float64", np.array([argument]))[0]
    assert result == expected
    assert math.copysign(1, result) == math.copysign(1, expected)


@pytest.mark.parametrize("name", ["exp", "exp2", "exp10", "exp_nonpositive"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_too_small_for_a_number_is_zero(name, dtype):
    x = np.array([-np.inf, -1e30, -1e4, np.finfo(dtype).min], dtype)
    result = evaluate_function(name, dtype, x)
    np.testing.assert_array_equal(result, 0)
    assert not np.signbit(result).any()


@pytest.mark.parametrize(
    ("name", "base"),
    [("exp", math.e), ("exp2", 2.0), ("exp10", 10.0), ("exp_nonpositive", math.e)],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_product_underflows_where_the_result_vanishes(name, base, dtype):
    # Such a product takes some processors a hundred times as long as another one.
    limits = np.finfo(dtype)
    least = (limits.minexp - limits.nmant - 5) / math.log2(base)
    x = np.linspace(3 * least, least, 10_001).astype(dtype)
    param = Var("x", DType(dtype))
    expanded = expand_call(Call(param.dtype, Op.get(f"tir.{name}"), (param,)))
    with np.errstate(over="ignore", under="raise"):
        result = evaluate(expanded, {param: x})
    np.testing.assert_array_equal(result, 0)
