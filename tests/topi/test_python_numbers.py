"""Python floats beside tensors of float64 keep all their digits."""

import numpy as np
import pytest
from tests.topi.running import run

from tilewright import te, topi

X = np.array([1.5, -2.5])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: topi.full((2,), "float64", 0.1), [0.1, 0.1]),
        (lambda x: topi.full_like(x, 0.1), [0.1, 0.1]),
        (lambda x: topi.clip(x, -0.1, 0.1), [0.1, -0.1]),
        (lambda x: topi.arange(0.1, 2, 1, "float64"), [0.1, 1.1]),
        (lambda x: topi.arange(0, 0.3, 0.1, "float64"), np.arange(0, 0.3, 0.1)),
        (lambda x: topi.one_hot(topi.cast(x - x, "int32"), 0.1, 0.2, 2, 0, "float64"),
         [[0.1, 0.1], [0.2, 0.2]]),
        (lambda x: topi.where(x > 0, x, 0.1), [1.5, 0.1]),
        (lambda x: topi.maximum(x, 0.1), [1.5, 0.1]),
        (lambda x: topi.nn.pad(x, [1], [0], 0.1), [0.1, 1.5, -2.5]),
        (lambda x: te.compute((2,), lambda i: te.if_then_else(i < 1, x[i], 0.1)), [1.5, 0.1]),
        (lambda x: te.compute((2,), lambda i: te.max(x[i], 0.1)), [1.5, 0.1]),
    ],
)  # fmt: skip
def test_floats_keep_their_digits(function, expected):
    np.testing.assert_array_equal(run(function, X), expected)


def test_bounds_of_integers_are_exact():
    x = np.array([2**24 + 3, 0])
    np.testing.assert_array_equal(run(lambda a: topi.clip(a, 1.0, 2.0**24 + 1), x), [2**24 + 1, 1])
