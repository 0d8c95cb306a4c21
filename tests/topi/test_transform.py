"""Operators of topi that move elements, against numpy."""

import numpy as np
import pytest
from tests.topi.evaluate import evaluate

from tilewright import te, tir, topi
from tilewright.error import ArgumentError, DTypeError, ShapeError
from tilewright.topi.layout import transform_by_map


def array(*shape, dtype="float32"):
    return np.arange(np.prod(shape, dtype=int), dtype=dtype).reshape(shape)


BOTH = pytest.mark.parametrize("symbolic", [False, True], ids=["constant", "symbolic"])


def same(result, expected):
    assert result.shape == np.shape(expected)
    np.testing.assert_array_equal(result, expected)


# --- shape ----------------------------------------------------------------------------------


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


# --- layouts --------------------------------------------------------------------------------


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


# --- slices ---------------------------------------------------------------------------------

SLICES = [
    ((1, 0), (3, 2), None), ((0, 1), (10, 10), (2, 2)), ((-1, -1), (-10, -10), (-1, -2)),
    ((None, 3), (None, 1), (1, -1)), ((2, 2), (1, 5), None), ((3,), (4,), None),
    ((-2, -3), (-1, 5), None),
]  # fmt: skip


@BOTH
@pytest.mark.parametrize(("begin", "end", "strides"), SLICES, ids=str)
def test_strided_slice(begin, end, strides, symbolic):
    x = array(4, 5)
    steps = strides or [1] * len(begin)
    expected = x[tuple(map(slice, begin, end, steps))]
    result = evaluate(
        lambda a: topi.strided_slice(a, begin, end, strides, assume_inbound=False),
        x,
        symbolic=symbolic,
    )
    same(result, expected)


def test_slices_of_some_axes_and_sizes():
    x = array(4, 5)
    result = evaluate(lambda a: topi.strided_slice(a, [1], [4], [2], axes=[-1]), x)
    same(result, x[:, 1:4:2])
    result = evaluate(lambda a: topi.strided_slice(a, [1, 2], [2, -1], slice_mode="size"), x)
    same(result, x[1:3, 2:])
    with pytest.raises(ArgumentError, match="the stride of axis 0 is 0"):
        topi.strided_slice(te.placeholder((4,)), [0], [4], [0])
    with pytest.raises(ArgumentError, match="2 begins, 1 ends"):
        topi.strided_slice(te.placeholder((4, 5)), [0, 1], [4])


def test_slices_of_symbolic_bounds():
    n = te.size_var("n", "int64")
    x = te.placeholder((n, 8))
    part = topi.strided_slice(x, [0], [n - 1], axes=[0])
    assert str(part.shape[0]) == "n - T.int64(1)"
    assert str(topi.strided_slice(x, [0], [(1 << 31) - 1], axes=[0]).shape[0]) == "n"


@pytest.mark.parametrize(("begin", "end", "strides"), SLICES[:1] + SLICES[4:5], ids=str)
def test_dynamic_strided_slice(begin, end, strides):
    x = array(4, 5)
    steps = strides or (1, 1)
    expected = x[tuple(map(slice, begin, end, steps))]
    bounds = [np.array(b, "int64") for b in (begin, end, steps)]
    result = evaluate(
        lambda a, b, e, s: topi.dynamic_strided_slice(a, b, e, s, expected.shape), x, *bounds
    )
    same(result, expected)


def test_strided_set():
    x, v = array(4, 6), -array(2, 3) - 1
    result = evaluate(lambda a, b: topi.strided_set(a, b, [1, 0], [3, 6], [1, 2]), x, v)
    expected = x.copy()
    expected[1:3, 0:6:2] = v
    same(result, expected)
    backwards = evaluate(lambda a, b: topi.strided_set(a, b, [2, 5], [0, -7], [-1, -2]), x, v)
    expected = x.copy()
    expected[2:0:-1, 5::-2] = v
    same(backwards, expected)


def test_sliding_window():
    x = array(2, 5, 6)
    result = evaluate(lambda a: topi.sliding_window(a, 1, (2, 3), (1, 2)), x)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (1, 2))
    same(result, windows[:, ::1, ::2])


# --- joining --------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate_and_stack(axis):
    x, y = array(2, 3), array(2, 3) + 10
    same(evaluate(lambda a, b: topi.concatenate((a, b), axis), x, y), np.concatenate((x, y), axis))
    same(evaluate(lambda a, b: topi.stack((a, b), axis), x, y), np.stack((x, y), axis))


def test_concatenate_of_symbolic_and_empty_tensors():
    x, y = array(2, 3), array(2, 0)
    result = evaluate(lambda a, b: topi.concatenate((a, b, b, a), 1), x, y)
    same(result, np.concatenate((x, y, y, x), 1))
    result = evaluate(lambda a: topi.concatenate((a, a), 0), x, symbolic=True)
    same(result, np.concatenate((x, x)))
    with pytest.raises(ShapeError, match="differ in dimension 1"):
        topi.concatenate((te.placeholder((2, 3)), te.placeholder((2, 4))))
    with pytest.raises(ShapeError, match="does not fit tensor 0"):
        topi.concatenate((te.placeholder((2, 3)), te.placeholder((2, 3), "int32")))


@BOTH
@pytest.mark.parametrize("sections", [2, 3, [1, 3], [0, 2, 2], [7]], ids=str)
def test_split(sections, symbolic):
    x = array(2, 6)
    parts = evaluate(lambda a: topi.split(a, sections, -1), x, symbolic=symbolic)
    for part, expected in zip(parts, np.split(x, sections, -1), strict=True):
        same(part, expected)


def test_split_into_parts_of_different_sizes():
    parts = evaluate(lambda a: topi.split(a, 3), array(7))
    assert [len(part) for part in parts] == [3, 3, 1]
    with pytest.raises(ArgumentError, match="number of parts is positive"):
        topi.split(te.placeholder((4,)), 0)


@BOTH
def test_repeat_and_tile(symbolic):
    x = array(2, 3)
    same(evaluate(lambda a: topi.repeat(a, 2, -1), x, symbolic=symbolic), np.repeat(x, 2, -1))
    same(evaluate(lambda a: topi.repeat(a, 2), x, symbolic=symbolic), np.repeat(x, 2))
    for reps in (2, (2, 1), (1, 2, 3), (3, 1, 1), ()):
        same(evaluate(lambda a, r=reps: topi.tile(a, r), x, symbolic=symbolic), np.tile(x, reps))


# --- indexing -------------------------------------------------------------------------------


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


# --- scans and scatters ---------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("axis", [None, 0, 1, -1], ids=str)
def test_running_sums_and_products(axis, symbolic):
    x = array(2, 3, 2) - 3
    result = evaluate(lambda a: topi.cumsum(a, axis), x, symbolic=symbolic)
    same(result, np.cumsum(x, axis))
    result = evaluate(lambda a: topi.cumprod(a, axis, "int32"), x, symbolic=symbolic)
    same(result, np.cumprod(x.astype("int32"), axis))


def test_running_sums_without_the_element_itself():
    x = array(4)
    same(evaluate(lambda a: topi.cumsum(a, 0, exclusive=True), x), [0, 0, 1, 3])
    assert evaluate(lambda a: topi.cumsum(a, 0), array(0), symbolic=True).shape == (0,)
    largest = evaluate(lambda a: topi.scanop(a, topi.maximum, 0, "largest", 0), x[::-1].copy())
    same(largest, [3, 3, 3, 3])


REDUCTIONS = {
    "update": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter_elements(reduction):
    x, new = array(3, 4), array(2, 4) * 3 - 7
    where = np.array([[0, -1, 1, 2], [0, 2, 1, 0]], "int64")
    expected = x.copy()
    for place in np.ndindex(*new.shape):
        at = (where[place], place[1])
        expected[at] = REDUCTIONS[reduction](expected[at], new[place])
    result = evaluate(lambda a, i, u: topi.scatter_elements(a, i, u, 0, reduction), x, where, new)
    same(result, expected)


def test_the_mean_of_what_is_put_in_a_place():
    x, new = np.array([4, 8], "float32"), np.array([1, 4], "float32")
    where = np.array([0, 0], "int32")
    result = evaluate(lambda a, i, u: topi.scatter_elements(a, i, u, 0, "mean"), x, where, new)
    same(result, [3, 8])


@pytest.mark.parametrize("mode", REDUCTIONS)
def test_scatter_nd(mode):
    x, where = array(3, 4), np.array([[0, 2, 0]], "int32")
    new = array(3, 4) - 5
    expected = x.copy()
    for n in range(3):
        expected[where[0, n]] = REDUCTIONS[mode](expected[where[0, n]], new[n])
    same(evaluate(lambda a, i, u: topi.scatter_nd(a, i, u, mode), x, where, new), expected)


def test_places_outside_are_left_out():
    x, where = array(2), np.array([2, -3, 1], "int32")
    result = evaluate(topi.scatter_elements, x, where, np.full(3, 9, "float32"))
    same(result, [0, 9])
    with pytest.raises(ArgumentError, match="the reduction is one of update, add"):
        topi.scatter_nd(
            te.placeholder((2,)), te.placeholder((1, 2), "int32"), te.placeholder((2,)), "sub"
        )
    with pytest.raises(ShapeError, match=r"need updates of shape \(2,\), they have \(3,\)"):
        topi.scatter_nd(te.placeholder((2,)), te.placeholder((1, 2), "int32"), te.placeholder((3,)))


def test_sparse_to_dense_and_invert_permutation():
    places, values = np.array([[0, 1], [2, 0]], "int32"), np.array([5, 6], "float32")
    dense = evaluate(lambda i, v: topi.sparse_to_dense(i, (3, 2), v, -1), places, values)
    same(dense, [[-1, 5], [-1, -1], [6, -1]])
    one = evaluate(
        lambda i, v: topi.sparse_to_dense(i, (3,), v), np.array(1, "int32"), np.array(5, "int32")
    )
    same(one, [0, 5, 0])
    order = np.array([2, 0, 3, 1], "int32")
    same(evaluate(topi.invert_permutation, order), np.argsort(order))


# --- einsum ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 2, 3), (2, 3, 4)]),
        ("ij->ji", [(2, 3)]), ("ii", [(3, 3)]), ("ij,ij->i", [(2, 3), (2, 3)]),
        ("i,j,k->ijk", [(2,), (3,), (2,)]), ("...ij,...jk->...ik", [(2, 2, 3), (3, 2)]),
        ("ab,bc,cd", [(2, 3), (3, 2), (2, 4)]), ("...i->...", [(2, 3)]), ("ij->", [(2, 3)]),
        ("...,...", [(2, 3), (3,)]),
    ],
    ids=str,
)  # fmt: skip
def test_einsum(subscripts, shapes):
    arrays = [array(*shape) for shape in shapes]
    same(
        evaluate(lambda *operands: topi.einsum(subscripts, *operands), *arrays),
        np.einsum(subscripts, *arrays),
    )


@pytest.mark.parametrize(
    ("subscripts", "message"),
    [
        ("ij", "names 1 operands"), ("ijk,jk", "is for an operand of"), ("ij,jk->il", "letters"),
        ("ij,jk->ii", "letters"), ("ij,ij->i", "has extents"),
    ],
)  # fmt: skip
def test_wrong_subscripts_are_refused(subscripts, message):
    with pytest.raises((ArgumentError, ShapeError), match=message):
        topi.einsum(subscripts, te.placeholder((2, 3)), te.placeholder((3, 4)))


# --- made from formulas ---------------------------------------------------------------------


def test_full_arange_and_meshgrid():
    same(evaluate(lambda: topi.full((2, 2), "int32", 7)), np.full((2, 2), 7))
    same(evaluate(lambda a: topi.full_like(a, 3), array(2, 3), symbolic=True), np.full((2, 3), 3))
    for bounds in ((5,), (2, 8), (2, 9, 3), (5, 0, -2), (3, 1)):
        same(evaluate(lambda b=bounds: topi.arange(*b, dtype="int64")), np.arange(*bounds))
    same(evaluate(lambda: topi.arange(0, 1, 0.25)), np.arange(0, 1, 0.25))
    x, y = array(3), array(2) + 5
    for indexing in ("ij", "xy"):
        grids = evaluate(lambda a, b, i=indexing: topi.meshgrid((a, b), i), x, y)
        for grid, expected in zip(grids, np.meshgrid(x, y, indexing=indexing), strict=True):
            same(grid, expected)


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_triangles(k):
    x = array(2, 3, 4)
    same(evaluate(lambda a: topi.trilu(a, k, True), x), np.triu(x, k))
    same(evaluate(lambda a: topi.trilu(a, k, False), x), np.tril(x, k))


def test_elemwise_sum():
    x = array(2, 3)
    same(evaluate(lambda a, b: topi.elemwise_sum([a, b, a]), x, x + 1), 3 * x + 1)
