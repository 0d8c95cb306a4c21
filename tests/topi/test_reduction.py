"""Reductions of topi against numpy."""

import numpy as np
import pytest
from tests.topi.evaluate import evaluate

from tilewright import te, topi
from tilewright.error import ArgumentError, ShapeError

REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
AXES = [None, 0, -1, (0, 2), [1]]


def array(shape, dtype):
    return np.random.default_rng(3).integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_numbers(name, axis, keepdims, symbolic):
    x = array((2, 3, 4), "float32")
    result = evaluate(lambda a: getattr(topi, name)(a, axis, keepdims), x, symbolic=symbolic)
    numpy_axis = tuple(axis) if isinstance(axis, list) else axis
    expected = REDUCTIONS[name](x, axis=numpy_axis, keepdims=keepdims)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float16", "float64"])
def test_other_dtypes(dtype):
    x = np.abs(array((2, 3), dtype))
    result = evaluate(lambda a: topi.sum(a, -1), x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, x.sum(-1, dtype=dtype))


def test_sums_of_short_floats_keep_their_digits():
    x = np.full((3000,), 1.0, "float16")
    assert evaluate(lambda a: topi.sum(a), x) == 3000


def test_truth():
    x = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(evaluate(lambda a: topi.all(a, 1), x), [False, True])
    np.testing.assert_array_equal(evaluate(lambda a: topi.any(a, 0), x), [True, True])
    with pytest.raises(ArgumentError, match=r"topi.all needs bool elements, got float32"):
        topi.all(te.placeholder((2,)))


@pytest.mark.parametrize("axis", [None, 0, -1], ids=str)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places(name, axis):
    x = array((4, 6), "float32")
    x[1, 2] = np.nan
    result = evaluate(lambda a: getattr(topi, name)(a, axis), x)
    assert result.dtype == "int32"
    np.testing.assert_array_equal(result, getattr(np, name)(x, axis))


def test_the_last_place_of_equal_elements():
    x = np.array([[1, 5, 5, 0]], "int32")
    last = evaluate(lambda a: topi.argmax(a, 1, True, True, "int64"), x)
    np.testing.assert_array_equal(last, [[2]])
    smallest = np.full((1, 2), np.inf, "float32")
    np.testing.assert_array_equal(evaluate(lambda a: topi.argmin(a, 1), smallest), [0])


def test_nan_and_empty_rows():
    x = np.array([[1, np.nan], [np.inf, -np.inf]], "float32")
    np.testing.assert_array_equal(evaluate(lambda a: topi.max(a, 1), x), [np.nan, np.inf])


@pytest.mark.parametrize("symbolic", [False, True])
def test_nothing_to_reduce(symbolic):
    empty = np.zeros((2, 0), "float32")
    for function, neutral in ((topi.sum, 0), (topi.prod, 1), (topi.max, -np.inf)):
        result = evaluate(lambda a, f=function: f(a, 1), empty, symbolic=symbolic)
        np.testing.assert_array_equal(result, [neutral, neutral])
    assert evaluate(lambda a: topi.sum(a), np.array(3, "float32")) == 3


@pytest.mark.parametrize("target", [(3,), (1, 3), (2, 1), (1, 1), (1, 2, 3)])
def test_collapse_sum(target):
    x = array((4, 2, 3), "int32")
    copies = np.broadcast_to(np.zeros(target), x.shape)
    axes = [n for n in range(3) if copies.strides[n] == 0 and x.shape[n] > 1]
    expected = x.sum(tuple(axes)).reshape(target) if axes else x
    np.testing.assert_array_equal(evaluate(lambda a: topi.collapse_sum(a, target), x), expected)


def test_wrong_axes_and_shapes_are_refused():
    x = te.placeholder((2, 3))
    with pytest.raises(ShapeError, match=r"topi.sum: axis 2 is out of range for 2 dimensions"):
        topi.sum(x, 2)
    with pytest.raises(ShapeError, match="name a dimension twice"):
        topi.sum(x, (1, -1))
    with pytest.raises(ArgumentError, match="axis is a constant integer, got 'x'"):
        topi.sum(x, "x")
    with pytest.raises(ShapeError, match=r"\(2,\) does not broadcast to \(2, 3\)"):
        topi.collapse_sum(x, (2,))
