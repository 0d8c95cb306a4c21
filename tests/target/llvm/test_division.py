"""Integer division: all combinations of signs, and none that stops the process."""

import numpy as np
import pytest
from tests.target.llvm.programs import INTEGERS, check, elementwise, function, loop, native, samples

from tilewright import tir
from tilewright.ir import DType, const

KINDS = (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod)
SIGNED = ("int8", "int16", "int32", "int64")


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("kind", KINDS)
def test_by_variables(kind, dtype):
    a, b = samples(dtype, 256, 1), samples(dtype, 256, 2)
    if np.iinfo(a.dtype).min:  # the quotient of the smallest number and -1 wraps
        a[0], b[0] = np.iinfo(a.dtype).min, -1
    b[b == 0] = 3
    for lanes in (1, 8):
        check(elementwise(kind, 256, dtype, dtype, lanes=lanes), a, b, np.zeros_like(a))


@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("divisor", [1, -1, 2, -2, 3, -3, 7, 8, 64, -64, 100, 127, -128])
def test_by_constants(kind, divisor, dtype):
    a = samples(dtype, 64)
    for lanes in (1, 8):

        def compute(x, lanes=lanes):
            divide = const(divisor, DType(dtype))
            return kind(x, divide if lanes == 1 else tir.Broadcast(divide, lanes))

        check(elementwise(compute, 64, dtype, lanes=lanes), a, np.zeros_like(a))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("kind", KINDS)
def test_by_zero_gives_some_number(kind, dtype):
    a = samples(dtype, 64)
    for lanes in (1, 8):
        run = native(elementwise(kind, 64, dtype, dtype, lanes=lanes))
        assert run(a, np.zeros_like(a), np.zeros_like(a)) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_of_loop_variables(kind):
    target = tir.decl_buffer((60,), "int32", "C")
    for divisor in (1, 4, 7):
        func = function(
            [target],
            loop(60, lambda i, d=divisor: target.vstore((i,), kind(i + 5, const(d, "int32")))),
        )
        check(func, np.zeros(60, "int32"))


def test_known_signs_need_no_correction():
    target = tir.decl_buffer((64,), "int32", "C")
    func = function([target], loop(64, lambda i: target.vstore((i,), i // 7 + i % 7)))
    text = native(func).code.llvm_ir
    assert "udiv" in text
    assert "urem" in text
    assert "select" not in text
