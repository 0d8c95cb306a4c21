"""Tensors in the layouts that a schedule chooses."""

import numpy as np
import pytest
from tests.te.schedule.checking import check, lowered_text, random_array

import tilewright as tvm
from tilewright import te
from tilewright.error import TEScheduleError
from tilewright.te.schedule import schedule_to_prim_func


def chain(n=6, m=8):
    x = te.placeholder((n, m), name="X")
    y = te.compute((n, m), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((n, m), lambda i, j: y[i, m - 1 - j] * 2.0, name="Z")
    return x, y, z, random_array((n, m))


def packed(i, j):
    return [j // 4, i, j % 4]


def pack(value):
    n, m = value.shape
    whole = np.zeros((n, -(-m // 4) * 4), "float32")
    whole[:, :m] = value
    return whole.reshape(n, -1, 4).transpose(1, 0, 2)


@pytest.mark.parametrize("m", [8, 10])
def test_an_intermediate_tensor(m):
    x, y, z, value = chain(m=m)
    s = te.create_schedule(z.op)
    loops = s[y].transform_layout(packed)
    assert [loop.name for loop in loops] == ["axis0", "i", "axis2"]
    assert [int(loop.dom.extent) for loop in loops] == [-(-m // 4), 6, 4]
    s[y].vectorize(loops[2])
    s[y].split(loops[1], 4)
    check(s, [x, z], [value], [(value[:, ::-1] + 1) * 2])


def test_the_text():
    x, y, z, _ = chain()
    s = te.create_schedule(z.op)
    s[y].transform_layout(packed)
    text = lowered_text(s, [x, z])
    assert 'Y = T.allocate([48], "float32", "global")' in text
    assert "for axis0, i, axis2 in T.grid(2, 6, 4):" in text
    assert "Y_1[axis0 * 24 + i * 4 + axis2] = X_1[i * 8 + axis0 * 4 + axis2]" in text


def test_parameters():
    x, _, z, value = chain()
    s = te.create_schedule(z.op)
    assert s[x].transform_layout(packed) == []
    s[z].transform_layout(lambda i, j: [j, i])
    func = schedule_to_prim_func(s, [x, z])
    shapes = [[int(e) for e in buffer.shape] for buffer in func.buffer_map.values()]
    assert shapes == [[2, 6, 4], [8, 6]]
    check(s, [x, z], [np.ascontiguousarray(pack(value))], [((value[:, ::-1] + 1) * 2).T])


def test_axis_separators():
    x, _, z, _ = chain()
    s = te.create_schedule(z.op)
    s[x].transform_layout(lambda i, j: [i, te.AXIS_SEPARATOR, j])
    (buffer, _) = schedule_to_prim_func(s, [x, z]).buffer_map.values()
    assert [int(axis) for axis in buffer.axis_separators] == [1]


def test_a_reduction():
    x = te.placeholder((6, 5), name="X")
    k = te.reduce_axis((0, 5), "k")
    y = te.compute((6, 6), lambda i, j: te.sum(x[i, k] * x[j, k], axis=k), name="Y")
    z = te.compute((6, 6), lambda i, j: y[j, i] + 1.0, name="Z")
    s = te.create_schedule(z.op)
    a, b, c = s[y].transform_layout(lambda i, j: [j // 4, i, j % 4])
    s[y].reorder(a, k, b, c)
    value = random_array((6, 5))
    check(s, [x, z], [value], [value @ value.T + 1])


def test_a_cache_in_the_order_of_the_layout():
    x, y, z, value = chain()
    s = te.create_schedule(z.op)
    s[y].transform_layout(packed)
    copy = s.cache_write(y, "local")
    assert [int(extent) for extent in copy.shape] == [2, 6, 4]
    check(s, [x, z], [value], [(value[:, ::-1] + 1) * 2])


def twice(s, y, z):
    s[y].transform_layout(packed)
    s[y].transform_layout(packed)


def after_split(s, y, z):
    s[y].split(y.op.axis[0], 2)
    s[y].transform_layout(packed)


MISTAKES = [
    (twice, "transform_layout on stage Y: the tensor is in another layout already"),
    (after_split, r"the loops \(i_outer, i_inner, j\) are not those of the operation"),
    (lambda s, y, z: s[y].transform_layout(lambda i, j: [i + j]), "the layout has no inverse"),
    (lambda s, y, z: s[y.op.input_tensors[0]].transform_layout(lambda i, j: [i]), "no inverse"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_refusals(mistake, message):
    _, y, z, _ = chain()
    with pytest.raises(TEScheduleError, match=message):
        mistake(te.create_schedule(z.op), y, z)


def test_an_extern_has_no_layout():
    x = te.placeholder((4,), name="X")
    y = te.extern((4,), [x], lambda ins, outs: tvm.tir.call_packed("f", ins[0], outs[0]), "Y")
    s = te.create_schedule(y.op)
    with pytest.raises(TEScheduleError, match=r"only a te.compute or an input has a layout"):
        s[y].transform_layout(lambda i: [i])
    s[x].transform_layout(lambda i: [i // 2, i % 2])
    with pytest.raises(TEScheduleError, match="on stage X: stage Y needs the usual layout of it"):
        tvm.lower(s, [x, y])


def test_places_that_need_the_usual_layout():
    x, y, z, _ = chain()
    s = te.create_schedule(z.op)
    s[y].transform_layout(packed)
    s[y].compute_at(s[z], z.op.axis[0])
    with pytest.raises(TEScheduleError, match="computed in loop i of stage Z, where it is a part"):
        tvm.lower(s, [x, z])
    s[y].compute_root()
    s[y].storage_align(y.op.axis[0], 4, 1)
    with pytest.raises(TEScheduleError, match="what else was asked for needs the usual layout"):
        tvm.lower(s, [x, z])
    s = te.create_schedule(z.op)
    s[y].transform_layout(packed)
    s[z].prefetch(y, z.op.axis[0], 1)
    with pytest.raises(TEScheduleError, match="on stage Y: stage Z prefetches the usual layout"):
        tvm.lower(s, [x, z])
    s = te.create_schedule(z.op)
    s[z].transform_layout(packed)
    given = tvm.tir.decl_buffer((6, 8), name="Z", strides=(16, 1))
    with pytest.raises(TEScheduleError, match="on stage Z: the layout of buffer Z is given"):
        schedule_to_prim_func(s, [x, z], binds={z: given})
