"""`//` and `%` of floats: those of numpy, in the interpreter, expanded, and native."""

import numpy as np
import pytest
from tests.target.llvm.programs import FLOATS, assert_same, elementwise, native, samples

from tilewright import te, tir
from tilewright.ir import walk
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.lower_intrinsics import lower_intrinsics
from tilewright.tir.transform.lower_math import lower_math

DIVISIONS = ((tir.FloorDiv, np.floor_divide), (tir.FloorMod, np.remainder))


def operands(dtype):
    """Numbers of all signs and sizes, some of which divide others but for a rounding."""
    a, b = samples(dtype, 256, 1), samples(dtype, 256, 2)
    with np.errstate(all="ignore"):
        a[::3] = (b[::3].astype("float64") * np.arange(-43, 43)).astype(a.dtype)
    b[5] = b[17] = 0
    a[40:44], b[40:44] = [1, -1, 0.3, -0.3], [0.1, 0.1, -0.1, -0.1]
    return a, b


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("kind", "reference"), DIVISIONS)
@pytest.mark.parametrize("lanes", [1, 8])
def test_of_all_kinds_of_floats(kind, reference, dtype, lanes):
    a, b = operands(dtype)
    with np.errstate(all="ignore"):
        expected = reference(a, b).astype(a.dtype)
    func = elementwise(kind, 256, dtype, dtype, lanes=lanes)
    runs = [lambda *arrays: interpret(func, *arrays)]
    for expand in (lower_intrinsics, lower_math):
        lowered = expand(func)
        assert not [
            node for node in walk(lowered.body) if type(node) is kind and node.dtype.is_float
        ]
        runs += [lambda *arrays, f=lowered: interpret(f, *arrays), native(lowered)]
    for run in runs:
        result = np.zeros_like(a)
        run(a.copy(), b.copy(), result)
        assert_same(result, expected)


def test_of_tensors():
    a, b = (te.placeholder((4,), "float32", name) for name in "ab")
    func = te.create_prim_func([a, b, a // b, a % b])
    x, y = np.array([1, -1, 7, 7], "float32"), np.array([0.1, 0.1, 0.1, -0.1], "float32")
    results = np.zeros((2, 4), "float32")
    interpret(func, x, y, *results)
    np.testing.assert_array_equal(results, [x // y, x % y])


@pytest.mark.parametrize("kind", [tir.FloorDiv, tir.FloorMod])
def test_of_integers_stay(kind):
    func = elementwise(kind, 16, "int32", "int32")
    assert lower_intrinsics(func) is func
    assert lower_math(func) is func
