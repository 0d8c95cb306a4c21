"""Copies of tensors in other memory."""

import pytest
from tests.te.schedule.checking import check, lowered_text, random_array

from tilewright import te
from tilewright.error import ArgumentError, TEScheduleError
from tilewright.te.schedule import schedule_to_prim_func


def product(m=6, n=8, k=5):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return a, b, c


def values(m=6, n=8, k=5):
    a, b = random_array((m, k), 1), random_array((k, n), 2)
    return [a, b], a @ b


def test_a_copy_for_some_readers():
    x = te.placeholder((8,), name="X")
    y = te.compute((8,), lambda i: x[i] + 1.0, name="Y")
    z = te.compute((8,), lambda i: x[i] * y[7 - i], name="Z")
    s = te.create_schedule(z.op)
    copy = s.cache_read(x, "shared.dyn", [z])
    assert copy.op.name == "X_shared_dyn"
    assert [axis.name for axis in copy.op.axis] == ["ax0"]
    assert [stage.op.name for stage in s.stages] == ["X", "X_shared_dyn", "Y", "Z"]
    assert s[copy].scope == "shared.dyn"
    assert s[z].op.input_tensors[0] is copy
    assert s[y].op.input_tensors[0] is x
    value = random_array((8,))
    check(s, [x, z], [value], [value * (value + 1)[::-1]])
    s[copy].compute_at(s[z], s[z].op.axis[0])
    assert 'X_shared_dyn = T.allocate([1], "float32", "shared.dyn")' in lowered_text(s, [x, z])
    check(s, [x, z], [value], [value * (value + 1)[::-1]])


def test_copies_of_copies():
    a, b, c = product()
    s = te.create_schedule(c.op)
    near = s.cache_read(s.cache_read(a, "shared", c), "local", [c])
    assert near.op.name == "A_shared_local"
    inputs, expected = values()
    check(s, [a, b, c], inputs, [expected])


def test_the_readers_of_a_reader_follow():
    a, b, c = product()
    d = te.compute((6, 8), lambda i, j: c[i, j] + 1.0, name="D")
    s = te.create_schedule(d.op)
    s.cache_read(b, "local", [c])
    s.cache_read(c, "local", [d])
    inputs, expected = values()
    check(s, [a, b, d], inputs, [expected + 1])
    check(s, [a, b, c, d], inputs, [expected, expected + 1])


def test_computing_in_other_memory():
    a, b, c = product()
    d = te.compute((6, 8), lambda i, j: c[i, j] + 1.0, name="D")
    s = te.create_schedule(d.op)
    local = s.cache_write(c, "local")
    assert local.op.name == "C_local"
    assert [axis.name for axis in (*local.op.axis, *local.op.reduce_axis)] == ["i_c", "j_c", "k"]
    assert local.op.reduce_axis[0] is c.op.reduce_axis[0]
    assert s[c].op.axis[0] is c.op.axis[0]
    assert s[c].op.reduce_axis == ()
    s[local].compute_at(s[c], s[c].op.axis[1])
    s[c].compute_at(s[d], d.op.axis[0])
    inputs, expected = values()
    check(s, [a, b, d], inputs, [expected + 1])


@pytest.mark.parametrize("inline", [True, False])
def test_the_loops_of_the_stage_are_the_layout_of_the_copy(inline):
    x = te.placeholder((10, 4), name="X")
    y = te.compute((10, 4), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((10, 4), lambda i, j: y[i, j] * 2.0, name="Z")
    s = te.create_schedule(z.op)
    outer, inner = s[y].split(y.op.axis[0], 4)
    s[y].reorder(outer, y.op.axis[1], inner)
    packed = s.cache_write(y, "global")
    assert [int(extent) for extent in packed.shape] == [3, 4, 4]
    assert [axis.name for axis in packed.op.axis] == ["i_outer_c", "j_c", "i_inner_c"]
    if inline:
        s[y].compute_inline()
    value = random_array((10, 4))
    check(s, [x, z], [value], [(value + 1) * 2])


def test_the_layout_of_a_reduction():
    a, b, _ = product()
    k = te.reduce_axis((0, 5), "k")
    c = te.compute((6, 8), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k, init=a[i, 0]), name="C")
    s = te.create_schedule(c.op)
    i_outer, _ = s[c].split(c.op.axis[0], 4)
    s[c].fuse(i_outer, s[c].leaf_iter_vars[1])
    s[c].split(c.op.axis[1], nparts=3)
    packed = s.cache_write(c, "global")
    assert [int(extent) for extent in packed.shape] == [8, 3, 3]
    inputs, expected = values()
    check(s, [a, b, c], inputs, [expected + inputs[0][:, :1]])


def test_several_results():
    x = te.placeholder((4, 6), name="X")
    k = te.reduce_axis((0, 6), "k")
    both = te.comm_reducer(
        lambda a, b: (a[0] + b[0], te.max(a[1], b[1])),
        lambda p, q: (te.const(0.0, p), te.const(float("-inf"), q)),
    )
    total, most = te.compute((4,), lambda i: both((x[i, k], x[i, k]), axis=k), name="R")
    s = te.create_schedule(total.op)
    copies = s.cache_write([total, most], "local")
    assert [copy.name for copy in copies] == ["R_local_v0", "R_local_v1"]
    value = random_array((4, 6))
    check(s, [x, total, most], [value], [value.sum(1), value.max(1)])


def test_the_copy_can_be_named_as_a_parameter():
    x = te.placeholder((4,), name="X")
    y = te.compute((4,), lambda i: x[i] + 1.0, name="Y")
    s = te.create_schedule(y.op)
    copy = s.cache_write(y, "global")
    func = schedule_to_prim_func(s, [x, copy, y])
    assert [buffer.name for buffer in func.buffer_map.values()] == ["X", "Y_global", "Y"]
    value = random_array((4,))
    check(s, [x, copy, y], [value], [value + 1, value + 1])


def pair(s, c):
    x = te.placeholder((4,), name="X")
    first, _ = te.compute((4,), lambda i: (x[i], x[i]), name="P")
    te.create_schedule(first.op).cache_write(first, "local")


def vectorized(s, c):
    s[c].vectorize(c.op.axis[1])
    s.cache_write(c, "local")


def split_reduction(s, c):
    s[c].split(c.op.reduce_axis[0], 2)
    s.cache_write(c, "local")


MISTAKES = [
    (lambda s, c: s.cache_read(c, "local", []), "cache_read on stage C: no reader is given"),
    (lambda s, c: s.cache_read(c, "local", [c]), "cache_read on stage C: stage C does not read C"),
    (lambda s, c: s.cache_read(c.op.input_tensors[0], "", [c]), "on stage A: the scope must be"),
    (lambda s, c: s.cache_read(c, "local", [other()]), "cannot find the stage of O"),
    (lambda s, c: s.cache_read(other(), "local", [c]), "cannot find the stage of O"),
    (lambda s, c: s.cache_write(c, 3), "cache_write on stage C: the scope must be a name"),
    (lambda s, c: s.cache_write([], "local"), "no tensor is given"),
    (lambda s, c: s.cache_write(c.op.input_tensors[0], "local"), "on stage A: it is an input"),
    (pair, "on stage P: all 2 outputs of the operation must be given"),
    (vectorized, r"on stage C: what was done to loops \(j\) would be lost; cache first"),
    (split_reduction, "on stage C: reduction loop k_outer has been made by a split or fuse"),
]


def other():
    return te.compute((4,), lambda i: 1.0, name="O")


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_refusals(mistake, message):
    _, _, c = product()
    s = te.create_schedule(c.op)
    with pytest.raises(TEScheduleError, match=message):
        mistake(s, c)
    assert len(s.stages) == 3


def test_only_tensors_have_copies():
    _, _, c = product()
    with pytest.raises(ArgumentError, match="expected a tensor of the schedule, got 3"):
        te.create_schedule(c.op).cache_read(3, "local", [c])
