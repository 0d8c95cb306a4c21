"""Operators that choose elements, against numpy."""

from itertools import product

import numpy as np
import pytest
from tests.relax.op.evaluate import KINDS, array, evaluate, infer, same, tensor

from tilewright import relax
from tilewright.error import StructInfoError
from tilewright.ir import Var
from tilewright.relax import op

# --- indexing ------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("axis", [None, 0, -1], ids=str)
def test_take(axis, known):
    x, where = array(3, 4), np.array([[0, 2], [1, 1]], "int64")
    result = evaluate(lambda a, i: op.take(a, i, axis), x, where, known=known)
    same(result, np.take(x, where, axis))
    same(evaluate(lambda a: op.take(a, relax.PrimValue(1), axis), x, known=known), x.take(1, axis))
    wrapped = evaluate(lambda a, i: op.take(a, i, axis, "wrap"), x, where - 3, known=known)
    same(wrapped, np.take(x, where - 3, axis, mode="wrap"))


SLICES = [
    ((0, 1), (1, 0), (3, 2), None), ((1,), (1,), (10,), (2,)), ((-1,), (-1,), (-10,), (-1,)),
    ((0,), (-2,), (-1,), None), ((0,), (3,), (2,), None),
]  # fmt: skip


@KINDS
@pytest.mark.parametrize(("axes", "begin", "end", "strides"), SLICES, ids=str)
def test_strided_slice(axes, begin, end, strides, known):
    x = array(4, 5)
    where = [slice(None)] * 2
    for n, axis in enumerate(axes):
        where[axis] = slice(begin[n], end[n], strides[n] if strides else None)
    result = evaluate(lambda a: op.strided_slice(a, axes, begin, end, strides), x, known=known)
    same(result, x[tuple(where)])


def test_slices_of_symbolic_bounds():
    n = Var("n", "int64")
    info = infer(op.strided_slice(tensor(n, 8), [0], [1], [n], assume_inbound=True))
    assert str(info.extents[0]) == "n - T.int64(1)"
    result = evaluate(
        lambda a: op.strided_slice(a, [0], [1], [a.struct_info.extents[0]]),
        array(4),
        known="symbolic",
    )
    same(result, [1, 2, 3])


@KINDS
@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [((1, 0), (3, 2), (1, 1)), ((0, -1), (9, -9), (2, -2)), ((3, 0), (1, 5), (1, 1))],
)
def test_dynamic_strided_slice(begin, end, strides, known):
    x = array(4, 5)
    bounds = [np.array(b, "int64") for b in (begin, end, strides)]
    result = evaluate(op.dynamic_strided_slice, x, *bounds, known=known)
    same(result, x[tuple(map(slice, begin, end, strides))])
    with pytest.raises(StructInfoError, match="`end` must be a vector of int64"):
        infer(
            op.dynamic_strided_slice(
                tensor(2), *[tensor(1, dtype=d) for d in ("int64", "int32", "int64")]
            )
        )


@KINDS
def test_gather(known):
    x = array(3, 4)
    where = np.array([[0, 2, 1, 1], [2, 0, 0, 2]], "int64")
    result = evaluate(lambda a, i: op.gather_elements(a, i, 0), x, where, known=known)
    same(result, np.take_along_axis(x, where, 0))
    i, j = np.array([[0], [-1]], "int64"), np.array([1, 3, -4], "int64")
    same(evaluate(lambda a, b, c: op.index_tensor(a, (b, c)), x, i, j, known=known), x[i, j])
    places = np.array([[0, 3], [2, 1]], "int64")
    same(evaluate(op.gather_nd, x, places), x[places[:, 0], places[:, 1]])
    same(evaluate(op.gather_nd, x, places[:, :1].copy()), x[places[:, 0]])
    batches = evaluate(lambda a, p: op.gather_nd(a, p, 1), x, np.array([[3], [1], [0]], "int32"))
    same(batches, x[np.arange(3), [3, 1, 0]])


@KINDS
def test_one_hot(known):
    x = np.array([[0, 2], [1, 2]], "int32")
    on, off = relax.PrimValue(1.0), relax.PrimValue(0.0)
    same(evaluate(lambda i: op.one_hot(i, on, off, 3), x, known=known), np.eye(3)[x])
    first = evaluate(lambda i: op.one_hot(i, on, off, 3, 0), x, known=known)
    same(first, np.moveaxis(np.eye(3)[x], -1, 0))


REDUCTIONS = {
    "update": lambda old, new: new, "add": np.add, "mul": np.multiply, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


@KINDS
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_scatter(reduction, known):
    x, new = array(3, 4), array(2, 4) * 3 - 7
    where = np.array([[0, -1, 1, 2], [0, 2, 1, 0]], "int64")
    expected = x.copy()
    for place in np.ndindex(*new.shape):
        at = (where[place], place[1])
        expected[at] = REDUCTIONS[reduction](expected[at], new[place])
    result = evaluate(
        lambda a, i, u: op.scatter_elements(a, i, u, 0, reduction), x, where, new, known=known
    )
    same(result, expected)
    rows = np.array([[2], [0]], "int64")
    expected = x.copy()
    for n in range(2):
        expected[rows[n, 0]] = REDUCTIONS[reduction](expected[rows[n, 0]], new[n])
    same(evaluate(lambda a, i, u: op.scatter_nd(a, i, u, reduction), x, rows, new), expected)


def test_the_mean_of_what_is_put_in_a_place():
    x, new, where = (
        np.array(v, d) for v, d in (([4, 8], "float32"), ([1, 4], "float32"), ([0, 0], "int64"))
    )
    same(evaluate(lambda a, i, u: op.scatter_elements(a, i, u, 0, "mean"), x, where, new), [3, 8])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda i: op.take(tensor(2), tensor(2)), r"R\.take: argument `indices` must have integ"),
        (lambda i: op.take(tensor(2), i, 0, "raise"), r"R\.take: mode is one of clip"),
        (lambda i: op.strided_slice(tensor(2), [1], [0], [1]), r"R\.strided_slice: axis 1 is out"),
        (lambda i: op.strided_slice(tensor(2), [0], [0], [1], [0]), "the stride of axis 0 is 0"),
        (lambda i: op.strided_slice(tensor(2), [0], [0, 1], [1]), "2 begins, 1 ends"),
        (lambda i: op.gather_elements(tensor(2, 2), i), "indices of 1 dimensions for data of 2"),
        (lambda i: op.gather_nd(tensor(2), i), "3 indices after 0 batch dimensions for 1"),
        (lambda i: op.index_tensor(tensor(2), (i, i)), "2 indices for 1 dimensions"),
        (lambda i: op.one_hot(i, tensor(2), 0, 3), "the values must be scalars"),
        (lambda i: op.scatter_elements(tensor(2), i, tensor(2)), r"`updates` must have .*\(3,\)"),
        (lambda i: op.scatter_nd(tensor(2), i, tensor(2)), "3 indices for 1 dimensions"),
        (
            lambda i: op.scatter_elements(tensor(2), i, tensor(3, dtype="int32")),
            "the dtypes differ",
        ),
    ],
)  # fmt: skip
def test_wrong_arguments_of_indexing_operators(call, message):
    with pytest.raises(StructInfoError, match=message):
        infer(call(tensor(3, dtype="int64")))


# --- sizes that the data say ---------------------------------------------------------------------


def test_unique_and_nonzero():
    x = np.array([[3, 1, 3], [0, 1, 3]], "int32")
    same(evaluate(op.unique, x), [0, 1, 3])
    parts = evaluate(lambda a: op.unique(a, True, True, True, True), x)
    for part, expected in zip(parts, np.unique(x, True, True, True), strict=True):
        same(part, expected.reshape(-1))
    same(evaluate(lambda a: op.unique(a, axis=-1), x), np.unique(x, axis=-1))


@pytest.mark.parametrize("flags", list(product((False, True), repeat=3)), ids=str)
@pytest.mark.parametrize(
    "x", [array(9, 7).round() % 5, np.zeros(0, "float32")], ids=["some", "none"]
)
def test_what_is_wanted_of_unique_elements(x, flags):
    x = x.copy()
    x[:2] = np.nan
    parts = evaluate(lambda a: op.unique(a, True, *flags), x)
    expected = np.unique(x, *flags)
    for part, wanted in zip(*(p if any(flags) else (p,) for p in (parts, expected)), strict=True):
        same(part, wanted.reshape(-1))


@KINDS
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "int64", "float64"])
def test_unique_elements_of_a_dtype(dtype, known):
    x = (np.arange(200).reshape(10, 20) * 37 % 11 - 5).astype(dtype)
    values, where = evaluate(lambda a: op.unique(a, return_inverse=True), x, known=known)
    expected, places = np.unique(x, return_inverse=True)
    assert values.dtype == x.dtype
    same(values, expected)
    same(where, places.reshape(-1))


def test_each_nan_may_be_an_element_of_its_own():
    x = np.array([np.nan, 1, np.nan, 1], "float32")
    values, where, times = evaluate(
        lambda a: op.unique(a, return_inverse=True, return_counts=True, equal_nan=False), x
    )
    same(values, [1, np.nan, np.nan])
    same(times, [2, 1, 1])
    assert sorted(where.tolist()) == [0, 0, 1, 2]
    same(values[where], x)


@KINDS
@pytest.mark.parametrize("shape", [(3, 4), (0,), (2, 0, 3), (5, 1, 2)], ids=str)
def test_nonzero(shape, known):
    x = np.arange(np.prod(shape)).reshape(shape).astype("int32") % 3
    expected = np.stack(np.nonzero(x))
    same(evaluate(op.nonzero, x, known=known), expected)
    same(evaluate(lambda a: op.nonzero(a, rows=True), x, known=known), expected.T)


def test_nonzero_of_a_scalar():
    for x, count in ((np.float32(2), 1), (np.float32(0), 0)):
        assert evaluate(op.nonzero, np.array(x)).shape == (0, count)
        assert evaluate(lambda a: op.nonzero(a, True), np.array(x)).shape == (count, 0)


def test_unique_elements_in_the_order_in_which_they_appear():
    x = np.array([3, 1, 3, 0, 1, 7], "float32")
    same(evaluate(lambda a: op.unique(a, sorted=False), x), [3, 1, 0, 7])
    values, first, where, times = evaluate(lambda a: op.unique(a, False, True, True, True), x)
    same(values, [3, 1, 0, 7])
    same(first, [0, 1, 3, 5])
    same(times, [2, 2, 1, 1])
    same(values[where], x)
    rows = np.array([[2, 1], [0, 5], [2, 1]], "float32")
    same(evaluate(lambda a: op.unique(a, sorted=False, axis=0), rows), rows[:2])
    columns = evaluate(lambda a: op.unique(a, sorted=False, axis=1), rows.T.copy())
    same(columns, rows[:2].T)
