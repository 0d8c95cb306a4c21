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


def test_float64_to_halves_is_as_in_the_interpreter():
    rng = np.random.default_rng(0)
    # Values next to ties of float16, which rounding to float32 first would send the wrong way.
    ties = rng.integers(0x400, 0x7BFF, 512).astype("uint16").view("float16").astype("float64")
    spacing = np.spacing(ties.astype("float16")).astype("float64")
    values = ties + spacing * (0.5 + rng.choice([-1, 1], 512) * 2.0**-40)
    for half in ("float16", "bfloat16"):

        def compute(x, half=half):
            return tir.Cast(DType(half), x)

        check(elementwise(compute, 512, "float64", result=half), values,
              np.zeros(512, DType(half).numpy))  # fmt: skip
