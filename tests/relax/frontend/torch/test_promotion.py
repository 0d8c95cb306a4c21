"""Operands of different dtypes: results have the dtype and the values that torch gives them."""

import operator

import numpy as np
import pytest
import torch
from tests.relax.frontend.torch.programs import Functions, imported

from tilewright.relax.interpreter import evaluate

VALUES = {
    "bool": [True, False, True], "uint8": [1, 200, 3], "int8": [1, -2, 100], "int32": [1, -2, 3],
    "int64": [1, -2, 5],
}  # fmt: skip
FUNCTIONS = (
    operator.add, operator.mul, operator.lt, operator.eq, torch.maximum, torch.logical_and,
    lambda x, y: torch.where(torch.gt(x, 1), x, y), lambda x, y: torch.where(x > 1, y, 2.5),
    lambda x, y: torch.where(x > 1, 0, y), lambda x, y: torch.where(x > 1, 0, 2.5),
    lambda x, y: torch.clamp(x * y, 1, 2.5), lambda x, y: x / 2 + y, lambda x, y: x + y * 0.1,
)  # fmt: skip


def tensor(dtype):
    return torch.tensor(VALUES.get(dtype, [1.5, -2.5, 3.25]), dtype=getattr(torch, dtype))


@pytest.mark.parametrize("left", ["bool", "uint8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("right", ["bool", "int8", "int32", "float32", "float64"])
def test_two_tensors(left, right):
    inputs = tensor(left), tensor(right).flip(0)
    results = evaluate(imported(Functions(FUNCTIONS), inputs), *(x.numpy() for x in inputs))
    for result, function in zip(results, FUNCTIONS, strict=True):
        expected = function(*inputs).numpy()
        assert result.dtype == expected.dtype
        tolerance = 0 if expected.dtype.kind in "bui" else 4 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(result, expected, rtol=tolerance)


def test_numbers_beside_truths():
    x = torch.tensor([True, False])
    functions = (
        lambda t: t * True, lambda t: torch.copysign(t, -3.0), lambda t: torch.xlogy(t, 2.5),
    )  # fmt: skip
    results = evaluate(imported(Functions(functions), (x,)), x.numpy())
    for result, function in zip(results, functions, strict=True):
        expected = function(x).numpy()
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-6)
