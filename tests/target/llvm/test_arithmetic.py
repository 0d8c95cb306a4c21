"""Arithmetic of all dtypes, as scalars and as vectors, against the interpreter."""

import math
import re

import numpy as np
import pytest
from tests.target.llvm.programs import FLOATS, HOST, INTEGERS, check, elementwise, native, samples
from tests.target.ties import TYPES, fma_ties

import tilewright as tvm
from tilewright import tir
from tilewright.ir import DType, const
from tilewright.ir.arithmetic import cast
from tilewright.ir.op import Op
from tilewright.target import Target
from tilewright.tir import op
from tilewright.tir.interpreter import interpret
from tilewright.tir.op.math import fma
from tilewright.tir.transform.lower_math import expand_call

COUNT = 64


def operands(*dtypes):
    return [samples(dtype, COUNT, seed) for seed, dtype in enumerate(dtypes)]


def check_elementwise(compute, *dtypes, result=None, tolerance=0.0, lanes=(1, 8)):
    result = result or dtypes[-1]
    for width in lanes:
        func = elementwise(compute, COUNT, *dtypes, result=result, lanes=width)
        output = np.zeros(COUNT, DType(result).numpy)
        check(func, *operands(*dtypes), output, tolerance=tolerance)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
@pytest.mark.parametrize("kind", [tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max])
def test_arithmetic(kind, dtype):
    check_elementwise(kind, dtype, dtype)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool"])
@pytest.mark.parametrize("kind", [tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE])
def test_comparisons(kind, dtype):
    check_elementwise(kind, dtype, dtype, result="bool")


@pytest.mark.parametrize("kind", [tir.And, tir.Or])
def test_logic(kind):
    check_elementwise(kind, "bool", "bool")
    check_elementwise(tir.Not, "bool")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("limit", [0.0, 1.5])
def test_extremes_with_a_constant_keep_nan(dtype, limit):
    check_elementwise(lambda a: op.max(a, limit), dtype)
    check_elementwise(lambda a: op.min(const(limit, a.dtype), a), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_division_of_floats(dtype):
    check_elementwise(tir.Div, dtype, dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32"])
def test_select_and_if_then_else(dtype):
    check_elementwise(lambda a, b: tir.Select(a > b, a, b), dtype, dtype)
    check_elementwise(lambda a, b: op.if_then_else(a > b, a, b), dtype, dtype, lanes=(1,))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits(dtype):
    check_elementwise(lambda a, b: (a & b) ^ (a | ~b), dtype, dtype)
    check_elementwise(lambda a: (a << 3) ^ (a >> 2), dtype)
    check_elementwise(op.popcount, dtype)
    check_elementwise(op.clz, dtype, result="int32")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "compute", [op.sqrt, op.floor, op.ceil, op.trunc, op.nearbyint, op.round, op.fabs]
)
def test_functions_of_one_float(compute, dtype):
    check_elementwise(compute, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_copysign_and_classes(dtype):
    check_elementwise(op.copysign, dtype, dtype)
    for test in (op.isnan, op.isinf, op.isfinite):
        check_elementwise(test, dtype, result="bool")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("target", [HOST, Target("llvm -mattr=-fma")])
@pytest.mark.parametrize("lanes", [1, 4])
def test_fma_rounds_once(dtype, target, lanes):
    *operands, expected = fma_ties(dtype)
    func = elementwise(fma, 8, dtype, dtype, dtype, lanes=lanes)
    result = np.zeros_like(expected)
    assert native(func, target)(*operands, result) == 0
    np.testing.assert_array_equal(result.astype("float64"), expected.astype("float64"))
    check(func, *operands, result, target=target)


@pytest.mark.parametrize("dtype", FLOATS)
def test_fma(dtype):
    check_elementwise(fma, dtype, dtype, dtype)
    if dtype in ("float32", "float64"):
        a = 1 + 2.0**-23 if dtype == "float32" else 1 + 2.0**-52
        func = elementwise(lambda x: fma(x, x, -x), 8, dtype, lanes=8)
        check(func, np.full(8, a, dtype), np.zeros(8, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_ldexp_reaches_denormals_and_infinity(dtype):
    exponents = np.resize(np.array([0, 1, -1, 20, -20, 130, -140, 300, -1080], "int32"), COUNT)
    values = samples(dtype, COUNT)
    for lanes in (1, 8):
        func = elementwise(op.ldexp, COUNT, dtype, "int32", result=dtype, lanes=lanes)
        check(func, values, exponents, np.zeros(COUNT, DType(dtype).numpy))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_exponent_may_be_a_float_that_is_a_whole_number(dtype):
    """As expansions of functions have it."""

    def scaled(x, exponent):
        return tir.Call(x.dtype, Op.get("tir.ldexp"), (x, exponent))

    exponents = np.resize(np.array([0, 1, -1, 20, -20, 130, -140, 300, -1080], dtype), COUNT)
    for lanes in (1, 2, 8, 64):
        func = elementwise(scaled, COUNT, dtype, dtype, lanes=lanes)
        check(func, samples(dtype, COUNT), exponents, np.zeros(COUNT, dtype))


def test_avx512_scales_by_a_float():
    """Without an integer in between, and with zeros in the lanes that vanish."""
    func = elementwise(op.exp, 64, "float32", lanes=64)
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=1"
    code = tvm.build(func, target=target).get_source("asm")
    assert len(re.findall(r"vscalefps.*\{z\}", code)) == 4
    assert "vcvt" not in code


@pytest.mark.parametrize("lanes", [1, 8, 16, 40])
def test_tables_are_looked_up_in_registers(lanes):
    """In the interpreter, and where the machine can in code, it is the error function."""

    def expanded(x):
        return expand_call(op.erf(x), has_avx512=True)

    func = elementwise(expanded, 5 * lanes, "float32", lanes=lanes)
    x = np.random.default_rng(0).normal(0, 2, 5 * lanes).astype("float32")
    x[: min(5, lanes)] = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], "float32")[: min(5, lanes)]
    y = np.zeros_like(x)
    interpret(func, x, y)
    expected = np.vectorize(math.erf)(x.astype("float64"))
    np.testing.assert_allclose(y, expected, rtol=2.5e-7)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(x))
    if HOST.has_avx512:
        check(func, x, np.zeros_like(x))


def test_avx512_looks_up_tables_by_an_instruction():
    func = elementwise(op.erf, 64, "float32", lanes=64)
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=1"
    code = tvm.build(func, target=target).get_source("asm")
    assert len(re.findall(r"vperm[it]2ps", code)) == 4 * 5


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 10), ("bfloat16", 7)])
@pytest.mark.parametrize("lanes", [1, 4])
def test_float64_is_rounded_to_a_half_type_once(dtype, bits, lanes):
    unit = 2.0**-bits
    # Above the middle of two numbers by less than float32 can tell, the middle, and out of range.
    x = np.array([1 + unit / 2 + 2.0**-40, 1 + unit / 2, 1e300, -1e-60])
    y = np.zeros(4, DType(dtype).numpy)
    name = dtype if lanes == 1 else f"{dtype}x{lanes}"
    func = elementwise(lambda a: cast(name, a), 4, "float64", result=dtype, lanes=lanes)
    assert native(func, HOST)(x, y) == 0
    np.testing.assert_array_equal(y.astype("float64"), [1 + unit, 1, np.inf, 0])


def test_reinterpret():
    check_elementwise(lambda a: op.reinterpret(f"int32x{a.dtype.lanes}".removesuffix("x1"), a),
                      "float32", result="int32")  # fmt: skip
    for half in ("float16", "bfloat16"):
        func = elementwise(lambda a: op.reinterpret("uint16", a), COUNT, half, result="uint16")
        values = samples(half, COUNT)
        values = np.where(np.isnan(values), values.dtype.type(0), values)
        check(func, values, np.zeros(COUNT, "uint16"))


def test_every_bfloat16_and_float16_survives_a_round_trip():
    for half in ("float16", "bfloat16"):
        bits = np.arange(1 << 16, dtype="uint16")
        values = bits.view(DType(half).numpy)
        func = elementwise(lambda a: a + a, 1 << 16, half, lanes=16)
        check(func, values, np.zeros(1 << 16, values.dtype))
