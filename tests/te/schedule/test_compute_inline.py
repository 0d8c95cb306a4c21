"""Stages that are part of the expressions that read them."""

import numpy as np
import pytest
from tests.te.schedule.checking import check, lowered_text, random_array

import tilewright as tvm
from tilewright import te
from tilewright.error import TEScheduleError


def chain():
    x = te.placeholder((6, 8), name="X")
    y = te.compute((6, 8), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((8, 6), lambda i, j: y[j, i] * 2.0, name="Z")
    k = te.reduce_axis((0, 6), "k")
    w = te.compute((8,), lambda i: te.sum(z[i, k] * y[k, 7 - i], axis=k), name="W")
    value = random_array((6, 8))
    expected = ((value + 1).T * 2 * (value + 1).T[::-1]).sum(1)
    return x, y, z, w, value, expected


@pytest.mark.parametrize("names", ["Y", "Z", "YZ"])
def test_expressions_take_the_place_of_elements(names):
    x, y, z, w, value, expected = chain()
    s = te.create_schedule(w.op)
    for tensor in (y, z):
        if tensor.name in names:
            s[tensor].compute_inline()
    text = lowered_text(s, [x, w])
    assert all(f"{name} = T.allocate" not in text for name in names)
    check(s, [x, w], [value], [expected])


def test_the_schedule_itself_keeps_its_operations():
    x, y, _, w, value, expected = chain()
    s = te.create_schedule(w.op)
    s[y].compute_inline()
    check(s, [x, w], [value], [expected])
    s[y].compute_root()
    assert "Y = T.allocate" in lowered_text(s, [x, w])
    check(s, [x, w], [value], [expected])


def test_one_of_several_results():
    x = te.placeholder((4,), name="X")
    y, z = te.compute((4,), lambda i: (x[i] + 1.0, x[i] * 2.0), name="Y")
    w = te.compute((4,), lambda i: y[i] * z[3 - i], name="W")
    s = te.create_schedule(w.op)
    s[y].compute_inline()
    value = random_array((4,))
    check(s, [x, w], [value], [(value + 1) * (value * 2)[::-1]])


def test_a_reduction_of_pairs():
    x = te.placeholder((3, 7), name="X")
    y = te.compute((3, 7), lambda i, j: 0.0 - x[i, j], name="Y")
    k = te.reduce_axis((0, 7), "k")
    argmax = te.comm_reducer(
        lambda a, b: (te.select(a[1] >= b[1], a[0], b[0]), te.max(a[1], b[1])),
        lambda index, value: (te.const(-1, index), te.const(float("-inf"), value)),
    )
    where, best = te.compute((3,), lambda i: argmax((k.var, y[i, k]), axis=k), name="M")
    s = te.create_schedule(where.op)
    s[y].compute_inline()
    value = np.random.default_rng(3).permutation(21).reshape(3, 7).astype("float32")
    check(s, [x, where, best], [value], [value.argmin(1).astype("int32"), -value.min(1)])


def test_a_parameter_that_is_inlined_is_not_written():
    x, y, _, w, _, _ = chain()
    s = te.create_schedule(w.op)
    s[y].compute_inline()
    assert "Y[" not in lowered_text(s, [x, y, w])


def test_inlining_into_a_scan():
    state, x = te.placeholder((5, 3), name="S"), te.placeholder((5, 3), name="X")
    twice = te.compute((5, 3), lambda t, i: state[t - 1, i] * 2.0, name="twice")
    update = te.compute((5, 3), lambda t, i: twice[t, i] + x[t, i], name="U")
    out = te.scan(te.compute((1, 3), lambda _, i: x[0, i], name="first"), update, state)
    s = te.create_schedule(out.op)
    s[twice].compute_inline()
    value = random_array((5, 3))
    expected = value.copy()
    for t in range(1, 5):
        expected[t] += expected[t - 1] * 2
    check(s, [x, out], [value], [expected])


def test_what_an_extern_reads_cannot_be_inlined():
    x = te.placeholder((4,), name="X")
    y = te.compute((4,), lambda i: x[i] + 1.0, name="Y")
    z = te.extern(
        (4,), [y], lambda ins, outs: tvm.tir.call_packed("sort", ins[0], outs[0]), name="Z"
    )
    s = te.create_schedule(z.op)
    s[y].compute_inline()
    with pytest.raises(TEScheduleError, match="on stage Y: Z reads it as a whole"):
        tvm.lower(s, [x, z])


MISTAKES = [
    (lambda s, x, w: s[w].compute_inline(), "it is an output"),
    (lambda s, x, w: s[x].compute_inline(), "it is an input"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_refusals(mistake, message):
    x, _, _, w, _, _ = chain()
    with pytest.raises(TEScheduleError, match="compute_inline on stage .*" + message):
        mistake(te.create_schedule(w.op), x, w)


def test_a_reduction_cannot_be_inlined():
    x = te.placeholder((4, 4), name="X")
    k = te.reduce_axis((0, 4), "k")
    y = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    s = te.create_schedule(te.compute((4,), lambda i: y[i] * 2.0, name="Z").op)
    with pytest.raises(TEScheduleError, match="it is a reduction"):
        s[y].compute_inline()


def test_an_extern_cannot_be_inlined():
    x = te.placeholder((4,), name="X")
    y = te.extern((4,), [x], lambda ins, outs: tvm.tir.call_packed("sort", ins[0], outs[0]))
    s = te.create_schedule(te.compute((4,), lambda i: y[i] * 2.0, name="Z").op)
    with pytest.raises(TEScheduleError, match=r"only a te.compute can be inlined"):
        s[y].compute_inline()
