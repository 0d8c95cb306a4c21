"""Reductions, and running sums and products, against numpy."""

import numpy as np
import pytest
from tests.relax.op.evaluate import KNOWN, evaluate, infer, tensor

from tilewright.error import StructInfoError
from tilewright.relax import op

REDUCTIONS = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean,
    "variance": np.var, "std": np.std,
}  # fmt: skip


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("axis", [None, 0, (-1, 0), ()], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, axis, known):
    x = np.random.default_rng(0).integers(-3, 4, (2, 3, 2)).astype("float32")
    for keepdims in (False, True):
        result = evaluate(lambda a, k=keepdims: getattr(op, name)(a, axis, k), x, known=known)
        expected = REDUCTIONS[name](x, axis=axis, keepdims=keepdims)
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_reductions_of_integers(name, dtype):
    x = np.array([[1, 2, 3], [4, 0, 1]], dtype)
    result = evaluate(lambda a: getattr(op, name)(a, 1), x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, REDUCTIONS[name](x, axis=1))


def test_short_floats_are_added_in_float32():
    x = np.full((2, 3000), 60.0, "float16")
    np.testing.assert_array_equal(evaluate(lambda a: op.mean(a, 1), x), [60, 60])
    np.testing.assert_array_equal(evaluate(lambda a: op.std(a, 1), x), [0, 0])


def test_nan_infinity_and_nothing():
    x = np.array([[1, np.nan], [np.inf, 2]], "float32")
    for name in ("sum", "max", "min", "mean"):
        result = evaluate(lambda a, f=name: getattr(op, f)(a, 1), x)
        np.testing.assert_array_equal(result, REDUCTIONS[name](x, axis=1))
    for known in KNOWN:
        empty = np.zeros((2, 0), "float32")
        np.testing.assert_array_equal(evaluate(lambda a: op.sum(a, 1), empty, known=known), [0, 0])
        np.testing.assert_array_equal(evaluate(lambda a: op.prod(a, 1), empty, known=known), [1, 1])
    assert evaluate(op.sum, np.array(3, "float32")) == 3


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("axis", [None, 0, -1], ids=str)
def test_running_sums_and_products(axis, known):
    x = np.random.default_rng(0).integers(-3, 4, (2, 3)).astype("float32")
    result = evaluate(lambda a: op.cumsum(a, axis), x, known=known)
    np.testing.assert_array_equal(result, np.cumsum(x, axis))
    result = evaluate(lambda a: op.cumprod(a, axis, "int32"), x, known=known)
    assert result.dtype == "int32"
    np.testing.assert_array_equal(result, np.cumprod(x.astype("int32"), axis))
    before = evaluate(lambda a: op.cumsum(a, axis, exclusive=True), x, known=known)
    np.testing.assert_array_equal(
        before, np.cumsum(x, axis) - (x.reshape(-1) if axis is None else x)
    )


def test_counting_what_holds():
    flags = np.array([True, False, True])
    result = evaluate(lambda a: op.cumsum(a, 0, "int64"), flags)
    np.testing.assert_array_equal(result, [1, 1, 2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: op.sum(tensor(2), 1), r"R\.sum: axis 1 is out of range for 1 dimensions"),
        (lambda: op.sum(tensor(2, 2), (0, -2)), "name a dimension twice"),
        (lambda: op.mean(tensor(2, dtype="int32")), r"R\.mean: .* a float dtype.* astype"),
        (lambda: op.sum(tensor(2, dtype="bool")), r"R\.sum: .* must have numbers, it has bool"),
        (lambda: op.cumsum(tensor(2, dtype="bool")), r"R\.cumsum: .* give dtype="),
        (lambda: op.cumsum(tensor(2), 3), r"R\.cumsum: axis 3 is out of range"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(StructInfoError, match=message):
        infer(call())
