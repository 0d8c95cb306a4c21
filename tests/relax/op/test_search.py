"""Choosing elements, and finding places, in graphs."""

import numpy as np
import pytest
from tests.relax.op.graphs import compute, infer, real, tensor, whole

from tilewright import relax
from tilewright.error import ArgumentValueError, StructInfoError
from tilewright.relax import op
from tilewright.topi import testing

KNOWN = pytest.mark.parametrize("known", ["shape", "symbolic", "rank"])
equal = np.testing.assert_array_equal


@KNOWN
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_where(dtype, known):
    condition = whole(3, 4) > 0
    a, b = whole(3, 4, dtype=dtype, seed=1), whole(3, 4, dtype=dtype, seed=2)
    equal(compute(op.where, condition, a, b, known=known), np.where(condition, a, b))


def test_where_takes_scalars():
    condition, a = np.array([True, False, True]), np.array([1.5, 2.5, 3.5], "float32")
    scalar = relax.PrimValue(-2.5)
    equal(compute(lambda c, x: op.where(c, scalar, x), condition, a), np.where(condition, -2.5, a))


@pytest.mark.parametrize("value", [True, False])
def test_where_takes_one_condition_for_all(value):
    a, b = real(3, 4), real(4, seed=1)
    condition = relax.const(value, "bool")
    equal(compute(lambda x, y: op.where(condition, x, y), a, b), np.where(value, a, b + 0 * a))


def test_where_broadcasts_and_takes_numbers():
    condition, a = whole(3, 1) > 0, real(4)
    equal(compute(lambda c, x: op.where(c, x, 0.0), condition, a), np.where(condition, a, 0))
    equal(
        compute(lambda c, x: op.where(c, -np.inf, x), condition, a), np.where(condition, -np.inf, a)
    )


@KNOWN
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places(name, axis, keepdims, known):
    x = whole(3, 4, 5)
    result = compute(lambda v: getattr(op, name)(v, axis, keepdims), x, known=known)
    expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    equal(result, expected)
    assert result.dtype == np.int64


def test_places_of_nan():
    x = np.array([1, np.nan, 3, np.nan], "float32")
    equal(compute(op.argmax, x), 1)
    equal(compute(op.argmin, x), 1)


@KNOWN
@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
def test_resize2d(method, known):
    x = real(1, 2, 4, 5)
    name = {"linear": "bilinear", "cubic": "bicubic"}.get(method, method)
    expected = testing.resize2d_python(x, (2, 1.4), "NCHW", name, "half_pixel")
    result = compute(lambda v: op.image.resize2d(v, (8, 7), method=method), x, known=known)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_resize2d_to_a_square_of_another_dtype():
    x = real(1, 4, 4, 2)
    result = compute(
        lambda v: op.image.resize2d(v, 2, layout="NHWC", method="linear", out_dtype="float64"), x
    )
    expected = testing.resize2d_python(x, (0.5, 0.5), "NHWC", "bilinear", "half_pixel")
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_mistakes_are_named():
    with pytest.raises(StructInfoError, match="must have dtype bool"):
        infer(op.where(tensor(3), tensor(3), tensor(3)))
    with pytest.raises(StructInfoError, match="axis 3 is out of range"):
        infer(op.argmax(tensor(2, 3), 3))
    with pytest.raises(StructInfoError, match="4 dimensions, not 3"):
        infer(op.image.resize2d(tensor(1, 2, 3), (2, 2)))
    with pytest.raises(ArgumentValueError, match="`method` is 'nearest_neighbor', "):
        op.image.resize2d(tensor(1, 2, 3, 3), (2, 2), method="area")
    with pytest.raises(ArgumentValueError, match="region of interest"):
        op.image.resize2d(tensor(1, 2, 3, 3), (2, 2), (0.0, 0.0, 0.5, 0.5))
