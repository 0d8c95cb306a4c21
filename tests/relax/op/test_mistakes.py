"""Arguments that make no sense are refused while the graph is made, by the operator's name."""

import numpy as np
import pytest
from tests.relax.op.evaluate import evaluate, infer, tensor

from tilewright.error import ArgumentError, ArgumentValueError, DTypeError, StructInfoError
from tilewright.ir import Var, const
from tilewright.relax import op

X, BYTES, BOOLS = tensor(3, 4), tensor(3, 4, dtype="int8"), tensor(3, 4, dtype="bool")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: op.left_shift(BYTES, 8), "left_shift: argument `x2` is 8, .* by 0 to 7"),
        (lambda: op.right_shift(BYTES, -1), "right_shift: argument `x2` is -1"),
        (lambda: op.floor_divide(BYTES, 0), "floor_divide: argument `x2` is 0"),
        (lambda: op.mod(BYTES, 0), "mod: argument `x2` is 0"),
        (lambda: op.floor_mod(BYTES, 0), "floor_mod: argument `x2` is 0"),
        (lambda: op.strided_slice(X, [0], [0.5], [2]), "bounds of slices are integers, got"),
        (lambda: op.split(X, ["a"]), "parts begin at integers"),
        (lambda: op.masked_fill(BYTES, BOOLS, 300), "300 is not a value of the dtype int8"),
        (lambda: op.masked_fill(BOOLS, BOOLS, 3), "3 is not a value of the dtype bool"),
        (lambda: op.masked_fill(X, BOOLS, None), "None is not a value of the dtype float32"),
        (lambda: op.masked_fill(X, BOOLS, "a"), "'a' is not a value of the dtype float32"),
        (lambda: op.full_like(BYTES, 300), "full_like: 300 is not a value of the dtype int8"),
        (lambda: op.full_like(BYTES, 1.5), "full_like: 1.5 is not a value of the dtype int8"),
        (lambda: op.full((2,), "a", "float32"), "must be a number or an array without dimensions"),
        (lambda: op.full((2,), [1, 2], "float32"), "must be a number or an array without"),
        (lambda: op.clip(BYTES, 0.5, 3), "clip: the bound 0.5 of integers must be one, too"),
        (lambda: op.clip(BYTES, 0, float("nan")), "clip: the bound nan of integers"),
        (lambda: op.arange(0.0, float("nan")), "arange: from 0.0 to nan by 1 has no length"),
        (lambda: op.arange(0.0, float("inf")), "arange: from 0.0 to inf"),
        (lambda: op.arange(0, 4, 1, "bool"), "arange: the elements are numbers, not bool"),
        (lambda: op.tril(X, 1.5), "tril: argument `k` must be an integer"),
        (lambda: op.collapse_sum_to(BOOLS, (3, 1)), "must have numbers, it has bool"),
        (lambda: op.multinomial_from_uniform(X, tensor(3, 1), dtype="float32"), "are integers"),
        (lambda: op.layout_transform(BYTES, lambda i, j: (i, j // 3, j % 3), 300), "300 is no"),
        (lambda: op.cumsum(X, 0, "bool"), "must be numbers, not bool"),
    ],
)
def test_while_it_is_inferred(call, message):
    with pytest.raises(StructInfoError, match=message):
        infer(call())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: op.astype(X, None), DTypeError, "expected a dtype name .* got None"),
        (lambda: op.zeros((2,), None), DTypeError, "expected a dtype name"),
        (lambda: op.ones((2,), None), DTypeError, "expected a dtype name"),
        (lambda: op.strided_slice(X, 0, 0, 2), ArgumentError, "are lists with one entry"),
        (lambda: op.permute_dims(X, 1), ArgumentValueError, "axes are a list, got 1"),
    ],
)
def test_while_it_is_called(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_bound_that_no_integer_reaches_limits_nothing():
    x = np.array([-128, -1, 0, 127], "int8")
    for low, high in ((0, 300), (-1000, 5), (-np.inf, np.inf), (-2.0, 100.0)):
        result = evaluate(lambda a, low=low, high=high: op.clip(a, low, high), x)
        np.testing.assert_array_equal(result, np.clip(x.astype("float64"), low, high))


def test_whole_floats_and_numbers_of_numpy_are_values():
    x, mask = np.zeros(2, "int8"), np.array([True, False])
    for value in (3.0, np.float32(3), np.int64(3), 3):
        result = evaluate(lambda a, m, v=value: op.masked_fill(a, m, v), x, mask)
        assert result.tolist() == [3, 0]


def test_symbolic_diagonals_and_places():
    k = Var("k", "int64")
    assert infer(op.tril(X, k)).ndim == 2
    assert infer(op.split(X, [k], 1)).fields[0].ndim == 2
    assert infer(op.full_like(BYTES, const(3, "int64"))).dtype == "int8"
