"""Graph operators of activations and softmax."""

import math

import numpy as np
import pytest
from tests.relax.op.graphs import compute, infer, real, tensor, whole

from tilewright.error import StructInfoError
from tilewright.relax import op
from tilewright.topi import testing

X = np.concatenate([real(20), np.array([0, -0.0, np.inf, 100, -100], "float32")])
KNOWN = pytest.mark.parametrize("known", ["shape", "symbolic", "rank"])


def erf(x):
    return np.vectorize(math.erf)(x.astype("float64"))


def tanh_form(x):
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return x / 2 * (1 + np.tanh(inner))


FORMULAS = {
    "gelu": (op.nn.gelu, lambda x: x / 2 * (1 + erf(x / np.sqrt(2)))),
    "gelu_tanh": (op.nn.gelu_tanh, tanh_form),
    "silu": (op.nn.silu, lambda x: x / (1 + np.exp(-x))),
    "relu": (op.nn.relu, lambda x: np.maximum(x, 0)),
    "leakyrelu": (lambda x: op.nn.leakyrelu(x, 0.25), lambda x: np.where(x > 0, x, 0.25 * x)),
}


@KNOWN
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("name", list(FORMULAS))
def test_formulas(name, dtype, known):
    function, formula = FORMULAS[name]
    with np.errstate(over="ignore"):
        expected = formula(X.astype(dtype).astype("float64"))
    result = compute(function, X.astype(dtype), known=known)
    assert result.dtype == dtype
    tolerance = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(result.astype("float64"), expected, rtol=tolerance, atol=tolerance)


def test_relu_of_integers_and_without_dimensions():
    x = whole(5, dtype="int32")
    np.testing.assert_array_equal(compute(op.nn.relu, x), np.maximum(x, 0))
    np.testing.assert_array_equal(compute(op.nn.relu, np.array(-2, "float32")), 0)
    assert compute(op.nn.relu, np.zeros((0, 3), "float32")).shape == (0, 3)
    assert np.isnan(compute(op.nn.relu, np.array([np.nan], "float32"))[0])


@KNOWN
def test_prelu(known):
    x, slope = real(2, 3, 4), real(3, seed=1)
    result = compute(op.nn.prelu, x, slope, known=known)
    np.testing.assert_array_equal(result, np.where(x > 0, x, x * slope[:, None]))


@KNOWN
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(axis, known):
    x = 30 * real(3, 4, 5)
    result = compute(lambda v: op.nn.softmax(v, axis), x, known=known)
    np.testing.assert_allclose(result, testing.softmax_python(x, axis), rtol=1e-5, atol=1e-7)
    result = compute(lambda v: op.nn.log_softmax(v, axis), x, known=known)
    np.testing.assert_allclose(result, testing.log_softmax_python(x, axis), rtol=1e-5, atol=1e-5)


def test_softmax_of_half_precision():
    x = real(2, 300, dtype="float16")
    expected = testing.softmax_python(x.astype("float32"))
    np.testing.assert_allclose(compute(op.nn.softmax, x), expected, rtol=2e-3)


def test_mistakes_are_named():
    with pytest.raises(StructInfoError, match="axis 2 is out of range for 2 dimensions"):
        infer(op.nn.softmax(tensor(2, 3), 2))
    with pytest.raises(StructInfoError, match=r"R\.nn\.gelu: argument `data` must have a float"):
        infer(op.nn.gelu(tensor(2, 3, dtype="int32")))
    with pytest.raises(StructInfoError, match="the channels"):
        infer(op.nn.prelu(tensor(2, 3), tensor(4)))
