"""Products of a symbolic number of rows have versions for one row, and for a few."""

import math

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te
from tilewright.driver.default import DefaultSchedule
from tilewright.ir.module import IRModule
from tilewright.schedule_rules.few_rows import counts_of_few_rows, sizes_of_rows
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.target import Target
from tilewright.tir.stmt import BlockRealize, IfThenElse
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.machine import Machine

ONE_CORE = Target("llvm -num-cores=1")
COLUMNS, DEPTH = 19, 37


def linear(*sizes, transposed=True):
    """max(X W + bias, 0) of rows; the rows of the weights are the columns if `transposed`."""
    x = te.placeholder((*sizes, DEPTH), name="X")
    w = te.placeholder((COLUMNS, DEPTH) if transposed else (DEPTH, COLUMNS), name="W")
    bias, k = te.placeholder((COLUMNS,), name="bias"), te.reduce_axis((0, DEPTH), name="k")

    def element(*i):
        return te.sum(x[(*i[:-1], k)] * (w[i[-1], k] if transposed else w[k, i[-1]]), axis=k)

    y = te.compute((*sizes, COLUMNS), element, name="Y")
    z = te.compute(y.shape, lambda *i: te.max(y[i] + bias[i[-1]], 0.0), name="Z")
    return te.create_prim_func([x, w, bias, z])


def branches(func, target=ONE_CORE):
    """The conditions of the versions of a function that it gets by default."""
    scheduled = DefaultSchedule(target)(IRModule({"main": func}))
    (func,) = scheduled.functions.values()
    found = [node for node in statements(func.body) if isinstance(node, IfThenElse)]
    assert all(isinstance(node.else_case, BlockRealize) for node in found)
    return [str(node.condition) for node in found]


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize(
    "rows", [[(0,), (1,), (2,), (9,)], [(0, 1), (1, 0), (1, 1), (1, 3), (3, 1)]]
)
def test_any_number_of_rows(rows, cores):
    func = linear(*(te.size_var(name) for name in "bs"[: len(rows[0])]))
    target = Target(f"llvm -num-cores={cores}")
    assert branches(func, target)
    module = tvm.build(func, target=target)
    rng = np.random.default_rng(0)
    w, bias = rng.standard_normal((COLUMNS, DEPTH)), rng.standard_normal(COLUMNS)
    for shape in rows:
        x, result = rng.standard_normal((*shape, DEPTH)), np.full((*shape, COLUMNS), np.nan)
        arguments = [np.asarray(a, "float32") for a in (x, w, bias, result)]
        module(*arguments)
        expected = np.maximum(x @ w.T + bias, 0)
        np.testing.assert_allclose(arguments[-1], expected, rtol=1e-4, atol=1e-5)


def test_all_sizes_that_count_rows_are_asked_for():
    assert branches(linear(te.size_var("m"))) == ["m == 1"]
    assert branches(linear(te.size_var("b"), te.size_var("s"))) == ["b == 1 and s == 1"]


def test_only_what_is_packed_in_each_call_has_versions():
    func = linear(te.size_var("m"))
    assert not branches(func.with_attr(CONSTANT_PARAMS, [1]))
    assert not branches(linear(te.size_var("m"), transposed=False))
    assert not branches(linear(4))


def test_a_size_that_counts_columns_is_no_number_of_rows():
    n, k = te.size_var("n"), te.reduce_axis((0, DEPTH), name="k")
    x, w = te.placeholder((40, DEPTH), name="X"), te.placeholder((n, DEPTH), name="W")
    y = te.compute((40, n), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), name="Y")
    assert not sizes_of_rows(te.create_prim_func([x, w, y]), ONE_CORE.machine)


def large_product(rows, transposed):
    """max(X W, 0) of rows; no cache holds the weights, whose rows are columns if `transposed`."""
    k, n = 1024, 640
    x, w = (
        te.placeholder((rows, k), name="X"),
        te.placeholder((n, k) if transposed else (k, n), name="W"),
    )
    r = te.reduce_axis((0, k), name="r")

    def element(i, j):
        return te.sum(x[i, r] * (w[j, r] if transposed else w[r, j]), axis=r)

    y = te.compute((rows, n), element, name="Y")
    z = te.compute((rows, n), lambda i, j: te.max(y[i, j], 0.0), name="Z")
    return te.create_prim_func([x, w, z])


@pytest.mark.parametrize("transposed", [False, True])
def test_a_few_rows_need_no_copy_of_a_large_matrix(transposed):
    func = large_product(te.size_var("m"), transposed)
    assert branches(func)[:2] == ["m == 1", "m <= 24" if transposed else "m <= 8"]
    module = tvm.build(func, target=ONE_CORE)
    for rows in (1, 2, 3, 8, 9, 24, 25, 70, 130):
        rng = np.random.default_rng(rows)
        shapes = [[int(n) for n in func.buffer_map[func.params[1]].shape], (rows, 1024)]
        w, x = (rng.standard_normal(shape, "float32") for shape in shapes)
        result = np.full((rows, 640), np.nan, "float32")
        module(x, w, result)
        expected = x.astype("float64") @ (w.T if transposed else w).astype("float64")
        np.testing.assert_allclose(result, np.maximum(expected, 0), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("transposed", "machine", "counts"),
    [(False, Machine(), [8, 127]), (True, Machine(), [24]),
     (False, Machine(first_cache=1 << 10, own_cache=16 << 10), [8])],
)  # fmt: skip
def test_numbers_of_rows_that_are_few(transposed, machine, counts):
    """A few read the matrix once, some block by block."""
    assert counts_of_few_rows(large_product(te.size_var("m"), transposed), machine) == counts


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("cores", [1, 2])
def test_a_large_matrix_is_read_once_for_a_few_rows(transposed, cores):
    target = Target(f"llvm -num-cores={cores}")
    sch = tvm.default_schedule(large_product(6, transposed), target)
    loops = [sch.get(loop) for loop in sch.get_loops("Y_rf_update" if transposed else "Y")]
    *_, rows = (n for n, loop in enumerate(loops) if int(loop.extent) == 6)
    assert math.prod(int(loop.extent) for loop in loops[rows + 1 :]) < 1024 * 640 // 8
    packed = tvm.default_schedule(large_product(256, transposed), target)
    few, many = ([s.get(b).name_hint for b in s.get_child_blocks("root")] for s in (sch, packed))
    assert "W_global" not in few
    assert {"X_global", "W_global"} & {*many}


def test_a_few_rows_of_each_of_many_images_are_many_rows():
    x, w = te.placeholder((8, 32, 1024), name="X"), te.placeholder((1024, 640), name="W")
    r = te.reduce_axis((0, 1024), name="r")
    y = te.compute((8, 32, 640), lambda b, i, j: te.sum(x[b, i, r] * w[r, j], axis=r), name="Y")
    sch = tvm.default_schedule(te.create_prim_func([x, w, y]), ONE_CORE)
    names = [sch.get(block).name_hint for block in sch.get_child_blocks("root")]
    assert names == ["W_global", "Y"]
