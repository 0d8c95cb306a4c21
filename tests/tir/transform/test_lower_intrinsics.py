"""Operators that are short for arithmetic mean the same after their expansion."""

import numpy as np
import pytest
from tests.target.llvm.programs import assert_same, function, loop, native

from tilewright import tir
from tilewright.error import LoweringError
from tilewright.ir import Call, DType, const, walk
from tilewright.tir import op
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.lower_intrinsics import EXPANSIONS, lower_intrinsics


def check(func, *arrays):
    """The interpreter before and after, and native code, agree."""
    lowered = lower_intrinsics(func)
    assert not [n for n in walk(lowered.body) if isinstance(n, Call) and n.op in EXPANSIONS]
    results = []
    for run in (lambda *a: interpret(func, *a), lambda *a: interpret(lowered, *a), native(lowered)):
        copies = [array.copy() for array in arrays]
        run(*copies)
        results.append(copies)
    for want, *others in zip(*results, strict=True):
        for got in others:
            assert_same(got, want)


def buffers(**dtypes):
    return [tir.decl_buffer((16,), dtype, name) for name, dtype in dtypes.items()]


@pytest.mark.parametrize("shift", [-9, -1, 0, 1, 5])
def test_fixed_point(shift):
    x, c = buffers(X="int32", C="int32")
    y, q, s = (const(value, "int32") for value in (1395864371, 31, shift))
    body = loop(16, lambda i: c.vstore((i,), op.q_multiply_shift(x[i], y, q, s)))
    values = np.random.default_rng(0).integers(-(10**6), 10**6, 16).astype("int32")
    check(function([x, c], body), values, np.zeros(16, "int32"))


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_fixed_point_per_axis(left, right):
    x, c = buffers(X="int32", C="int32")
    arguments = [const(value, "int32") for value in (1395864371, 3, 7, 31)]
    arguments += [const(left), const(right)]
    body = loop(16, lambda i: c.vstore((i,), op.q_multiply_shift_per_axis(x[i], *arguments)))
    values = np.random.default_rng(0).integers(-(10**5), 10**5, 16).astype("int32")
    check(function([x, c], body), values, np.zeros(16, "int32"))


@pytest.mark.parametrize(
    ("a", "b", "total"),
    [("int8", "int8", "int32"), ("uint8", "int8", "int32"), ("uint8", "uint8", "uint32")],
)
def test_dot_products(a, b, total):
    x, y, c = buffers(X=a, Y=b, C=total)

    def body(i):
        lanes = (tir.Ramp(i * 4, const(1, "int32"), 4),)
        return c.vstore((i,), op.dp4a(x.vload(lanes), y.vload(lanes), c[i]))

    rng = np.random.default_rng(0)
    arrays = [rng.integers(*((0, 256) if t == "uint8" else (-128, 128)), 16).astype(t)
              for t in (a, b)]  # fmt: skip
    check(function([x, y, c], loop(4, body)), *arrays, np.arange(16).astype(total))


@pytest.mark.parametrize("lanes", [1, 3, 4])
def test_dot_products_of_vectors(lanes):
    x, y, c = buffers(X="uint8", Y="int8", C="int32")
    index = tir.Ramp(const(0), const(1), 4 * lanes)
    target = const(0) if lanes == 1 else tir.Ramp(const(0), const(1), lanes)
    value = op.dp4a(x.vload((index,)), y.vload((index,)), c.vload((target,)))
    rng = np.random.default_rng(0)
    arrays = rng.integers(0, 256, 16).astype("uint8"), rng.integers(-128, 128, 16).astype("int8")
    total = np.full(16, 2**31 - 1, "int32")  # the sums wrap around
    check(function([x, y, c], tir.BufferStore(c, value, (target,))), *arrays, total)


def test_halves_of_vectors():
    x, c = buffers(X="float32", C="float32")
    whole, half = tir.Ramp(const(0), const(1), 8), tir.Ramp(const(0), const(1), 4)
    vector = x.vload((whole,))
    low, high = op.vectorlow("float32x4", vector), op.vectorhigh("float32x4", vector)
    swapped = op.vectorcombine("float32x8", high, low + c.vload((half,)))
    check(function([x, c], tir.BufferStore(c, swapped, (whole,))), *np.random.default_rng(0).normal(
        size=(2, 16)).astype("float32"))  # fmt: skip


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "int8"])
@pytest.mark.parametrize(("base", "limit"), [(0, 5), (3, 5), (5, 5), (7, 5), (120, 127), (0, 100)])
def test_masks(dtype, base, limit):
    b = tir.decl_buffer((2,), dtype, "B")
    c = tir.decl_buffer((8,), "bool", "C")
    mask = op.get_active_lane_mask("boolx8", b[0], b[1])
    body = tir.BufferStore(c, mask, (tir.Ramp(const(0), const(1), 8),))
    check(function([b, c], body), np.array([base, limit], dtype), np.zeros(8, bool))


def test_addresses():
    c = tir.decl_buffer((4,), "float32", "C")
    pointer = op.tvm_access_ptr("float32", c.data, const(2, "int32"), const(1, "int32"), 3)
    func = lower_intrinsics(function([c], tir.Evaluate(pointer)))
    assert native(func)(np.zeros(4, "float32")) == 0
    wrong = Call(pointer.dtype, pointer.op, (pointer.args[0], const(0, "int64").astype("handle"),
                                            *pointer.args[2:]))  # fmt: skip
    with pytest.raises(LoweringError, match="tvm_access_ptr"):
        lower_intrinsics(function([c], tir.Evaluate(wrong)))


def test_vectors_have_a_fixed_length():
    c = tir.decl_buffer((4,), "int32", "C")
    func = lower_intrinsics(function([c], c.vstore((0,), op.vscale())))
    target = np.zeros(4, "int32")
    native(func)(target)
    assert target[0] == 1
    assert op.vscale().dtype == DType("int32")
