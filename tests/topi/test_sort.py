"""Sorting tensors."""

import ml_dtypes
import numpy as np
import pytest
from tests.topi.running import real, run, whole

import tilewright as tvm
from tilewright import te, topi
from tilewright.error import ArgumentError, ArgumentValueError, ShapeError
from tilewright.topi.sort import element_of_rank

equal = np.testing.assert_array_equal


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort(axis, dtype):
    x = whole(3, 5, 4, dtype=dtype, low=0, high=9)
    equal(run(lambda X: topi.sort(X, axis), x), np.sort(x, axis))
    equal(run(lambda X: topi.sort(X, axis, 0), x), np.flip(np.sort(x, axis), axis))


@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 21, 57])
def test_equal_elements_stay_in_their_order(length):
    x = whole(2, length, low=0, high=3)
    result = run(lambda X: topi.argsort(X, dtype="int64"), x, dims=[("n", "m")])
    equal(result, np.argsort(x, kind="stable"))
    result = run(lambda X: topi.argsort(X, is_ascend=0, dtype="int64"), x)
    equal(result, np.argsort(-x, kind="stable"))


def test_nan_is_larger_than_all_numbers():
    x = np.array([np.nan, 1, np.inf, np.nan, -np.inf], "float32")
    equal(run(topi.sort, x), np.sort(x))
    equal(run(lambda X: topi.sort(X, is_ascend=0), x), np.sort(x)[::-1])


def unusual(dtype, count):
    """Equal elements, negative ones and limits; infinities, zeros with signs, and NaN of floats."""
    x = whole(count, dtype=dtype, low=-3 if np.dtype(dtype).kind != "u" else 0, high=4)
    if np.dtype(dtype).kind in "iu":
        limits = np.iinfo(dtype)
        x[:2], x[-2:] = limits.max, limits.min
    else:
        x[:5] = [np.nan, -np.inf, 0.0, np.inf, -0.0]
        x[-3:] = [-0.0, 0.0, np.nan]
    return x


@pytest.mark.parametrize("count", [20, 40])
@pytest.mark.parametrize(
    "dtype",
    ["int8", "uint8", "uint16", "int64", "float16", ml_dtypes.bfloat16, "float32", "float64"],
)
def test_elements_of_all_kinds(dtype, count):
    x = unusual(dtype, count)
    exact = x.astype("float64") if np.dtype(dtype).kind not in "iu" else x
    order = np.argsort(exact, kind="stable")
    equal(run(lambda X: topi.argsort(X, dtype="int64"), x), order)
    reverse = count - 1 - np.argsort(exact[::-1], kind="stable")[::-1]
    equal(run(lambda X: topi.argsort(X, is_ascend=0, dtype="int64"), x), reverse)
    values, places = run(lambda X: topi.topk(X, 7), x)
    equal(places, reverse[:7])
    equal(values.astype(exact.dtype), exact[reverse[:7]])
    equal(run(lambda X: topi.topk(X, 7, ret_type="indices", is_ascend=True), x), order[:7])


def test_no_rows():
    for shape in ((0, 3), (3, 0), (2, 0, 3)):
        result = run(lambda X: topi.sort(X, 0), np.zeros(shape, "float32"))
        assert result.shape == shape


@pytest.mark.parametrize("k", [1, 3, 5, 0])
@pytest.mark.parametrize("ascending", [False, True])
def test_topk(k, ascending):
    x = real(2, 5, 3)
    values, places = run(lambda X: topi.topk(X, k, 1, is_ascend=ascending), x)
    order = np.argsort(x if ascending else -x, 1)[:, : k or 5]
    equal(places, order)
    equal(values, np.take_along_axis(x, order, 1))
    equal(run(lambda X: topi.topk(X, k, 1, "values", ascending), x), values)
    equal(run(lambda X: topi.topk(X, k, 1, "indices", ascending), x), places)


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64-v2", "c"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "float16"])
@pytest.mark.parametrize("k", [1, 17, 64])
def test_the_best_ones_of_long_rows(k, dtype, target):
    x = whole(4, 64 + 37, dtype=dtype, low=0, high=99)
    if dtype.startswith("float"):
        x[0, ::3], x[1], x[2, 5:9] = np.nan, np.nan, [-np.inf, np.inf, -0.0, 0.0]
    x[3] = np.sort(x[3])
    m, n = (te.size_var(name, "int64") for name in "mn")
    for ascending in (False, True):
        X = te.placeholder((m, n), dtype)
        func = te.create_prim_func([X, topi.topk(X, k, 1, "indices", ascending)])
        compiled = tvm.build(func, target)
        for rows in (x, x[:, :k].copy()):
            found = np.zeros((4, k), "int64")
            compiled(rows, found)
            order = np.argsort(rows, 1, kind="stable")
            if not ascending:
                length = rows.shape[1]
                order = length - 1 - np.argsort(rows[:, ::-1], 1, kind="stable")[:, ::-1]
            equal(found, order[:, :k])


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64-v2", "c"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "int8", "float16"])
@pytest.mark.parametrize(
    "rank_of", [lambda n: (n - 1) // 2, lambda n: n - 1], ids=["median", "largest"]
)
def test_the_element_of_a_rank(rank_of, dtype, target):
    m, n = (te.size_var(name, "int64") for name in "mn")
    X = te.placeholder((m, n), dtype)
    compiled = tvm.build(te.create_prim_func([X, *element_of_rank(X, rank_of, 1)]), target)
    for length in (1, 2, 300):
        x = whole(4, length, dtype=dtype, low=0, high=99)
        x[1] = 7
        if dtype.startswith("float"):
            x[0, ::3], x[2, -2:] = np.nan, [-np.inf, -0.0][-length:]
        values, places = np.empty((4, 1), dtype), np.empty((4, 1), "int64")
        compiled(x, values, places)
        equal(places, np.argsort(x, 1, kind="stable")[:, [rank_of(length)]])
        equal(values, np.take_along_axis(x, places, 1))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
@pytest.mark.parametrize("length", [1, 64, 65, 100, 1000])
def test_long_sequences_are_searched(length, dtype, right):
    sequences = np.sort(whole(2, length, dtype=dtype, low=-100, high=100))
    values = whole(2, 77, dtype=dtype, seed=1, low=-110, high=110)
    if dtype == "float32":
        sequences[0, -1] = values[0, 5] = np.nan
    side = "right" if right else "left"
    for sequence, expected in [
        (sequences, [np.searchsorted(s, v, side) for s, v in zip(sequences, values, strict=True)]),
        (sequences[0], np.searchsorted(sequences[0], values, side)),
    ]:
        S, V = (te.placeholder(x.shape, dtype) for x in (sequence, values))
        func = te.create_prim_func([S, V, topi.searchsorted(S, V, right, "int32")])
        found = np.empty(values.shape, "int32")
        tvm.build(func, target="llvm")(np.ascontiguousarray(sequence), values, found)
        equal(found, expected)


def test_sequences_of_symbolic_length():
    for length in (0, 1, 5):
        sequence, values = np.sort(whole(length)), whole(7, seed=1)
        dims = [("n",), (7,)]
        result = run(topi.searchsorted, sequence, values, dims=dims)
        equal(result, np.searchsorted(sequence, values))


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right):
    sequence, values = np.sort(whole(9)), whole(3, 4, seed=1)
    side = "right" if right else "left"
    result = run(lambda S, V: topi.searchsorted(S, V, right), sequence, values)
    equal(result, np.searchsorted(sequence, values, side))
    sequences = np.sort(whole(3, 6))
    result = run(lambda S, V: topi.searchsorted(S, V, right), sequences, values)
    rows = zip(sequences, values, strict=True)
    equal(result, [np.searchsorted(s, v, side) for s, v in rows])


def test_mistakes_are_named():
    X = te.placeholder((3, 4))
    with pytest.raises(ShapeError, match="axis 2 is out of range"):
        topi.sort(X, 2)
    with pytest.raises(ShapeError, match="5 elements are wanted"):
        topi.topk(X, 5)
    with pytest.raises(ArgumentValueError, match="`ret_type`"):
        topi.topk(X, 2, ret_type="all")
    with pytest.raises(ArgumentError, match="`valid_count`"):
        topi.argsort(X, X)


@pytest.mark.parametrize("dtype", ["float64", "int8", "uint8", "int64", "float16"])
@pytest.mark.parametrize("length", [7, 33, 128, 129])
def test_rows_of_any_length_are_sorted_in_order(length, dtype):
    x = whole(3, length, dtype=dtype, low=0, high=40)
    X = te.placeholder(x.shape, dtype, name="X")
    result = np.empty(x.shape, "int64")
    tvm.build(te.create_prim_func([X, topi.argsort(X, dtype="int64")]), target="llvm")(x, result)
    equal(result, np.argsort(x, kind="stable"))
