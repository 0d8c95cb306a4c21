"""The memory of stages: its kind, its layout, and fetching ahead."""

import numpy as np
import pytest
from tests.te.schedule.checking import check, lowered_text, random_array

import tilewright as tvm
from tilewright import te
from tilewright.error import ArgumentError, TEScheduleError
from tilewright.te.schedule import schedule_to_prim_func


def transpose():
    """A transposition by way of a tile in shared memory."""
    x = te.placeholder((8, 16), name="X")
    y = te.compute((16, 8), lambda i, j: x[j, i], name="Y")
    s = te.create_schedule(y.op)
    tile = s.cache_read(x, "shared", [y])
    i_outer, _, _, _ = s[y].tile(*y.op.axis, 4, 4)
    s[tile].compute_at(s[y], i_outer)
    value = random_array((8, 16))
    return s, tile, [x, y], value


@pytest.mark.parametrize(("axis", "size"), [(0, 39), (1, None)])
def test_storage_align(axis, size):
    s, tile, args, value = transpose()
    s[tile].storage_align(tile.op.axis[axis], 4, 1)
    text = lowered_text(s, args)
    if size is not None:
        assert f'T.allocate([{size}], "float32", "shared")' in text
        assert "ax0 * 5 + ax1" in text
    check(s, args, [value], [value.T])


def test_a_reduction_with_padding():
    x = te.placeholder((4, 6), name="X")
    k = te.reduce_axis((0, 6), "k")
    y = te.compute((4, 4), lambda i, j: te.sum(x[i, k] * x[j, k], axis=k), name="Y")
    z = te.compute((4, 4), lambda i, j: y[j, i], name="Z")
    s = te.create_schedule(z.op)
    s[y].storage_align(y.op.axis[0], 8, 3)
    assert "i * 11 + j" in lowered_text(s, [x, z])
    value = random_array((4, 6))
    check(s, [x, z], [value], [value @ value.T])
    with pytest.raises(TEScheduleError, match="storage_align on stage Y: Y is a parameter"):
        tvm.lower(s, [x, y, z])


def test_double_buffer_is_a_mark_of_the_block():
    s, tile, args, value = transpose()
    s[tile].double_buffer()
    assert 'T.block_attr({"double_buffer_scope": 0})' in schedule_to_prim_func(s, args).script()
    check(s, args, [value], [value.T])


def test_prefetch():
    x = te.placeholder((8, 16), name="X")
    k = te.reduce_axis((0, 16), "k")
    y = te.compute((8,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    s = te.create_schedule(y.op)
    k_outer, _ = s[y].split(k, 4)
    s[y].prefetch(x, k_outer, 2)
    text = schedule_to_prim_func(s, [x, y]).script()
    assert (
        "T.prefetch(X, [T.Range(i, i + 1), T.Range((k_outer + 2) * 4, (k_outer + 2) * 4 + 4)])"
        in text
    )
    value = random_array((8, 16))
    check(s, [x, y], [value], [value.sum(1)])


def test_prefetch_of_what_a_stage_inside_reads():
    x = te.placeholder((8, 16), name="X")
    y = te.compute((8, 16), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((8, 16), lambda i, j: y[i, j] * 2.0, name="Z")
    s = te.create_schedule(z.op)
    i, j = z.op.axis
    s[y].compute_at(s[z], i)
    s[z].prefetch(x, i, 1)
    assert "T.prefetch(X, [T.Range(v_i + 1, v_i + 1 + 1), T.Range(0, 16)])" in (
        schedule_to_prim_func(s, [x, z]).script()
    )
    value = random_array((8, 16))
    check(s, [x, z], [value], [(value + 1) * 2])
    s[z].prefetch(x, j, 1)
    with pytest.raises(TEScheduleError, match="on stage Z: nothing in loop j reads X"):
        tvm.lower(s, [x, z])


MISTAKES = [
    (lambda s, x, y, z: s[y].set_scope(3), "set_scope on stage Y: the scope must be a name"),
    (lambda s, x, y, z: s[z].storage_align(z.op.axis[0], 4, 1), "on stage Z: it is an output"),
    (
        lambda s, x, y, z: s[y].storage_align(z.op.axis[0], 4, 1),
        r"storage_align on stage Y: expected one of the axes \(i, j\)",
    ),
    (lambda s, x, y, z: s[x].storage_align(y.op.axis[0], 4, 1), r"expected one of the axes \(\)"),
    (lambda s, x, y, z: s[y].storage_align(y.op.axis[0], 0, 1), "factor must be positive, got 0"),
    (
        lambda s, x, y, z: s[y].storage_align(y.op.axis[0], 4, te.var("n")),
        "the offset must be an integer",
    ),
    (lambda s, x, y, z: s[z].double_buffer(), "cannot apply double buffer on output"),
    (lambda s, x, y, z: s[z].prefetch(x, y.op.axis[0], 1), "i that is not part of the schedule"),
    (lambda s, x, y, z: s[z].prefetch("X", z.op.axis[0], 1), "expected a tensor, got 'X'"),
    (lambda s, x, y, z: s[z].prefetch(y, z.op.axis[0], 1.5), "the offset must be an integer"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_refusals(mistake, message):
    x = te.placeholder((8, 16), name="X")
    y = te.compute((8, 16), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((8, 16), lambda i, j: y[i, j] * 2.0, name="Z")
    with pytest.raises(TEScheduleError, match=message):
        mistake(te.create_schedule(z.op), x, y, z)


def bounds_of(schedule):
    return {
        axis.name: (repr(dom.min), repr(dom.extent))
        for axis, dom in te.schedule.InferBound(schedule).items()
    }


def test_bounds():
    x = te.placeholder((10,), name="X")
    y = te.compute((10,), lambda a: x[a] + 1.0, name="Y")
    k = te.reduce_axis((0, 3), "k")
    z = te.compute((8,), lambda i: te.sum(y[i + k], axis=k), name="Z")
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], 4)
    s[y].compute_at(s[z], outer)
    s[y].split(y.op.axis[0], 4)
    s[z].bind(outer, te.thread_axis("blockIdx.x"))
    s[y].set_scope("shared")
    assert bounds_of(s.normalize()) == {
        "i": ("0", "8"),
        "k": ("0", "3"),
        "i_outer": ("0", "2"),
        "i_inner": ("0", "4"),
        "blockIdx.x": ("0", "2"),
        "a": ("i_outer * 4", "6"),
        "a_outer": ("0", "2"),
        "a_inner": ("0", "4"),
    }


def test_bounds_in_terms_of_axes_that_do_not_start_at_zero():
    x = te.placeholder((10,), name="X")
    w = te.compute((10,), lambda b: x[b] + 1.0, name="W")
    y = te.compute((10,), lambda a: w[a] * 2.0, name="Y")
    z = te.compute((8,), lambda i: y[i + 2], name="Z")
    s = te.create_schedule(z.op)
    s[w].compute_at(s[y], y.op.axis[0])
    assert bounds_of(s)["a"] == ("2", "8")
    assert bounds_of(s)["b"] == ("a", "1")


def test_statements():
    x = te.placeholder((10,), name="X")
    y = te.compute((10,), lambda i: x[i] + 1.0, name="Y")
    s = te.create_schedule(y.op)
    bounds = te.schedule.InferBound(s)
    assert "Y[v_i] = X[v_i] + T.float32(1.0)" in te.schedule.ScheduleOps(s, bounds).script()
    s[y].split(y.op.axis[0], 4)
    with pytest.raises(ArgumentError, match="the bounds of i_outer are not what InferBound gives"):
        te.schedule.ScheduleOps(s, bounds)
    with pytest.raises(ArgumentError, match=r"expected a te.Schedule, got 3"):
        te.schedule.InferBound(3)


def kinds():
    x, b = te.placeholder((4, 6), name="X"), te.placeholder((6,), name="B")
    e = te.compute((4, 6), lambda i, j: te.exp(x[i, j]), name="elementwise")
    r = te.compute((4, 6), lambda i, j: e[i, j] + b[j], name="broadcast")
    t = te.compute((6, 4), lambda i, j: r[j, i] * 2.0, name="injective")
    k = te.reduce_axis((0, 4), "k")
    total = te.compute((6,), lambda i: te.sum(t[i, k], axis=k), name="reduction")
    out = te.compute((6,), lambda i: total[i] + 1.0, name="out")
    return x, b, out


@pytest.mark.parametrize(
    ("primitive", "left"),
    [
        ("AutoInlineElemWise", ["broadcast", "injective", "reduction"]),
        ("AutoInlineBroadcast", ["injective", "reduction"]),
        ("AutoInlineInjective", ["reduction"]),
    ],
)
def test_inlining_all_of_a_kind(primitive, left):
    x, b, out = kinds()
    s = te.create_schedule(out.op)
    getattr(te.schedule, primitive)(s)
    inlined = [stage.name for stage in s.stages if stage.attach_type.name == "INLINE"]
    assert inlined == [n for n in ("elementwise", "broadcast", "injective") if n not in left]
    values = [np.zeros((4, 6), "float32"), random_array((6,), 1)]
    expected = ((1 + values[1]) * 8 + 1).astype("float32")
    check(s, [x, b, out], values, [expected])


def test_what_has_been_scheduled_is_not_inlined():
    _, _, out = kinds()
    s = te.create_schedule(out.op)
    stage = s.stages[1]
    stage.split(stage.leaf_iter_vars[0], 2)
    te.schedule.AutoInlineInjective(s)
    assert stage.attach_type.name == "GROUP_ROOT"
