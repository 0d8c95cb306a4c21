"""Elements at places that other tensors say, against numpy."""

import numpy as np
import pytest
from tests.topi.evaluate import BOTH, array, evaluate, same

from tilewright import te, topi
from tilewright.error import ArgumentError, DTypeError

# --- indexing ------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("axis", [None, 0, 1, -1], ids=str)
def test_take(axis, symbolic):
    x, where = array(3, 4), np.array([[0, 2], [1, 1]], "int64")
    result = evaluate(lambda a, i: topi.take(a, i, axis), x, where, symbolic=symbolic)
    same(result, np.take(x, where, axis))


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_take_outside(mode):
    x, where = array(3), np.array([-1, 5, -7], "int32")
    same(evaluate(lambda a, i: topi.take(a, i, 0, mode=mode), x, where), x.take(where, mode=mode))
    with pytest.raises(ArgumentError, match="mode is one of clip, wrap, fast"):
        topi.take(te.placeholder((3,)), te.placeholder((1,), "int32"), mode="raise")
    with pytest.raises(DTypeError, match="indices are integers, got float32"):
        topi.take(te.placeholder((3,)), te.placeholder((1,)))


def test_take_with_batches_and_a_scalar():
    x, where = array(2, 3, 2), np.array([[2, 0], [1, 1]], "int32")
    result = evaluate(lambda a, i: topi.take(a, i, 1, 1), x, where)
    same(result, np.stack([x[n][where[n]] for n in range(2)]))
    same(evaluate(lambda a, i: topi.take(a, i, 1), x, np.array(1, "int32")), x[:, 1])


def test_gather_and_gather_nd():
    x = array(3, 4)
    where = np.array([[0, 3, 1, 1], [2, 0, 0, 3]], "int64") % 3
    result = evaluate(lambda a, i: topi.gather(a, 0, i), x, where)
    same(result, np.take_along_axis(x, where, 0))
    places = np.array([[0, 2], [3, 1]], "int32")
    same(evaluate(topi.gather_nd, x, places), x[places[0], places[1]])
    same(evaluate(topi.gather_nd, x, places[:1]), x[places[0]])
    batches = evaluate(lambda a, i: topi.gather_nd(a, i, 1), x, np.array([[3, 1, 0]], "int32"))
    same(batches, x[np.arange(3), [3, 1, 0]])


def test_advanced_indices_broadcast():
    x = array(3, 4, 2)
    i, j = np.array([[0], [-1]], "int64"), np.array([1, 3, -4], "int64")
    same(evaluate(lambda a, b, c: topi.adv_index(a, [b, c]), x, i, j), x[i, j])


def test_where():
    x, y = array(2, 3), -array(3)
    same(evaluate(topi.where, x > 2, x, y), np.where(x > 2, x, y))
    same(evaluate(lambda c: topi.where(c, 1.0, 0.0), x), np.where(x, 1.0, 0.0))


def test_one_hot():
    x = np.array([[0, 2], [1, 5]], "int32")
    result = evaluate(lambda i: topi.one_hot(i, 1, 0, 3, -1, "float32"), x)
    same(result, np.eye(6, dtype="float32")[x][..., :3])
    result = evaluate(lambda i: topi.one_hot(i, 5, -5, 3, 0, "int32"), x)
    same(result, np.where(x[None] == np.arange(3)[:, None, None], 5, -5))


def test_sequence_mask():
    x, lengths = array(4, 2), np.array([1, 3], "int32")
    expected = np.where(np.arange(4)[:, None] < lengths, x, -1)
    same(evaluate(lambda a, n: topi.sequence_mask(a, n, -1.0), x, lengths), expected)
    result = evaluate(lambda a, n: topi.sequence_mask(a, n, -1.0, 1), x.T.copy(), lengths)
    same(result, expected.T)


def test_matrix_set_diag():
    x = array(2, 3, 4)
    expected = x.copy()
    expected[:, np.arange(3), np.arange(3)] = [[-1, -2, -3], [-4, -5, -6]]
    new = -array(2, 3) - 1
    same(evaluate(topi.matrix_set_diag, x, new), expected)
    two = -array(2, 3) - 1
    result = evaluate(lambda a, d: topi.matrix_set_diag(a, d, (0, 1)), x[0], two)
    expected = x[0].copy()
    expected[[0, 1, 2], [1, 2, 3]], expected[[0, 1, 2], [0, 1, 2]] = two
    same(result, expected)
    short = -array(2, 3) - 1
    result = evaluate(lambda a, d: topi.matrix_set_diag(a, d, (-1, 0)), x[0], short)
    expected = x[0].copy()
    expected[[0, 1, 2], [0, 1, 2]], expected[[1, 2], [0, 1]] = short[0], short[1, :2]
    same(result, expected)
