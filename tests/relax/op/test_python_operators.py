"""Python's operators on graph expressions, with other expressions, arrays and numbers."""

import operator

import numpy as np
import pytest
from tests.relax.op.evaluate import evaluate

import tilewright as tvm

OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.lt, operator.le, operator.gt, operator.ge, operator.matmul,
)  # fmt: skip
A = np.array([[1, 2], [3, 4]], "float32")
B = np.array([[2, 3], [1, 2]], "float32")


@pytest.mark.parametrize("apply", OPERATORS)
def test_operands_are_expressions(apply):
    np.testing.assert_array_equal(evaluate(apply, A, B), apply(A, B))


@pytest.mark.parametrize("convert", [np.array, tvm.nd.array])
@pytest.mark.parametrize("apply", OPERATORS)
def test_operands_are_arrays(apply, convert):
    np.testing.assert_array_equal(evaluate(lambda a: apply(a, convert(B)), A), apply(A, B))
    np.testing.assert_array_equal(evaluate(lambda b: apply(convert(A), b), B), apply(A, B))


@pytest.mark.parametrize("apply", OPERATORS[:-1])
def test_operands_are_numbers(apply):
    np.testing.assert_array_equal(evaluate(lambda a: apply(a, 2), A), apply(A, np.float32(2)))
    np.testing.assert_array_equal(evaluate(lambda a: apply(2, a), A), apply(np.float32(2), A))
