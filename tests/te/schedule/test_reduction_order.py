"""Schedules that combine the values of a reduction in another order than it is defined."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import TEScheduleError
from tilewright.tir.interpreter import interpret

ROWS, COLUMNS = 3, 24


def keeps_first(x, y):
    return x[1] >= y[1]


def keeps_last(x, y):
    return x[1] > y[1]


def proved(x, y):
    return tir.any(x[1] > y[1], tir.all(tir.EQ(x[1], y[1]), x[0] < y[0]))


def argmax(condition, extents=(COLUMNS,)):
    """The tensors of the argument of the maximum of each row: index, values, and results."""

    def combine(x, y):
        holds = condition(x, y)
        return tir.Select(holds, x[0], y[0]), tir.Select(holds, x[1], y[1])

    reduce = te.comm_reducer(
        combine, lambda a, b: (tir.const(-1, a), te.min_value(b)), name="argmax"
    )
    index = te.placeholder((ROWS, *extents), "int32", "index")
    value = te.placeholder((ROWS, *extents), "float32", "value")
    axes = [te.reduce_axis((0, extent), f"k{n}") for n, extent in enumerate(extents)]
    results = te.compute(
        (ROWS,), lambda i: reduce((index[(i, *axes)], value[(i, *axes)]), axis=axes), "T"
    )
    return [index, value, *results], axes


def check(condition, transform, extents=(COLUMNS,)):
    """Schedule by ``transform(schedule, result, axes)``; the result must be that of numpy."""
    tensors, axes = argmax(condition, extents)
    schedule = te.create_schedule(tensors[2].op)
    transform(schedule, tensors[2], axes)
    func = tvm.lower(schedule, tensors, simple_mode=False)["main"]
    values = np.random.default_rng(0).integers(0, 3, (ROWS, *extents)).astype("float32")
    flat = values.reshape(ROWS, -1)
    index = np.tile(np.arange(flat.shape[1], dtype="int32"), (ROWS, 1)).reshape(values.shape)
    best, most = np.zeros(ROWS, "int32"), np.zeros(ROWS, "float32")
    tvm.build(schedule, tensors, "llvm")
    expected = flat.argmax(1)
    if condition is keeps_last:
        expected = flat.shape[1] - 1 - flat[:, ::-1].argmax(1)
    interpret(func, index, values, best, most)
    np.testing.assert_array_equal(best, expected)
    np.testing.assert_array_equal(most, flat.max(1))


def swapped(schedule, result, axes):
    outer, inner = schedule[result].split(axes[0], 5)
    schedule[result].reorder(inner, outer)


def factored_inner(schedule, result, axes):
    _, inner = schedule[result].split(axes[0], 5)
    schedule.rfactor(result, inner)


def factored_outer(schedule, result, axes):
    outer, _ = schedule[result].split(axes[0], 5)
    schedule.rfactor(result, outer)


def around_the_rows(schedule, result, axes):
    stage = schedule[result]
    outer, inner = stage.split(axes[0], 5)
    stage.reorder(outer, inner, stage.op.axis[0])


@pytest.mark.parametrize("condition", [keeps_first, keeps_last])
@pytest.mark.parametrize("transform", [swapped, factored_inner])
def test_another_order_is_refused(condition, transform):
    with pytest.raises(TEScheduleError, match="may give another result") as caught:
        check(condition, transform)
    assert "(T_v0 0, T_v1 0.0) and (T_v0 1, T_v1 0.0): combined in this order" in str(caught.value)


@pytest.mark.parametrize("condition", [keeps_first, keeps_last, proved])
@pytest.mark.parametrize("transform", [factored_outer, around_the_rows])
def test_the_order_is_kept(condition, transform):
    check(condition, transform)


@pytest.mark.parametrize("transform", [swapped, factored_inner])
def test_comparing_indices_frees_the_order(transform):
    check(proved, transform)


def test_two_axes():
    def fused(schedule, result, axes):
        schedule[result].fuse(*axes)

    def tiled(schedule, result, axes):
        stage = schedule[result]
        stage.reorder(*stage.split(axes[0], 2), *stage.split(axes[1], 2), stage.op.axis[0])

    def exchanged(schedule, result, axes):
        schedule[result].reorder(axes[1], axes[0])

    def fused_exchanged(schedule, result, axes):
        exchanged(schedule, result, axes)
        schedule[result].fuse(axes[1], axes[0])

    for transform in (fused, tiled):
        check(keeps_first, transform, (4, 6))
    for transform in (exchanged, fused_exchanged):
        check(proved, transform, (4, 6))
        with pytest.raises(TEScheduleError, match="may give another result"):
            check(keeps_first, transform, (4, 6))


def test_what_is_declared_and_not_disproved_is_believed():
    pairs = te.comm_reducer(
        lambda x, y: (x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]),
        lambda a, b: (tir.const(1, a), tir.const(0, b)),
    )
    A = te.placeholder((8, 2), "float32", "A")
    k = te.reduce_axis((0, 8), "k")
    real, _ = te.compute((1,), lambda _: pairs((A[k, 0], A[k, 1]), axis=k), "P")
    schedule = te.create_schedule(real.op)
    _, inner = schedule[real].split(k, 4)
    assert len(schedule.rfactor(real, inner)) == 2
