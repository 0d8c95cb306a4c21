"""Which GPU threads store, and which go through all steps of a scan."""

import pytest
from tests.te.schedule.checking import check, lowered_text, random_array

import tilewright as tvm
from tilewright import te
from tilewright.error import TEScheduleError


def row_sums():
    x = te.placeholder((4, 12), name="X")
    k = te.reduce_axis((0, 12), "k")
    y = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    s = te.create_schedule(y.op)
    partial = s.rfactor(y, s[y].split(k, 4)[1])
    rows, columns = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    s[y].bind(s[y].op.axis[0], rows)
    s[y].bind(s[y].op.reduce_axis[0], columns)
    s[partial].compute_at(s[y], s[y].op.reduce_axis[0])
    return s, x, y, partial, rows, columns


def test_one_thread_stores_what_all_have_reduced():
    s, x, y, _, _, columns = row_sums()
    s[y].set_store_predicate(columns.var.equal(0))
    value = random_array((4, 12))
    check(s, [x, y], [value], [value.sum(1)], native=False)


def test_shared_memory_that_all_threads_store():
    x = te.placeholder((4, 8), name="X")
    y = te.compute((4, 8), lambda i, j: x[i, j] + 1.0, name="Y")
    z = te.compute((4, 8), lambda i, j: y[i, 7 - j] * 2.0, name="Z")
    s = te.create_schedule(z.op)
    thread = te.thread_axis("threadIdx.x")
    s[z].bind(z.op.axis[1], thread)
    s[y].compute_at(s[z], z.op.axis[1])
    s[y].set_scope("shared")
    s[y].set_store_predicate(thread.var.equal(0))
    value = random_array((4, 8))
    check(s, [x, z], [value], [(value + 1)[:, ::-1] * 2], native=False)
    s[y].set_scope("local")
    with pytest.raises(TEScheduleError, match=r"each threadIdx.x has local memory of its own"):
        tvm.lower(s, [x, z])


def test_predicates_that_would_lose_elements():
    s, x, y, partial, rows, _ = row_sums()
    s[y].set_store_predicate(rows.var.equal(0))
    with pytest.raises(TEScheduleError, match=r"loop ax0 is bound to blockIdx.x, so each thread"):
        tvm.lower(s, [x, y])
    s, x, y, partial, *_ = row_sums()
    s[partial].set_store_predicate(te.var("n").equal(0))
    with pytest.raises(TEScheduleError, match="n is not a thread axis that a loop is bound to"):
        tvm.lower(s, [x, y])
    with pytest.raises(TEScheduleError, match="set_store_predicate on stage Y_repl: expected"):
        s[y].set_store_predicate(3)


def steps(other=0):
    x, state = te.placeholder((5, 8), name="X"), te.placeholder((5, 8), name="S")
    twice = te.compute(
        (5, 8), lambda t, i: state[t - 1, (i + other) % 8 if other else i] * 2.0, name="twice"
    )
    update = te.compute((5, 8), lambda t, i: twice[t, i] + x[t, i], name="U")
    first = te.compute((1, 8), lambda t, i: x[0, i], name="first")
    scan = te.scan(first, update, state, inputs=[x], name="steps")
    value = random_array((5, 8))
    expected = value.copy()
    for t in range(1, 5):
        expected[t] += expected[t - 1] * 2
    return x, first, twice, update, scan, value, expected


@pytest.mark.parametrize("known", [True, False])
def test_threads_go_through_all_steps(known):
    x, first, twice, update, scan, value, expected = steps()
    s = te.create_schedule(scan.op)
    block = te.thread_axis("blockIdx.x")
    thread = te.thread_axis((0, 4) if known else None, "threadIdx.x")
    s[scan].env_threads([block, thread])
    for tensor in (first, update):
        outer, inner = s[tensor].split(tensor.op.axis[1], 4)
        s[tensor].bind(outer, block)
        s[tensor].bind(inner, thread)
    s[twice].compute_at(s[update], s[update].leaf_iter_vars[-1])
    text = lowered_text(s, [x, scan])
    assert text.index('(2, thread="blockIdx.x")') < text.index("for steps_t in range(1, 5)")
    check(s, [x, scan], [value], [expected], native=False)


def test_threads_that_cannot_go_alone():
    x, _, twice, update, scan, _, _ = steps()
    s = te.create_schedule(scan.op)
    s[scan].env_threads(te.thread_axis((0, 4), "threadIdx.x"))
    with pytest.raises(TEScheduleError, match="stages twice and U of the scan have loops of their"):
        tvm.lower(s, [x, scan])
    x, _, twice, update, scan, _, _ = steps(other=1)
    s = te.create_schedule(scan.op)
    s[twice].compute_inline()
    s[scan].env_threads(te.thread_axis((0, 4), "threadIdx.x"))
    with pytest.raises(TEScheduleError, match="env_threads on stage steps: stage U reads"):
        tvm.lower(s, [x, scan])
    x, _, twice, _, scan, _, _ = steps()
    s = te.create_schedule(scan.op)
    s[twice].compute_inline()
    s[scan].env_threads(te.thread_axis("threadIdx.x"))
    with pytest.raises(TEScheduleError, match=r"no loop is bound to threadIdx.x"):
        tvm.lower(s, [x, scan])
    state = te.placeholder((5, 4), name="S")
    k = te.reduce_axis((0, 4), "k")
    update = te.compute((5, 4), lambda t, i: te.sum(state[t - 1, k], axis=k), name="U")
    scan = te.scan(te.compute((1, 4), lambda t, i: 1.0, name="first"), update, state, name="sum")
    s = te.create_schedule(scan.op)
    s[scan].env_threads(te.thread_axis((0, 4), "threadIdx.x"))
    with pytest.raises(TEScheduleError, match="stage U of the scan is a reduction"):
        tvm.lower(s, [scan])


def test_refusals():
    _, first, _, _, scan, _, _ = steps()
    s = te.create_schedule(scan.op)
    with pytest.raises(TEScheduleError, match=r"env_threads on stage first: only a te.scan has"):
        s[first].env_threads(te.thread_axis("threadIdx.x"))
    with pytest.raises(TEScheduleError, match=r"expected a te.thread_axis, got 'threadIdx.x'"):
        s[scan].env_threads(["threadIdx.x"])
