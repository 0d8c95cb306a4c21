"""Windows that slide along a loop."""

import pytest
from tests.te.schedule.checking import check, lowered_text, random_array

import tilewright as tvm
from tilewright import te
from tilewright.error import TEScheduleError
from tilewright.te.schedule import schedule_to_prim_func


def blur(n=9, m=8, stride=1):
    """A blur along columns of sums along rows."""
    x = te.placeholder((n, m), name="X")
    k = te.reduce_axis((0, 3), "k")
    y = te.compute((n, m - 2), lambda i, j: te.sum(x[i, j + k], axis=k), name="Y")
    w = te.reduce_axis((0, 3), "w")
    rows = (n - 3) // stride + 1
    z = te.compute((rows, m - 2), lambda i, j: te.sum(y[i * stride + w, j], axis=w), name="Z")
    value = random_array((n, m))
    sums = value[:, :-2] + value[:, 1:-1] + value[:, 2:]
    expected = (sums[:-2] + sums[1:-1] + sums[2:])[::stride]
    return x, y, z, value, expected


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("split", [None, 2, 3])
def test_each_row_is_computed_once(stride, split):
    x, y, z, value, expected = blur(stride=stride)
    s = te.create_schedule(z.op)
    i = z.op.axis[0]
    loop = i if split is None else s[z].split(i, split)[1]
    s[y].compute_at(s[z], loop)
    before = lowered_text(s, [x, z])
    s[y].rolling_buffer()
    text = lowered_text(s, [x, z])
    assert text != before
    assert "% 3" in text
    check(s, [x, z], [value], [expected])


def test_the_text():
    x, y, z, _, _ = blur()
    s = te.create_schedule(z.op)
    s[y].compute_at(s[z], z.op.axis[0])
    s[y].rolling_buffer()
    text = lowered_text(s, [x, z])
    assert text.startswith('        Y = T.allocate([18], "float32", "global")\n        for i in')
    script = schedule_to_prim_func(s, [x, z]).script()
    assert script.count("T.where(i == 0 or i_1 >= 2)") == 2
    assert "Z[v_i, v_j] = Z[v_i, v_j] + Y[(v_i + v_w) % 3, v_j]" in script


def test_inside_of_a_parallel_loop():
    x, y, z, value, expected = blur()
    s = te.create_schedule(z.op)
    outer, inner = s[z].split(z.op.axis[0], 4)
    s[z].parallel(outer)
    s[y].compute_at(s[z], inner)
    s[y].rolling_buffer()
    assert "for i_outer in T.parallel(2):\n            Y = T.allocate(" in lowered_text(s, [x, z])
    check(s, [x, z], [value], [expected])


def at_root(s, y, z):
    pass


def parallel(s, y, z):
    s[y].compute_at(s[z], z.op.axis[0])
    s[z].parallel(z.op.axis[0])


def no_overlap(s, y, z):
    s[y].compute_at(s[z], z.op.axis[1])


def aligned(s, y, z):
    s[y].compute_at(s[z], z.op.axis[0])
    s[y].storage_align(y.op.axis[0], 4, 1)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (at_root, "it is not computed in a loop of another stage"),
        (parallel, "loop i of stage Z is parallel"),
        (no_overlap, "iterations of loop j of stage Z need does not overlap along one axis"),
        (aligned, "what else was asked for needs the usual layout"),
    ],
)
def test_what_is_no_window(place, message):
    x, y, z, _, _ = blur()
    s = te.create_schedule(z.op)
    place(s, y, z)
    s[y].rolling_buffer()
    with pytest.raises(TEScheduleError, match="rolling_buffer on stage Y: .*" + message):
        tvm.lower(s, [x, z])


def test_a_parameter_or_an_output_does_not_roll():
    x, y, z, _, _ = blur()
    s = te.create_schedule(z.op)
    s[y].compute_at(s[z], z.op.axis[0])
    s[y].rolling_buffer()
    with pytest.raises(TEScheduleError, match="the layout of buffer Y is given"):
        tvm.lower(s, [x, y, z])
    with pytest.raises(TEScheduleError, match="rolling_buffer on stage Z: it is an output"):
        s[z].rolling_buffer()
