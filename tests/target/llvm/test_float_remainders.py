"""Remainders of floats are exact, and their vectors call a library for large quotients only."""

import numpy as np
import pytest
from tests.target.llvm.programs import assert_same, elementwise, native

import tilewright as tvm
from tilewright import tir
from tilewright.target import Target

COUNT = 1 << 12
KINDS = (tir.fmod, tir.Mod)


def anything(random, dtype):
    """Numbers of all sizes, infinities and what is no number."""
    whole = np.dtype(dtype).itemsize
    return np.frombuffer(random.bytes(COUNT * whole), dtype).copy()


def almost_multiples(random, dtype):
    """Dividends next to multiples of their divisors, where the quotient is rounded up."""
    b = random.standard_normal(COUNT).astype(dtype)
    a = (b * random.integers(-(1 << 21), 1 << 21, COUNT)).astype(dtype)
    return np.nextafter(a, np.where(random.random(COUNT) < 0.5, np.inf, -np.inf).astype(dtype)), b


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lanes", [1, 8])
def test_all_bits_are_right(kind, dtype, lanes):
    random = np.random.default_rng(lanes)
    run = native(elementwise(kind, COUNT, dtype, dtype, lanes=lanes))
    small = random.standard_normal((2, COUNT)).astype(dtype)
    small[1, ::7], small[0, ::5] = np.inf, 0
    for a, b in (
        (anything(random, dtype), anything(random, dtype)), almost_multiples(random, dtype), small,
    ):  # fmt: skip
        result = np.zeros_like(a)
        run(a.copy(), b.copy(), result)
        with np.errstate(all="ignore"):
            assert_same(result, np.fmod(a, b))


@pytest.mark.parametrize("kind", KINDS)
def test_small_quotients_call_no_library(kind):
    func = elementwise(kind, COUNT, "float32", "float32", lanes=8)

    def code(options):
        target = Target(f"llvm -mtriple=x86_64-linux-gnu {options} -num-cores=1")
        return tvm.build(func, target=target).get_source("ll")

    assert "llvm.fma.v8f32" in code("-mcpu=haswell")
    assert "llvm.fma.v8f32" not in code("-mcpu=nehalem")  # without such instructions
