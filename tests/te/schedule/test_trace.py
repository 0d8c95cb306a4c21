"""Traces of schedules: what they say, and that they can be saved, changed and replayed.

`tests/te/conftest.py` replays the trace of each schedule that the other tests here lower.
"""

import json
import subprocess
import sys

import pytest
from tests.te.replaying import as_python, check_replays

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import ArgumentValueError, TEScheduleError, UnknownNameError
from tilewright.ir.structural import assert_structural_equal
from tilewright.te.schedule import schedule_to_prim_func


def product(size=64):
    a, b = te.placeholder((size, size), name="A"), te.placeholder((size, size), name="B")
    k = te.reduce_axis((0, size), "k")
    return a, b, te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


def blocked(s, c):
    cache = s.cache_write(c, "local")
    i, j = c.op.axis
    io, jo, _, ji = s[c].tile(i, j, 8, 16)
    s[cache].compute_at(s[c], jo)
    s[c].vectorize(ji)
    s[c].parallel(io)
    return s


def test_the_text():
    _, _, c = product()
    assert str(blocked(te.create_schedule(c.op), c).trace).split("\n") == [
        "# from tilewright import te, tir",
        "def apply_trace(sch: te.Schedule) -> None:",
        '  C = sch.get_tensor(name="C")',
        '  C_local = sch.cache_write(tensor=C, scope="local")',
        "  i, j = sch.get_loops(tensor=C)",
        "  i_outer, i_inner = sch[C].split(parent=i, factor=8)",
        "  j_outer, j_inner = sch[C].split(parent=j, factor=16)",
        "  sch[C].reorder(i_outer, j_outer, i_inner, j_inner)",
        "  sch[C_local].compute_at(parent=sch[C], scope=j_outer)",
        "  sch[C].vectorize(var=j_inner)",
        "  sch[C].parallel(var=i_outer)",
    ]


def test_a_saved_trace_applies_to_tensors_that_are_written_again():
    a, b, c = product()
    s = blocked(te.create_schedule(c.op), c)
    form = json.loads(json.dumps(s.trace.as_json()))
    again = product()
    other = te.create_schedule(again[-1].op)
    s.trace.apply_json_to_schedule(form, other)
    assert_structural_equal(
        schedule_to_prim_func(other, again), schedule_to_prim_func(s, [a, b, c]), map_free_vars=True
    )


def test_a_saved_trace_is_understood_in_another_process():
    _, _, c = product()
    form = json.dumps(blocked(te.create_schedule(c.op), c).trace.as_json())
    program = f"""
import json
from tests.te.schedule.test_trace import product, te, tir
c = product()[-1]
s = te.create_schedule(c.op)
tir.Trace.apply_json_to_schedule(json.loads({form!r}), s)
print(len(s[c].leaf_iter_vars))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout == "4\n", found.stderr


def test_a_trace_applies_to_other_sizes():
    _, _, c = product()
    args = product(32)
    other = te.create_schedule(args[-1].op)
    blocked(te.create_schedule(c.op), c).trace.apply_to_schedule(other)
    assert [leaf.dom.extent.value for leaf in other[args[-1]].leaf_iter_vars] == [4, 2, 8, 16]


def test_what_the_schedule_does_not_have():
    _, _, c = product()
    trace = blocked(te.create_schedule(c.op), c).trace
    other = te.create_schedule(te.compute((4,), lambda i: 1.0, name="D").op)
    with pytest.raises(ArgumentValueError, match="the schedule has 0 tensors called 'C'"):
        trace.apply_to_schedule(other)
    with pytest.raises(UnknownNameError, match="no step 'split'"):
        other.apply("split", {})
    blocks = tir.Schedule(te.create_prim_func(list(product())))
    with pytest.raises(ArgumentValueError, match=r"te\.get_tensor is not a step of a tir.Schedule"):
        trace.apply_to_schedule(blocks)


def test_tensors_of_one_name_are_told_apart():
    a = te.placeholder((8,), name="A")
    one = te.compute((8,), lambda i: a[i] + 1.0, name="T")
    two = te.compute((8,), lambda i: one[i] * 2.0, name="T")
    s = te.create_schedule(two.op)
    s[two].split(two.op.axis[0], 4)
    assert s.trace.as_python()[0] == 'T = sch.get_tensor(name="T", position=1)'
    s[one].unroll(one.op.axis[0])
    assert s.trace.as_python()[-2:] == [
        "i_1, = sch.get_loops(tensor=T_1)",
        "sch[T_1].unroll(var=i_1)",
    ]


def test_a_refused_step_changes_nothing_and_is_not_recorded():
    _, _, c = product()
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    (k,) = c.op.reduce_axis
    ko, ki = s[c].split(k, 4)
    s[c].reorder(i, j, ki, ko)
    before = str(s.trace), repr(s[c]), len(s[c].relations)
    with pytest.raises(TEScheduleError, match="consecutive"):
        s[c].fuse(i, j, ko)  # i and j could be fused
    assert (str(s.trace), repr(s[c]), len(s[c].relations)) == before


def test_other_decisions_give_other_schedules():
    a, b, c = product()
    s = te.create_schedule(c.op)
    s.seed(1)
    i, j = c.op.axis
    parts = s.sample_perfect_tile(i, n=2)
    lanes = s.sample_categorical([4, 8], [0.5, 0.5], decision=1)
    s[c].split(i, factor=parts[1])
    s[c].split(j, factor=lanes * 2)
    extents = [leaf.dom.extent.value for leaf in s[c].leaf_iter_vars]
    assert extents[0] * extents[1] == 64
    assert extents[2:4] == [4, 16]
    trace = s.trace
    tile, choice = trace.decisions
    changed = trace.with_decision(tile, [4, 16]).with_decision(choice, 0)
    for apply in (changed.apply_to_schedule, as_python(changed)):
        other = te.create_schedule(c.op)
        apply(other)
        found = [leaf.dom.extent.value for leaf in other[c].leaf_iter_vars]
        assert found[:4] == [4, 16, 8, 8]
        assert str(other.trace) == str(changed)
    tvm.lower(other, [a, b, c])


def test_a_sampling_that_is_refused():
    _, _, c = product()
    s = te.create_schedule(c.op)
    with pytest.raises(TEScheduleError, match="expected a loop of a stage, got 'i'"):
        s.sample_perfect_tile("i", n=2)
    n = te.var("n")
    x = te.compute((n,), lambda i: 1.0, name="X")
    s = te.create_schedule(x.op)
    with pytest.raises(TEScheduleError, match="sample_perfect_tile"):
        s.sample_perfect_tile(x.op.axis[0], n=2)
    assert len(s.trace) == 0


def test_sizes_and_threads_are_looked_up():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], nparts=n // 4)
    s[b].bind(outer, te.thread_axis("blockIdx.x"))
    s[b].bind(inner, te.thread_axis((0, 4), "threadIdx.x"))
    assert s.trace.as_python() == [
        'B = sch.get_tensor(name="B")',
        "i, = sch.get_loops(tensor=B)",
        'v2 = sch.get_var(source="n")',
        "i_outer, i_inner = sch[B].split(parent=i, nparts=(v2 // 4))",
        'blockIdx_x = te.thread_axis(tag="blockIdx.x", name="blockIdx.x")',
        "sch[B].bind(ivar=i_outer, thread_ivar=blockIdx_x)",
        'threadIdx_x = te.thread_axis(dom=[0, 4], tag="threadIdx.x", name="threadIdx.x")',
        "sch[B].bind(ivar=i_inner, thread_ivar=threadIdx_x)",
    ]


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (lambda v: tir.all(v < 1, v >= 0), "tir.And((v5 < 1), (v5 >= 0))"),
        (lambda v: tir.any(v.equal(0), v != v), "tir.Or((v5 == 0), (v5 != v5))"),
        (lambda v: tir.Not(v > 0), "tir.Not((v5 > 0))"),
        (lambda v: tir.const(True, "bool"), "True"),
    ],
)
def test_conditions(condition, text):
    x = te.placeholder((8, 32), name="X")
    k = te.reduce_axis((0, 32), "k")
    y = te.compute((8,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    s = te.create_schedule(y.op)
    thread = te.thread_axis("threadIdx.x")
    s[y].bind(k, thread)
    s[y].bind(y.op.axis[0], te.thread_axis("blockIdx.x"))
    s[y].set_store_predicate(condition(thread.var))
    assert s.trace.as_python()[-1] == f"sch[Y].set_store_predicate(predicate={text})"
    check_replays(s, lambda other, _: schedule_to_prim_func(other, [x, y]))


def test_intrinsics_are_known_by_name():
    x, y = te.placeholder((4,), name="x"), te.placeholder((4,), name="y")
    total = te.compute((4,), lambda i: x[i] + y[i], name="z")

    def declared():
        return te.decl_tensor_intrin(
            total.op,
            lambda _, outs: tir.call_extern("int32", "add", outs[0].access_ptr("w")),
            "add",
        )

    add = declared()
    p, q = te.placeholder((16,), name="P"), te.placeholder((16,), name="Q")
    r = te.compute((16,), lambda i: p[i] + q[i], name="R")
    s = te.create_schedule(r.op)
    _, inner = s[r].split(r.op.axis[0], 4)
    s[r].tensorize(inner, add)
    with pytest.raises(ArgumentValueError, match=r"TensorIntrin\(add\) of a trace has no form"):
        s.trace.as_json()
    te.TensorIntrin.register("test_trace.add", add, override=True)
    with pytest.raises(ArgumentValueError, match=r"there is an intrinsic .* already"):
        te.TensorIntrin.register("test_trace.add", declared())
    s = te.create_schedule(r.op)
    s[r].tensorize(s[r].split(r.op.axis[0], 4)[1], add)
    assert s.trace.as_python()[-1].endswith('tensor_intrin="test_trace.add")')
    other = te.create_schedule(r.op)
    other[r].tensorize(other[r].split(r.op.axis[0], 4)[1], "test_trace.add")
    assert_structural_equal(
        schedule_to_prim_func(other, [p, q, r]), schedule_to_prim_func(s, [p, q, r])
    )


def test_a_variable_that_is_in_no_shape_has_no_form_as_json():
    _, _, c = product()
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], te.var("bn"))
    with pytest.raises(ArgumentValueError, match="the argument bn of a trace has no form as JSON"):
        s.trace.as_json()


def test_a_normalized_schedule_goes_on_with_the_history():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((8,), lambda i: b[i] * 2.0, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_inline()
    normal = s.normalize()
    normal[c].split(c.op.axis[0], 4)
    other = te.create_schedule(c.op)
    normal.trace.apply_to_schedule(other)
    assert_structural_equal(
        schedule_to_prim_func(other, [a, c]), schedule_to_prim_func(normal, [a, c])
    )
    assert len(s.trace) == 2


def test_queries_without_use_are_left_out():
    _, _, c = product()
    s = te.create_schedule(c.op)
    s.get_axes(c)
    assert len(s.trace) == 2
    assert len(s.trace.simplified()) == 0
    assert s.history.is_empty


def test_factors_of_a_number():
    a, b, c = product()
    s = te.create_schedule(c.op)
    factors = s.sample_perfect_tile(16, n=2, decision=[2, 8])
    s[c].split(s[c].split(c.op.axis[0], factor=4)[0], factor=factors[1])
    assert "sch.sample_perfect_tile(loop=16, n=2, " in str(s.trace)
    check_replays(s, lambda other, twins: schedule_to_prim_func(other, [a, b, c]))
    with pytest.raises(TEScheduleError, match="expected a loop of a stage, got 0"):
        s.sample_perfect_tile(0, n=2)
