"""Reductions over symbolic sizes that are 0: the elements get their initial values."""

import numpy as np
import pytest
from tests.te.schedule.checking import check, random_array
from tests.te.schedule.test_tensorize import dense

from tilewright import te
from tilewright.error import TEScheduleError
from tilewright.te.schedule import schedule_to_prim_func

SHAPES = [(3, 0), (0, 3), (0, 0), (1, 1), (5, 7)]


def row_sums():
    n, m = te.var("n"), te.var("m")
    x = te.placeholder((n, m), name="X")
    k = te.reduce_axis((0, m), "k")
    y = te.compute((n,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    return x, y, te.create_schedule(y.op)


def fused(s, y):
    return s[y].fuse(*s[y].leaf_iter_vars)


def fused_then_split(s, y):
    s[y].split(fused(s, y), 4)


def fused_then_split_in_parts(s, y):
    s[y].reorder(*reversed(s[y].split(fused(s, y), nparts=3)))


def fused_tiles(s, y):
    i, k = s[y].leaf_iter_vars
    i_outer, k_outer, i_inner, _ = s[y].tile(i, k, 4, 2)
    s[y].fuse(k_outer, i_inner)
    s[y].fuse(i_outer, s[y].leaf_iter_vars[1])


def reduction_outside(s, y):
    s[y].fuse(*reversed(s[y].leaf_iter_vars))


def reordered(s, y):
    s[y].reorder(*reversed(s[y].leaf_iter_vars))


def partial_results(s, y):
    _, k_inner = s[y].split(s[y].op.reduce_axis[0], 4)
    partial = s.rfactor(y, k_inner)
    s[partial].fuse(*s[partial].leaf_iter_vars)
    s[partial].compute_at(s[y], s[y].leaf_iter_vars[0])


def written_by_way_of_a_cache(s, y):
    cache = s.cache_write(y, "local")
    outer, _ = s[y].split(y.op.axis[0], 4)
    s[cache].compute_at(s[y], outer)
    s[cache].fuse(*s[cache].leaf_iter_vars)


def inputs_computed_inside(s, y):
    near = s.cache_read(y.op.input_tensors[0], "local", [y])
    s[near].compute_at(s[y], fused(s, y))


@pytest.mark.parametrize(
    "schedule",
    [
        fused, fused_then_split, fused_then_split_in_parts, fused_tiles, reduction_outside,
        reordered, partial_results, written_by_way_of_a_cache, inputs_computed_inside,
    ],
)  # fmt: skip
def test_elements_are_initialised(schedule):
    for shape in SHAPES:
        x, y, s = row_sums()
        schedule(s, y)
        value = random_array(shape)
        check(s, [x, y], [value], [value.sum(1)], native=shape in SHAPES[:2])


def test_elements_are_initialised_once():
    x = te.placeholder((3, 5), name="X")
    k = te.reduce_axis((0, 5), "k")
    y = te.compute((3,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    s = te.create_schedule(y.op)
    s[y].unroll(y.op.axis[0])
    fused(s, y)
    text = schedule_to_prim_func(s, [x, y]).script()
    assert "for i_init in range(3):" in text
    assert "for i_k_fused in range(15):" in text


@pytest.mark.parametrize("factor", [None, 4])
def test_threads_that_reduce_in_a_loop_of_both_kinds(factor):
    x, y, s = row_sums()
    i, k = s[y].leaf_iter_vars
    if factor is None:
        k_inner = s[y].fuse(i, k)
    else:
        k_outer, k_inner = s[y].split(k, factor)
        s[y].fuse(i, k_outer)
    s[y].bind(k_inner, te.thread_axis("threadIdx.x"))
    with pytest.raises(TEScheduleError, match=r"bind on stage Y: with m = 0, .* axis k apart"):
        schedule_to_prim_func(s, [x, y])


def product(m, n, k):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((n, k), name="B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((n, m), lambda j, i: te.sum(a[i, r] * b[j, r], axis=r), name="C")
    return a, b, c


def tensorized(a, b, c, parts, *, is_fused=False):
    s = te.create_schedule(c.op)
    j, i, k = s[c].leaf_iter_vars
    i_outer, i = s[c].split(i, 4)
    k_outer, k = s[c].split(k, 4)
    s[c].reorder(i_outer, j, k_outer, i, k)
    if is_fused:
        s[c].fuse(j, k_outer)
    s[c].tensorize(i, dense(parts=parts))
    return s


def test_intrinsics_that_initialise_outside_of_the_reduction():
    n = te.var("n")
    a, b, c = product(8, 6, n * 4)
    for size in (0, 1, 3):
        s = tensorized(a, b, c, "init update")
        x, y = random_array((8, size * 4), 1), random_array((6, size * 4), 2)
        check(s, [n, a, b, c], [np.int32(size), x, y], [y @ x.T], native=False)


def test_intrinsics_that_initialise_in_the_first_iteration():
    n = te.var("n")
    a, b, c = product(8, 6, n * 4)
    s = tensorized(a, b, c, "body update")
    with pytest.raises(TEScheduleError, match=r"tensorize on stage C: with n \* 4 = 0"):
        schedule_to_prim_func(s, [a, b, c, n])


@pytest.mark.parametrize("parts", ["body update", "init update"])
def test_intrinsics_in_a_loop_of_both_kinds(parts):
    a, b, c = product(8, 6, 8)
    s = tensorized(a, b, c, parts, is_fused=True)
    with pytest.raises(TEScheduleError, match="j_k_outer_fused is fused of data-parallel and"):
        schedule_to_prim_func(s, [a, b, c])


def test_scans_without_steps():
    steps = te.var("steps")
    x, state = (te.placeholder((steps, 2), name=name) for name in "XS")
    update = te.compute((steps, 2), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    first = te.compute((1, 2), lambda t, i: te.const(1.0), name="first")
    sums = te.scan(first, update, state, inputs=[x], name="sums")
    for size in (0, 1, 4):
        value = random_array((size, 2))
        expected = np.concatenate([np.ones_like(value[:1]), value[1:]]).cumsum(0)
        check(te.create_schedule(sums.op), [x, sums], [value], [expected.astype("float32")])
