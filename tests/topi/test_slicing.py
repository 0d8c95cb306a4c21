"""Parts of tensors, and tensors joined and split, against numpy."""

import numpy as np
import pytest
from tests.topi.evaluate import BOTH, array, evaluate, same

from tilewright import te, topi
from tilewright.error import ArgumentError, ShapeError

# --- slices --------------------------------------------------------------------------------------

SLICES = [
    ((1, 0), (3, 2), None), ((0, 1), (10, 10), (2, 2)), ((-1, -1), (-10, -10), (-1, -2)),
    ((None, 3), (None, 1), (1, -1)), ((2, 2), (1, 5), None), ((3,), (4,), None),
    ((-2, -3), (-1, 5), None),
]  # fmt: skip


@BOTH
@pytest.mark.parametrize(("begin", "end", "strides"), SLICES, ids=str)
def test_strided_slice(begin, end, strides, symbolic):
    x = array(4, 5)
    steps = strides or [1] * len(begin)
    expected = x[tuple(map(slice, begin, end, steps))]
    result = evaluate(
        lambda a: topi.strided_slice(a, begin, end, strides, assume_inbound=False),
        x,
        symbolic=symbolic,
    )
    same(result, expected)


def test_slices_of_some_axes_and_sizes():
    x = array(4, 5)
    result = evaluate(lambda a: topi.strided_slice(a, [1], [4], [2], axes=[-1]), x)
    same(result, x[:, 1:4:2])
    result = evaluate(lambda a: topi.strided_slice(a, [1, 2], [2, -1], slice_mode="size"), x)
    same(result, x[1:3, 2:])
    with pytest.raises(ArgumentError, match="the stride of axis 0 is 0"):
        topi.strided_slice(te.placeholder((4,)), [0], [4], [0])
    with pytest.raises(ArgumentError, match="2 begins, 1 ends"):
        topi.strided_slice(te.placeholder((4, 5)), [0, 1], [4])


def test_slices_of_symbolic_bounds():
    n = te.size_var("n", "int64")
    x = te.placeholder((n, 8))
    part = topi.strided_slice(x, [0], [n - 1], axes=[0])
    assert str(part.shape[0]) == "n - T.int64(1)"
    assert str(topi.strided_slice(x, [0], [(1 << 31) - 1], axes=[0]).shape[0]) == "n"


@pytest.mark.parametrize(("begin", "end", "strides"), SLICES[:1] + SLICES[4:5], ids=str)
def test_dynamic_strided_slice(begin, end, strides):
    x = array(4, 5)
    steps = strides or (1, 1)
    expected = x[tuple(map(slice, begin, end, steps))]
    bounds = [np.array(b, "int64") for b in (begin, end, steps)]
    result = evaluate(
        lambda a, b, e, s: topi.dynamic_strided_slice(a, b, e, s, expected.shape), x, *bounds
    )
    same(result, expected)


def test_strided_set():
    x, v = array(4, 6), -array(2, 3) - 1
    result = evaluate(lambda a, b: topi.strided_set(a, b, [1, 0], [3, 6], [1, 2]), x, v)
    expected = x.copy()
    expected[1:3, 0:6:2] = v
    same(result, expected)
    backwards = evaluate(lambda a, b: topi.strided_set(a, b, [2, 5], [0, -7], [-1, -2]), x, v)
    expected = x.copy()
    expected[2:0:-1, 5::-2] = v
    same(backwards, expected)


def test_sliding_window():
    x = array(2, 5, 6)
    result = evaluate(lambda a: topi.sliding_window(a, 1, (2, 3), (1, 2)), x)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (1, 2))
    same(result, windows[:, ::1, ::2])


# --- joining -------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate_and_stack(axis):
    x, y = array(2, 3), array(2, 3) + 10
    same(evaluate(lambda a, b: topi.concatenate((a, b), axis), x, y), np.concatenate((x, y), axis))
    same(evaluate(lambda a, b: topi.stack((a, b), axis), x, y), np.stack((x, y), axis))


def test_concatenate_many_tensors():
    x = np.arange(2, dtype="float32")
    result = evaluate(lambda a: topi.concatenate([a] * 500), x)
    same(result, np.tile(x, 500))


def test_concatenate_of_symbolic_and_empty_tensors():
    x, y = array(2, 3), array(2, 0)
    result = evaluate(lambda a, b: topi.concatenate((a, b, b, a), 1), x, y)
    same(result, np.concatenate((x, y, y, x), 1))
    result = evaluate(lambda a: topi.concatenate((a, a), 0), x, symbolic=True)
    same(result, np.concatenate((x, x)))
    with pytest.raises(ShapeError, match="differ in dimension 1"):
        topi.concatenate((te.placeholder((2, 3)), te.placeholder((2, 4))))
    with pytest.raises(ShapeError, match="does not fit tensor 0"):
        topi.concatenate((te.placeholder((2, 3)), te.placeholder((2, 3), "int32")))


@BOTH
@pytest.mark.parametrize("sections", [2, 3, [1, 3], [0, 2, 2], [7], [4, 1, 3]], ids=str)
def test_split(sections, symbolic):
    x = array(2, 6)
    parts = evaluate(lambda a: topi.split(a, sections, -1), x, symbolic=symbolic)
    for part, expected in zip(parts, np.split(x, sections, -1), strict=True):
        same(part, expected)


def test_split_into_parts_of_different_sizes():
    parts = evaluate(lambda a: topi.split(a, 3), array(7))
    assert [len(part) for part in parts] == [3, 3, 1]
    with pytest.raises(ArgumentError, match="number of parts is positive"):
        topi.split(te.placeholder((4,)), 0)


@BOTH
def test_repeat_and_tile(symbolic):
    x = array(2, 3)
    same(evaluate(lambda a: topi.repeat(a, 2, -1), x, symbolic=symbolic), np.repeat(x, 2, -1))
    same(evaluate(lambda a: topi.repeat(a, 2), x, symbolic=symbolic), np.repeat(x, 2))
    for reps in (2, (2, 1), (1, 2, 3), (3, 1, 1), ()):
        same(evaluate(lambda a, r=reps: topi.tile(a, r), x, symbolic=symbolic), np.tile(x, reps))
