"""Conversions between all dtypes."""

import itertools

import numpy as np
import pytest
from tests.target.llvm.programs import FLOATS, INTEGERS, check, elementwise, native, samples

from tilewright import tir
from tilewright.ir import DType

DTYPES = (*INTEGERS, *FLOATS, "bool")


def in_range(values, dtype):
    """`values` without those whose conversion to an integer is unspecified."""
    info = np.iinfo(dtype)
    wide = values.astype("float64")
    fits = np.isfinite(wide) & (wide > info.min - 1.0) & (wide < info.max)
    return np.where(fits, values, values.dtype.type(1))


@pytest.mark.parametrize(("source", "target"), list(itertools.permutations(DTYPES, 2)))
def test_conversion(source, target):
    values = samples(source, 64)
    if source in FLOATS and target in INTEGERS:
        values = in_range(values, target)
    for lanes in (1, 8):

        def compute(x, lanes=lanes):
            return tir.Cast(DType(target).with_lanes(lanes), x)

        func = elementwise(compute, 64, source, result=target, lanes=lanes)
        check(func, values, np.zeros(64, DType(target).numpy))


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_out_of_range_gives_some_number(source, target):
    values = samples(source, 64)
    for lanes in (1, 8):

        def compute(x, lanes=lanes):
            return tir.Cast(DType(target).with_lanes(lanes), x)

        run = native(elementwise(compute, 64, source, result=target, lanes=lanes))
        assert run(values, np.zeros(64, target)) == 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("lanes", [1, 8])
def test_float64_to_halves_is_rounded_once(dtype, lanes):
    kind = DType(dtype).numpy
    infinity, bound = (0x7C00, 2.0**16) if dtype == "float16" else (0x7F80, 2.0**128)
    lower = np.arange(infinity, dtype="uint16")
    numbers = np.append(lower.view(kind).astype("float64"), bound)
    # What is next to the middle of two numbers would be rounded the wrong way in two steps.
    ties = (numbers[:-1] + numbers[1:]) / 2
    values = np.concatenate([np.nextafter(ties, 0), ties, np.nextafter(ties, np.inf)])
    expected = np.concatenate([lower, lower + lower % 2, lower + 1])
    values = np.concatenate([values, -values])
    expected = np.concatenate([expected, expected | 0x8000])

    def compute(x):
        return tir.Cast(DType(dtype).with_lanes(lanes), x)

    result = np.zeros(len(values), kind)
    run = native(elementwise(compute, len(values), "float64", result=dtype, lanes=lanes))
    assert run(values, result) == 0
    np.testing.assert_array_equal(result.view("uint16"), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_copies_of_halves_keep_their_bits(dtype):
    bits = np.arange(65536, dtype="uint16")
    result = np.zeros_like(bits)
    kind = DType(dtype).numpy
    run = native(elementwise(lambda x: x, 65536, dtype, lanes=16))
    assert run(bits.view(kind), result.view(kind)) == 0
    np.testing.assert_array_equal(result, bits)  # signalling NaNs, too


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("lanes", [1, 16])
def test_a_choice_between_halves_keeps_their_bits(dtype, lanes):
    bits = np.arange(65536, dtype="uint16")
    result = np.zeros_like(bits)
    kind = DType(dtype).numpy

    def choose(x):
        return tir.Select(x < x * x, x, x)

    run = native(elementwise(choose, 65536, dtype, lanes=lanes))
    assert run(bits.view(kind), result.view(kind)) == 0
    np.testing.assert_array_equal(result, bits)  # signalling NaNs, too


def test_halves_are_rounded_once():
    def compute(x):
        return tir.Cast(DType("bfloat16x8"), x)

    run = native(elementwise(compute, 64, "float32", result="bfloat16", lanes=8))
    assert run.code.llvm_ir.count("fcmp uno") == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_of_all_floats_near_ties(dtype):
    kind = DType(dtype).numpy
    step = np.uint32(1 << (13 if dtype == "float16" else 16))
    exact = np.arange(65536, dtype="uint16").view(kind).astype("float32").view("uint32")
    values = np.concatenate([exact + part for part in (0, 1, step // 2 - 1, step // 2,
                                                       step // 2 + 1, step - 1)])  # fmt: skip
    values = values.astype("uint32").view("float32")

    def compute(x):
        return tir.Cast(DType(dtype).with_lanes(16), x)

    result = np.zeros(len(values), kind)
    run = native(elementwise(compute, len(values), "float32", result=dtype, lanes=16))
    assert run(values, result) == 0
    with np.errstate(over="ignore", invalid="ignore"):
        expected = values.astype(kind)
    numbers = ~np.isnan(values)
    assert np.isnan(result[~numbers].astype("float32")).all()
    bits = result.view("uint16"), expected.view("uint16")
    np.testing.assert_array_equal(bits[0][numbers], bits[1][numbers])
