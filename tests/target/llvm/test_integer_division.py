"""Quotients and remainders of vectors of integers, which floats are precise enough for."""

import numpy as np
import pytest
from tests.target.llvm.programs import elementwise, native

from tilewright import tir
from tilewright.ir import DType
from tilewright.target import Target

LANES = 16
NUMPY = {
    tir.FloorDiv: np.floor_divide,
    tir.FloorMod: np.remainder,
    tir.Div: lambda a, b: np.sign(a) * np.sign(b) * (abs(a) // abs(b)),
    tir.Mod: np.fmod,
}


def pairs(dtype):
    """All pairs of bytes; of wider ones, quotients that are just below and above integers."""
    limits = np.iinfo(DType(dtype).numpy)
    if limits.bits == 8:
        values = np.arange(limits.min, limits.max + 1)
        a, b = (each.reshape(-1) for each in np.meshgrid(values, values))
    else:
        rng = np.random.default_rng(0)
        edges = [limits.min, limits.min + 1, limits.max, limits.max - 1, 1, 2, 3, -1, -2]
        near = rng.integers(1, 1 << (limits.bits // 2), 4000)
        any_size = rng.integers(limits.min, limits.max, 2000, endpoint=True)
        b = np.concatenate([np.resize(edges, 180), near, any_size, np.roll(any_size, 1)])
        quotients = np.concatenate([limits.max // near - rng.integers(0, 2, 4000)] * 2)[:4000]
        exact = near * quotients + rng.integers(-1, 2, 4000)
        a = np.concatenate([np.repeat(edges, 20), exact, np.roll(any_size, 7), any_size])
    inside = (
        (limits.min <= a) & (a <= limits.max) & (limits.min <= b) & (b <= limits.max) & (b != 0)
    )
    a, b = a[inside], b[inside]
    count = len(a) // LANES * LANES
    return a[:count].astype("int64"), b[:count].astype("int64")


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
@pytest.mark.parametrize("processor", [None, "x86-64-v3", "x86-64-v2"])
def test_vectors_divide_exactly(kind, dtype, processor):
    a, b = pairs(dtype)
    width = DType(dtype).numpy
    func = elementwise(kind, len(a), dtype, dtype, lanes=LANES)
    options = [] if processor is None else [Target(f"llvm -mcpu={processor}")]
    result = np.zeros(len(a), width)
    assert native(func, *options)(a.astype(width), b.astype(width), result) == 0
    np.testing.assert_array_equal(result, NUMPY[kind](a, b).astype(width))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint32"])
def test_division_by_zero_gives_some_number(dtype):
    width = DType(dtype).numpy
    a, b = np.arange(LANES).astype(width), np.zeros(LANES, width)
    for kind in NUMPY:
        assert native(elementwise(kind, LANES, dtype, dtype, lanes=LANES))(a, b, a.copy()) == 0
