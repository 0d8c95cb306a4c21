"""The schedules of rows, sums, transposes and vector-matrix products, at sizes no tile divides."""

import numpy as np
import pytest
from benchmarks.suite import gemv, movement, rows
from benchmarks.suite.matmul import program as product

import tilewright as tvm
from tilewright import tir
from tilewright.target import Target

TARGETS = ["llvm", "llvm -mcpu=haswell"]


def run(program, schedule, target, shape, *inputs):
    """What the scheduled program computes."""
    sch = tir.Schedule(program)
    schedule(sch, Target(target))
    result = np.full(shape, np.nan, "float32")
    tvm.build(sch.mod, target=target)["main"](*inputs, result)
    return result


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def assert_close(result, exact):
    assert np.abs(result - exact).max() <= 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(6, 61), (3, 128), (5, 7)])
@pytest.mark.parametrize(
    ("program", "schedule", "reference"),
    [
        (rows.softmax, rows.row_by_row, rows.softmax_in_numpy),
        (rows.gelu, rows.element_by_element, rows.gelu_exactly),
        (rows.gelu_tanh, rows.element_by_element, rows.gelu_tanh_in_numpy),
        (movement.transpose, movement.schedule_transpose, np.transpose),
        (movement.row_sums, movement.schedule_row_sums, lambda x: x.sum(axis=1)),
        (movement.column_sums, movement.schedule_column_sums, lambda x: x.sum(axis=0)),
    ],
)
def test_one_matrix(program, schedule, reference, shape, target):
    x = normal(*shape)
    exact = reference(x.astype("float64"))
    assert_close(run(program(*shape), schedule, target, exact.shape, x), exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(6, 61), (3, 128)])
def test_layer_norm(shape, target):
    inputs = normal(*shape), normal(shape[1]), normal(shape[1])
    exact = rows.layer_norm_in_numpy(*(x.astype("float64") for x in inputs))
    assert_close(run(rows.layer_norm(*shape), rows.row_by_row, target, shape, *inputs), exact)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("schedule", [gemv.columns_in_registers, gemv.rows_at_once])
@pytest.mark.parametrize(("n", "k"), [(128, 16), (131, 19), (7, 3)])
def test_vector_times_matrix(n, k, schedule, target):
    a, b = normal(1, k), normal(k, n)
    result = run(product(1, n, k), schedule, target, (1, n), a, b)
    assert_close(result, a.astype("float64") @ b.astype("float64"))


def test_special_values():
    x = normal(5, 33)
    x[0, 3], x[1, 32], x[2, 0], x[3, 4] = np.nan, np.inf, -np.inf, 1e-42
    x[4] = -np.inf
    with np.errstate(invalid="ignore"):
        exact = rows.softmax_in_numpy(x)
    result = run(rows.softmax(5, 33), rows.row_by_row, "llvm", x.shape, x)
    np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-12)
    sums = run(movement.row_sums(5, 33), movement.schedule_row_sums, "llvm", (5,), x)
    np.testing.assert_allclose(sums, x.sum(axis=1), rtol=1e-5)
    gelu = run(rows.gelu(5, 33), rows.element_by_element, "llvm", x.shape, x)
    assert np.isnan(gelu[0, 3])
    assert np.isnan(gelu[4]).all()  # -inf times 0, as the formula says
    assert gelu[1, 32] == np.inf
    assert gelu[3, 4] == np.float32(5e-43)
