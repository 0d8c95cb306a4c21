"""Scans, scatters, sums of products, and tensors made from formulas, against numpy."""

import numpy as np
import pytest
from tests.topi.evaluate import BOTH, array, evaluate, same

import tilewright as tvm
from tilewright import te, topi
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.dtype import DType
from tilewright.tir.interpreter import interpret
from tilewright.topi.scan import running_extremum

# --- scans and scatters --------------------------------------------------------------------------


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


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2", "c"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(19, 83), (17, 64), (2, 3, 66), (9, 1024)], ids=str)
def test_rows_of_scans_side_by_side(shape, dtype, target):
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, shape).astype(DType(dtype).numpy)
    data = te.placeholder(shape, dtype, "data")
    scans = [topi.cumsum(data, -1), topi.scanop(data, topi.maximum, 0, "largest", -1)]
    function = te.create_prim_func([data, *scans])
    found = [np.empty_like(x) for _ in scans]
    tvm.build(function, target)(x, *found)
    wide = x.astype("float64")
    if dtype == "int8":
        same(found[0], np.cumsum(x, -1, dtype="int8"))
    else:
        same(found[0].astype("float64"), np.cumsum(wide, -1))
    same(found[1].astype("float64"), np.maximum.accumulate(wide, -1))


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64-v3", "c"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "uint8", "int64"])
@pytest.mark.parametrize(("shape", "axis"), [((19, 70), 1), ((70, 19), 0), ((2, 1, 5), -1)])
@pytest.mark.parametrize("is_max", [True, False])
def test_running_extrema_and_their_places(is_max, shape, axis, dtype, target):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, shape).astype(DType(dtype).numpy)
    if not dtype.startswith(("uint", "int")):
        x.reshape(-1)[7::41] = np.nan
    data = te.placeholder(shape, dtype, "data")
    both = running_extremum(data, axis, is_max, "extremum")
    values, places = np.empty_like(x), np.empty(shape, "int64")
    tvm.build(te.create_prim_func([data, *both]), target)(x, values, places)
    for row, value, place in zip(
        *(np.moveaxis(a, axis, -1).reshape(-1, shape[axis]) for a in (x, values, places)),
        strict=True,
    ):
        best, last = row[0], 0
        for k, element in enumerate(row):
            reaches = element >= best if is_max else element <= best
            if element != element or reaches:
                best, last = element, k
            assert place[k] == last
            assert value[k] == best or (best != best and value[k] != value[k])


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


@pytest.mark.parametrize("shape", [(3, 2, 11), (3, 1, 19), (2, 2, 8), (3, 2, 0)], ids=str)
@pytest.mark.parametrize("reduction", ["update", "add"])
def test_rows_scatter_within_themselves(reduction, shape):
    x, new = array(3, 2, 10), array(*shape) - 7
    where = (np.arange(new.size).reshape(shape) * 7 % 20 - 10).astype("int32")
    expected = x.copy()
    for place in np.ndindex(*shape):
        at = (*place[:2], where[place])
        expected[at] = REDUCTIONS[reduction](expected[at], new[place])

    n, m, k = (te.size_var(name, "int64") for name in "nmk")
    data = te.placeholder((n, m, 10), "float32", "data")
    rows = n if shape[0] == 3 else te.size_var("rows", "int64")
    extents = (rows, m if shape[1] == 2 else 1, k)
    indices = te.placeholder(extents, "int32", "indices")
    updates = te.placeholder(extents, "float32", "updates")
    scattered = topi.scatter_elements(data, indices, updates, 2, reduction)
    function = te.create_prim_func([data, indices, updates, scattered])
    for run in (interpret, tvm.build(function, "llvm")):
        result = np.empty_like(x)
        run(*([function] if run is interpret else []), x, where, new, result)
        same(result, expected)


def test_small_indices_of_long_rows():
    x, where = array(2, 300), np.array([[-1, 127], [-128, 0]], "int8")
    expected = x.copy()
    np.put_along_axis(expected, where.astype("int64"), -9, 1)
    new = np.full((2, 2), -9, "float32")
    same(evaluate(lambda a, i, u: topi.scatter_elements(a, i, u, 1), x, where, new), expected)


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


# --- einsum --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 2, 3), (2, 3, 4)]),
        ("ij->ji", [(2, 3)]), ("ii", [(3, 3)]), ("ij,ij->i", [(2, 3), (2, 3)]),
        ("i,j,k->ijk", [(2,), (3,), (2,)]), ("...ij,...jk->...ik", [(2, 2, 3), (3, 2)]),
        ("ab,bc,cd", [(2, 3), (3, 2), (2, 4)]), ("...i->...", [(2, 3)]), ("ij->", [(2, 3)]),
        ("...,...", [(2, 3), (3,)]), ("bij,bjk->bk", [(2, 4, 3), (2, 3, 2)]),
        ("aij,bjj->", [(2, 3, 3), (4, 3, 3)]), ("ij,jk,kl->l", [(2, 3), (3, 2), (2, 4)]),
    ],
    ids=str,
)  # fmt: skip
def test_einsum(subscripts, shapes):
    arrays = [array(*shape) for shape in shapes]
    same(
        evaluate(lambda *operands: topi.einsum(subscripts, *operands), *arrays),
        np.einsum(subscripts, *arrays),
    )


def test_what_only_one_operand_has_is_added_up_first():
    A, B = te.placeholder((5, 6, 7)), te.placeholder((5, 7, 8))
    product = topi.einsum("bij,bjk->bk", A, B)
    (inner, summed) = product.op.reduce_axis[0], product.op.input_tensors[0]
    assert len(product.op.reduce_axis) == 1
    assert int(inner.dom.extent) == 7
    assert [int(extent) for extent in summed.shape] == [5, 7]


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


# --- made from formulas --------------------------------------------------------------------------


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
