"""Python numbers beside arrays: which dtype the result has, and that no digit is lost."""

import numpy as np
import pytest
from tests.relax.op.evaluate import KNOWN, evaluate

from tilewright import relax
from tilewright.error import StructInfoError
from tilewright.relax import op

MASK = np.array([True, False])
HALVES = np.array([1.5, -2.5])
INF = float("inf")


@pytest.mark.parametrize(
    ("one", "other", "expected", "dtype"),
    [
        (0, 2.5, [0, 2.5], "float32"),
        (2.5, 0, [2.5, 0], "float32"),
        (0, -INF, [0, -INF], "float32"),
        (True, 2, [1, 2], "int32"),
        (True, 0.5, [1, 0.5], "float32"),
        (1, 2, [1, 2], "int32"),
        (1, 2**40, [1, 2**40], "int64"),
        (True, False, [True, False], "bool"),
        (relax.PrimValue(0), 2.5, [0, 2.5], "float32"),
        (relax.const(0, "float16"), 2.5, [0, 2.5], "float16"),
    ],
    ids=str,
)
def test_where_of_two_numbers_has_a_dtype_that_holds_both(one, other, expected, dtype):
    result = evaluate(lambda mask: op.where(mask, one, other), MASK)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, np.asarray(expected, dtype))


def test_two_numbers_are_operands():
    for function, expected in ((op.add, 3.5), (op.multiply, 2.5), (op.maximum, 2.5)):
        result = evaluate(lambda x, f=function: op.add(x, f(1, 2.5)), HALVES.astype("float32"))
        np.testing.assert_array_equal(result, HALVES.astype("float32") + np.float32(expected))


def test_a_row_that_a_mask_hides_wholly_has_no_finite_bias():
    """Scores of -3e9 are less than the smallest int32, which a wrong dtype would make the mask."""
    scores = np.full((1, 1, 2, 2), -3e9, "float32")
    mask = np.array([[[[True, False], [False, False]]]])
    bias = evaluate(lambda m: op.where(m, 0, -INF), mask)
    probabilities = evaluate(lambda s, b: op.nn.softmax(op.add(s, b)), scores, bias)
    np.testing.assert_array_equal(probabilities[0, 0, 0], [1, 0])
    assert np.isnan(probabilities[0, 0, 1]).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: op.add(x, 0.1), lambda x, n: x + n),
        (lambda x: 0.1 - op.negative(x), lambda x, n: n + x),
        (lambda x: op.multiply(op.exp(x - x), 0.1), lambda x, n: 0 * x + n),
        (lambda x: op.maximum(op.subtract(x, x), 0.1), lambda x, n: 0 * x + n),
        (lambda x: op.clip(x, -0.1, 0.1), lambda x, n: np.clip(x, -n, n)),
        (lambda x: op.clip(op.negative(x), -0.1, 0.1), lambda x, n: np.clip(-x, -n, n)),
        (lambda x: op.full_like(x, 0.1), lambda x, n: np.full_like(x, n)),
        (lambda x: op.full_like(op.negative(x), 0.1), lambda x, n: np.full_like(x, n)),
        (lambda x: op.where(op.less(x, x), x, 0.1), lambda x, n: np.full_like(x, n)),
        (lambda x: op.where(op.less(x, x), op.negative(x), 0.1), lambda x, n: np.full_like(x, n)),
        (lambda x: op.masked_fill(x, op.equal(x, x), 0.1), lambda x, n: np.full_like(x, n)),
        (lambda x: op.nn.pad(x, (1, 1), pad_value=0.1), lambda x, n: np.pad(
            x, 1, constant_values=n)),
        (lambda x: op.ewise_fma(op.subtract(x, x), 2, 0.1), lambda x, n: np.full_like(x, n)),
    ],
)  # fmt: skip
def test_floats_are_rounded_once_to_the_dtype_of_the_array(function, expected, known, dtype):
    x = HALVES.astype(dtype)
    result = evaluate(function, x, known=known)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, expected(x, x.dtype.type(0.1)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "bounds", [(0.1, 1, 0.2), (0, 0.3, 0.1), (0, 1, 0.1), (1, 0, -0.1), (0.1, 100, 0.7)], ids=str
)
def test_arange_of_floats_has_the_length_of_numpy_and_rounds_once(bounds, dtype):
    start, _, step = bounds
    expected = start + np.arange(len(np.arange(*bounds))) * step
    result = evaluate(lambda: op.arange(*bounds, dtype))
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, expected.astype(dtype))


def test_one_hot_of_python_numbers():
    indices = np.array([1, 0])
    for on, off, dtype in ((1, 0.5, "float32"), (1.5, 0, "float32"), (True, 0, "int32")):
        result = evaluate(lambda i, a=on, b=off: op.one_hot(i, a, b, 2), indices)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, [[off, on], [on, off]])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2, "int32"), (2**40, "int64"), (-(2**31), "int32"), ([1, 2**31], "int64"), (0.1, "float32"),
     (True, "bool"), (np.float64(0.1), "float64"), (np.int64(1), "int64")],
    ids=str,
)  # fmt: skip
def test_constants_of_python_numbers(value, dtype):
    constant = relax.const(value)
    assert constant.data.dtype == dtype
    np.testing.assert_array_equal(constant.data.numpy(), np.asarray(value).astype(dtype))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: op.add(x, 2.5), lambda x: op.less(x, 2.5), lambda x: op.maximum(x, 300),
        lambda x: op.full_like(x, -1), lambda x: op.masked_fill(x, op.equal(x, x), 0.5),
        lambda x: op.nn.pad(x, (1, 1), pad_value=0.5), lambda x: op.clip(x, 0.5, 3),
    ],
)  # fmt: skip
def test_numbers_that_the_dtype_cannot_hold_are_refused_by_inference(function):
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2,), "uint8"))
    with pytest.raises(StructInfoError, match=r"0\.5|2\.5|300|-1"):
        builder.normalize(function(x))
