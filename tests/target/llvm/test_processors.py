"""The same numbers on processors with fewer instructions than this machine has."""

import platform

import numpy as np
import pytest
from tests.target.llvm.programs import FLOATS, check, elementwise, samples
from tests.target.llvm.test_casts import in_range

from tilewright import tir
from tilewright.ir import DType
from tilewright.target import Target
from tilewright.target.cpu import host
from tilewright.tir import op

TARGETS = [
    Target(f"llvm -mtriple={platform.machine()}-linux-gnu -mcpu={cpu}")
    for cpu, feature in (("x86-64", "sse2"), ("x86-64-v2", "sse4.2"), ("haswell", "avx2"))
    if platform.machine() == "x86_64" and feature in host().features
] or [Target("llvm")]

pytestmark = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.cpu or "host")
COUNT = 64


def run(target, compute, *dtypes, result=None, lanes=(1, 8), values=None):
    result = result or dtypes[-1]
    arrays = values or [samples(dtype, COUNT, seed) for seed, dtype in enumerate(dtypes)]
    for width in lanes:
        func = elementwise(compute, COUNT, *dtypes, result=result, lanes=width)
        check(func, *arrays, np.zeros(COUNT, DType(result).numpy), target=target)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(target, dtype):
    run(target, lambda a, b: a * b + op.max(a, b) - op.min(a, 1.5), dtype, dtype, lanes=(1,))
    run(target, lambda a, b: tir.Select(a > b, a, b), dtype, dtype)
    for compute in (op.sqrt, op.floor, op.ceil, op.trunc, op.nearbyint, op.fabs):
        run(target, compute, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_fma_and_ldexp(target, dtype):
    run(target, lambda a, b: op.fma(a, b, a), dtype, dtype)
    exponents = np.resize(np.array([0, 1, -1, 20, -20, 130, -140], "int32"), COUNT)
    run(target, op.ldexp, dtype, "int32", result=dtype, values=[samples(dtype, COUNT), exponents])


@pytest.mark.parametrize("source", ["int8", "uint32", "int64", "uint64", *FLOATS])
@pytest.mark.parametrize("end", ["int16", "uint32", "int64", "uint64", *FLOATS])
def test_casts(target, source, end):
    values = samples(source, COUNT)
    if source in FLOATS and end not in FLOATS:
        values = in_range(values, end)

    def convert(x):
        return tir.Cast(DType(end).with_lanes(x.dtype.lanes), x)

    run(target, convert, source, result=end, values=[values])


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16"])
def test_integers(target, dtype):
    run(target, lambda a, b: (a * b) ^ (a - b), dtype, dtype)
    run(target, lambda a, b: tir.Max(a, b) + tir.Min(a, b), dtype, dtype)
    run(target, op.popcount, dtype)
    run(target, op.clz, dtype, result="int32")
