"""Operators of topi that keep all elements, against numpy."""

import numpy as np
import pytest
from tests.topi.evaluate import BOTH, array, evaluate, same

from tilewright import te, tir, topi
from tilewright.error import ArgumentError, ShapeError
from tilewright.topi.shape import transform_by_map

# --- shape ---------------------------------------------------------------------------------------


@BOTH
def test_dimensions_of_extent_one(symbolic):
    x = array(2, 3)
    for axis in (0, 1, 2, -1, -3):
        result = evaluate(lambda a, n=axis: topi.expand_dims(a, n), x, symbolic=symbolic)
        same(result, np.expand_dims(x, axis))
    result = evaluate(lambda a: topi.expand_dims(a, (0, -1)), x, symbolic=symbolic)
    same(result, x[None, :, :, None])
    same(evaluate(lambda a: topi.expand_dims(a, 1, 2), x), x[:, None, None])
    same(evaluate(topi.squeeze, x.reshape(2, 1, 3, 1)), x)
    same(evaluate(lambda a: topi.squeeze(a, -1), x.reshape(2, 1, 3, 1)), x[:, None])
    same(evaluate(lambda a: topi.squeeze(a), np.ones((1, 1), "float32")), np.float32(1))


def test_dimensions_that_cannot_go():
    with pytest.raises(ShapeError, match=r"dimension 0 of \(2, 1\) is not 1"):
        topi.squeeze(te.placeholder((2, 1)), 0)
    with pytest.raises(ShapeError, match=r"topi.expand_dims: axis 4 is out of range"):
        topi.expand_dims(te.placeholder((2, 1)), 4)


def test_expand_like():
    x, like = array(3), array(2, 3, 4)
    result = evaluate(lambda a, b: topi.expand_like(a, b, [0, 2]), x, like)
    same(result, np.broadcast_to(x[None, :, None], (2, 3, 4)))


@BOTH
def test_transpose(symbolic):
    x = array(2, 3, 4)
    for axes in (None, (0, 2, 1), (2, 0, 1), (-1, 0, 1)):
        result = evaluate(lambda a, order=axes: topi.transpose(a, order), x, symbolic=symbolic)
        same(result, np.transpose(x, axes))
    with pytest.raises(ShapeError, match="2 axes for 3 dimensions"):
        topi.transpose(te.placeholder((2, 3, 4)), (0, 1))


@BOTH
def test_flip_and_reverse_sequence(symbolic):
    x = array(3, 4)
    same(evaluate(lambda a: topi.flip(a, -1), x, symbolic=symbolic), x[:, ::-1])
    same(evaluate(lambda a: topi.flip(a, (0, 1)), x, symbolic=symbolic), x[::-1, ::-1])
    lengths = np.array([1, 3, 4], "int32")
    result = evaluate(topi.reverse_sequence, x, lengths, symbolic=symbolic)
    same(result, [[0, 1, 2, 3], [6, 5, 4, 7], [11, 10, 9, 8]])


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ((2, 3, 4), (24,)), ((24,), (2, 3, 4)), ((2, 12), (2, 3, 4)), ((6, 4), (4, 6)),
        ((2, 1, 3), (1, 2, 3, 1)), ((2, 3), (-1,)), ((4, 6), (2, -1, 3)), ((1,), ()), ((), (1, 1)),
        ((0, 3), (3, 0)), ((0, 0), (0,)), ((6, 4), (8, 3)), ((2, 6, 5), (3, 4, 5)),
    ],
    ids=str,
)  # fmt: skip
def test_reshape(shape, target):
    x = array(*shape)
    same(evaluate(lambda a: topi.reshape(a, target), x), x.reshape(target))


def test_reshape_of_symbolic_shapes():
    x = array(2, 3, 12)
    flat = evaluate(lambda a: topi.reshape(a, (-1, a.shape[2])), x, symbolic=True)
    same(flat, x.reshape(6, 12))
    heads = evaluate(lambda a: topi.reshape(a, (a.shape[0], a.shape[1], 4, -1)), x, symbolic=True)
    same(heads, x.reshape(2, 3, 4, 3))


def test_reshape_divides_only_where_it_must():
    n = te.size_var("n", "int64")
    result = topi.reshape(te.placeholder((n, 12, 64), name="x"), (n, 768))
    b, j = (axis.var for axis in result.op.axis)
    first, second, third = result.op.body[0].indices
    assert first is b
    assert (str(second), str(third)) == (f"{j} // 64", f"{j} % 64")


def test_numbers_of_elements_must_fit():
    with pytest.raises(ShapeError, match="it has 6 elements, not 5"):
        topi.reshape(te.placeholder((2, 3)), (5,))
    with pytest.raises(ShapeError, match="6 elements do not fill rows of 4"):
        topi.reshape(te.placeholder((2, 3)), (4, -1))
    with pytest.raises(ShapeError, match="only one extent may be -1"):
        topi.reshape(te.placeholder((2, 3)), (-1, -1))
    with pytest.raises(ShapeError, match="could be anything"):
        topi.reshape(te.placeholder((0, 3)), (0, -1))


def test_unravel_index():
    x = np.array([0, 7, 23], "int32")
    expected = np.array(np.unravel_index(x, (2, 3, 4)))
    same(evaluate(lambda a: topi.unravel_index(a, (2, 3, 4)), x), expected)
    result = evaluate(topi.unravel_index, x, np.array([2, 3, 4], "int32"))
    same(result, expected)


def test_shape_and_size():
    x = array(2, 3)
    same(evaluate(topi.shape, x, symbolic=True), [2, 3])
    assert evaluate(topi.ndarray_size, x, symbolic=True) == 6


# --- layouts -------------------------------------------------------------------------------------


def test_layouts_split_and_merge_dimensions():
    x = array(2, 8, 3)
    blocked = evaluate(lambda a: topi.layout_transform(a, "NCW", "NCW4c"), x)
    same(blocked, x.reshape(2, 2, 4, 3).transpose(0, 1, 3, 2))
    same(evaluate(lambda a: topi.layout_transform(a, "NCW4c", "NCW"), blocked), x)
    other = evaluate(lambda a: topi.layout_transform(a, "NCW4c", "NWC2c"), blocked)
    same(other, x.transpose(0, 2, 1).reshape(2, 3, 4, 2))


def test_a_part_that_is_not_full_is_filled_with_zeros():
    x = array(6)
    result = evaluate(lambda a: topi.layout_transform(a, "C", "C4c"), x)
    same(result, [[0, 1, 2, 3], [4, 5, 0, 0]])


@pytest.mark.parametrize("layout", ["NCw", "NC4", "NC4N", "NCHW", "N4wC"])
def test_wrong_layouts_are_refused(layout):
    with pytest.raises(ArgumentError, match=r"topi\.layout_transform"):
        topi.layout_transform(te.placeholder((2, 8, 3)), "NCW", layout)


def test_layouts_of_index_maps():
    x = array(14)
    index_map = tir.IndexMap.from_func(lambda i: (i // 4, i % 4))
    result = evaluate(lambda a: transform_by_map(a, index_map, -1.0, (4, 4)), x)
    same(result.reshape(-1)[:14], x)
    same(result.reshape(-1)[14:], [-1, -1])
