"""Each primitive of a state is what it stands for in te."""

import math

import numpy as np
import pytest
from tests.auto_scheduler.computations import MatmulReLU
from tests.te.replaying import check_replays
from tests.te.schedule.checking import check, lowered_text, random_array

import tilewright as tvm
from tilewright import te
from tilewright.auto_scheduler import ComputeDAG
from tilewright.auto_scheduler.loop_state import State
from tilewright.error import ArgumentError
from tilewright.te.schedule import schedule_to_prim_func


def split(state, p):
    state.split(p.D, state[p.D].iters[0], [3, 2])


def te_split(s, p):
    rest, _ = s[p.D].split(p.D.op.axis[0], factor=2)
    s[p.D].split(rest, factor=3)


def split_from_outside(state, p):
    state.split(p.D, state[p.D].iters[1], [2, 4], inner_to_outer=False)


def te_split_from_outside(s, p):
    _, rest = s[p.D].split(p.D.op.axis[1], nparts=2)
    s[p.D].split(rest, nparts=4)


def follow_split(state, p):
    state.split(p.D, state[p.D].iters[0], [2, 3, 1])
    state.follow_split(p.C, state[p.C].iters[0], 0, 2)


def te_follow_split(s, p):
    i = p.D.op.axis[0]
    for factor in (1, 3, 2):
        i, _ = s[p.D].split(i, factor=factor)
    rest, _ = s[p.C].split(p.C.op.axis[0], factor=3)
    s[p.C].split(rest, factor=2)


def follow_fused_split(state, p):
    i, j = state[p.D].iters
    i0, _ = state.split(p.D, i, [3])
    j0, _ = state.split(p.D, j, [4])
    fused = state.fuse(p.C, state[p.C].iters[:2])
    outer, inner = state.follow_fused_split(p.C, fused, [0, 1], 0, True)
    assert (i0.name, j0.name, outer.name, inner.name) == ("i.0", "j.0", "i@j@.0", "i@j@.1")


def te_follow_fused_split(s, p):
    s[p.D].split(p.D.op.axis[0], factor=3)
    s[p.D].split(p.D.op.axis[1], factor=4)
    s[p.C].split(s[p.C].fuse(*p.C.op.axis), factor=12)


def follow_fused_split_by_parts(state, p):
    state.split(p.D, 0, [3])
    state.split(p.D, 2, [4])
    state.follow_fused_split(p.C, state.fuse(p.C, [0, 1]), [0, 1], 0, False)


def te_follow_fused_split_by_parts(s, p):
    s[p.D].split(p.D.op.axis[0], factor=3)
    s[p.D].split(p.D.op.axis[1], factor=4)
    s[p.C].split(s[p.C].fuse(*p.C.op.axis), nparts=12)


def fuse_and_parallel(state, p):
    fused = state.fuse(p.D, state[p.D].iters)
    assert state.parallel(p.D, fused).annotation == "parallel"


def te_fuse_and_parallel(s, p):
    s[p.D].parallel(s[p.D].fuse(*p.D.op.axis))


def reorder(state, p):
    i, j, k = state[p.C].iters
    state.reorder(p.C, [k, j, i])


def te_reorder(s, p):
    i, j = p.C.op.axis
    s[p.C].reorder(*p.C.op.reduce_axis, j, i)


def reorder_some(state, p):
    i, _, k = state[p.C].iters
    state.reorder(p.C, [k, i])


def te_reorder_some(s, p):
    s[p.C].reorder(*p.C.op.reduce_axis, p.C.op.axis[0])


def vectorize_and_unroll(state, p):
    i, j = state[p.D].iters
    state.vectorize(p.D, j)
    state.unroll(p.D, i)
    state.unroll(p.C, 2, max_unroll=16)


def te_vectorize_and_unroll(s, p):
    s[p.D].vectorize(p.D.op.axis[1])
    s[p.D].unroll(p.D.op.axis[0])


def pragma(state, p):
    state.pragma(p.C, state[p.C].iters[0], "auto_unroll_max_step$64")
    state.pragma(p.D, 0, "a_mark_of_my_own")


def te_pragma(s, p):
    s[p.C].pragma(p.C.op.axis[0], "auto_unroll_max_step", 64)
    s[p.C].pragma(p.C.op.axis[0], "unroll_explicit", True)
    s[p.D].pragma(p.D.op.axis[0], "a_mark_of_my_own")


def bind(state, p):
    for stage in (p.C, p.D):
        i, j = state[stage].iters[:2]
        assert state.bind(stage, i, "blockIdx.x").annotation == "blockIdx.x"
        state.bind(stage, j, "threadIdx.x")


def te_bind(s, p):
    for stage in (p.C, p.D):
        s[stage].bind(stage.op.axis[0], te.thread_axis("blockIdx.x"))
        s[stage].bind(stage.op.axis[1], te.thread_axis("threadIdx.x"))


def storage_align(state, p):
    state.storage_align(p.C, state[p.C].iters[0], 32, 1)


def te_storage_align(s, p):
    s[p.C].storage_align(p.C.op.axis[0], 32, 1)


def compute_at(state, p):
    state.compute_at(p.C, p.D, state[p.D].iters[0])


def te_compute_at(s, p):
    s[p.C].compute_at(s[p.D], p.D.op.axis[0])


def compute_root(state, p):
    compute_at(state, p)
    state.compute_root(p.C)


def te_compute_root(s, p):
    te_compute_at(s, p)
    s[p.C].compute_root()


def cache_read(state, p):
    copy = state.cache_read(p.A, "local", [p.C])
    state.compute_at(copy, p.C, state[p.C].iters[0])


def te_cache_read(s, p):
    copy = s.cache_read(p.A, "local", [p.C])
    s[copy].compute_at(s[p.C], p.C.op.axis[0])


def cache_write(state, p):
    cache = state.cache_write(p.C, "local")
    state.compute_at(cache, p.C, state[p.C].iters[1])


def te_cache_write(s, p):
    cache = s.cache_write(p.C, "local")
    s[cache].compute_at(s[p.C], s[p.C].op.axis[1])


def rfactor(state, p):
    _, inner = state.split(p.C, state[p.C].iters[2], [4])
    partial = state.rfactor(p.C, inner, 2)
    state.vectorize(partial, state[partial].iters[2])


def te_rfactor(s, p):
    _, inner = s[p.C].split(p.C.op.reduce_axis[0], factor=4)
    partial = s.rfactor(p.C, inner, 2)
    s[partial].vectorize(s[partial].leaf_iter_vars[2])


PRIMITIVES = {
    "split": (split, te_split),
    "split from outside": (split_from_outside, te_split_from_outside),
    "follow_split": (follow_split, te_follow_split),
    "follow_fused_split": (follow_fused_split, te_follow_fused_split),
    "follow_fused_split by parts": (follow_fused_split_by_parts, te_follow_fused_split_by_parts),
    "fuse and parallel": (fuse_and_parallel, te_fuse_and_parallel),
    "reorder": (reorder, te_reorder),
    "reorder some": (reorder_some, te_reorder_some),
    "vectorize and unroll": (vectorize_and_unroll, te_vectorize_and_unroll),
    "pragma": (pragma, te_pragma),
    "bind": (bind, te_bind),
    "storage_align": (storage_align, te_storage_align),
    "compute_at": (compute_at, te_compute_at),
    "compute_root": (compute_root, te_compute_root),
    "cache_read": (cache_read, te_cache_read),
    "cache_write": (cache_write, te_cache_write),
    "rfactor": (rfactor, te_rfactor),
}


@pytest.mark.parametrize("name", PRIMITIVES)
def test_it_is_the_same_program_as_in_te(name):
    apply, apply_in_te = PRIMITIVES[name]
    p = MatmulReLU()
    state, schedule = p.state(), p.schedule()
    plain = lowered_text(p.schedule(), p.args)
    apply(state, p)
    apply_in_te(schedule, p)
    text = lowered_text(state.schedule, p.args)
    assert text == lowered_text(schedule, p.args)
    assert (text == plain) == (name == "compute_root")


@pytest.mark.parametrize("name", [name for name in PRIMITIVES if name != "bind"])
def test_the_result_is_right(name):
    p = MatmulReLU()
    state = p.state()
    PRIMITIVES[name][0](state, p)
    p.check(state)


def test_inlined():
    a = te.placeholder((6, 8), name="A")
    b = te.compute((6, 8), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((6, 8), lambda i, j: b[i, j] * 2.0, name="C")
    state = State(te.create_schedule(c.op))
    state.compute_inline(b)
    assert state[b].compute_at == "inlined"
    assert " B" not in lowered_text(state.schedule, [a, c])
    value = random_array((6, 8))
    check(state.schedule, [a, c], [value], [(value + 1) * 2])


def test_a_cache_of_several_results():
    a = te.placeholder((6, 8), name="A")
    two = te.compute((6, 8), lambda i, j: (a[i, j] + 1.0, a[i, j] * 2.0), name="T")
    state = State(te.create_schedule(two[0].op))
    cache = state.cache_write(two[0], "global")
    assert len(cache.outputs) == 2
    state.compute_at(cache, two[0], 0)
    value = random_array((6, 8))
    check(state.schedule, [a, *two], [value], [value + 1, value * 2])


def test_free_lengths_are_decisions():
    p = MatmulReLU()
    state = p.state()
    parts = state.split(p.D, state[p.D].iters[1], [None, None])
    state.follow_split(p.C, state[p.C].iters[1], 0, 1)
    assert [part.range for part in parts] == [None] * 3
    trace = state.schedule.trace
    ((sampling, decision),) = trace.decisions.items()
    assert decision[0] * decision[1] * decision[2] == p.columns
    other = p.schedule()
    trace.with_decision(sampling, [2, 3, 4]).apply_to_schedule(other)
    expected = p.schedule()
    rest, _ = expected[p.D].split(p.D.op.axis[1], factor=4)
    expected[p.D].split(rest, factor=3)
    expected[p.C].split(p.C.op.axis[1], factor=12)
    assert lowered_text(other, p.args) == lowered_text(expected, p.args)
    p.check(state)


@pytest.mark.parametrize("inner_to_outer", [True, False])
def test_some_lengths_are_free(inner_to_outer):
    p = MatmulReLU()
    state = p.state()
    parts = state.split(p.D, state[p.D].iters[1], [None, 3, None], inner_to_outer)
    extents = [None if part.range is None else int(part.range.extent) for part in parts]
    assert extents == ([None, None, 3, None] if inner_to_outer else [None, 3, None, None])
    ((_, decision),) = state.schedule.trace.decisions.items()
    assert math.prod(decision) == p.columns // 3
    loops = [int(part.loop.dom.extent) for part in parts]
    assert math.prod(loops) == p.columns
    assert [n for n in loops if n in decision or n == 3] == loops
    p.check(state)


def test_the_bounds_of_a_stage_in_a_loop():
    p = MatmulReLU()
    state = p.state()
    i0, _ = state.split(p.D, state[p.D].iters[0], [4])
    state.compute_at(p.C, p.D, i0)
    assert [it.range for it in state[p.C].iters] == [None, None, None]
    known = state.with_bounds()
    assert [int(it.range.extent) for it in known[p.C].iters] == [4, p.columns, p.depth]
    assert [it.range for it in state[p.C].iters] == [None, None, None]
    known.unroll(p.C, known[p.C].iters[0])
    assert known[p.C].iters[0].range is None, "a step may change what is needed"


def test_a_copy_goes_on_alone():
    p = MatmulReLU()
    state = p.state()
    i, j = state[p.D].iters
    twin = state.copy()
    twin.split(p.D, i, [4])
    state.parallel(p.D, i)
    assert [len(state.transform_steps), len(twin.transform_steps)] == [1, 1]
    assert [it.name for it in twin[p.D].iters] == ["i.0", "i.1", "j"]
    assert twin[p.D].iters[0].annotation == "none"
    assert [it.annotation for it in state[p.D].iters] == ["parallel", "none"]
    twin.vectorize(p.D, j)
    p.check(twin)
    assert "get_tensor" in str(twin.schedule.trace)
    wrapped = State(twin.state_object)
    wrapped.unroll(p.D, 0)
    assert len(twin.transform_steps) == 2


def test_the_trace_of_a_copy_names_everything_once():
    p = MatmulReLU()
    state = p.state()
    state.split(p.D, 0, [4])
    twin = state.copy()
    twin.unroll(p.D, 1)
    assert str(twin.schedule.trace).count("get_loops") == 1
    check_replays(twin.schedule, lambda s, twins: schedule_to_prim_func(s, p.args))


def test_stages_are_numbered():
    p = MatmulReLU()
    state = p.state()
    assert [stage.name for stage in state.stages] == ["A", "B", "C", "D"]
    copy = state.cache_read(p.A, "shared", [p.C])
    cache = state.cache_write(p.C, "local")
    assert [stage.name for stage in state.stages] == [
        "A", "A.shared", "B", "C.local", "C", "D",
    ]  # fmt: skip
    assert state.stage_id_map[copy] == 1
    assert state.stage_id_map[cache] == 3
    assert state.stage_ops[3] is cache
    assert state[p.C].op is state.stage_ops[4]
    assert state[3].name == "C.local"


def test_built_and_run():
    p = MatmulReLU()
    state = p.state()
    i, j = state[p.D].iters
    io, ii = state.split(p.D, i, [4])
    jo, ji = state.split(p.D, j, [8])
    state.reorder(p.D, [io, jo, ii, ji])
    state.compute_at(p.C, p.D, jo)
    ic, jc, kc = state[p.C].iters
    state.reorder(p.C, [kc, ic, jc])
    state.vectorize(p.C, jc)
    state.vectorize(p.D, ji)
    state.parallel(p.D, state.fuse(p.D, [io, jo]))
    function = tvm.build(state.schedule, p.args, "llvm")
    a, b = random_array((p.rows, p.depth)), random_array((p.depth, p.columns), seed=1)
    d = np.empty((p.rows, p.columns), "float32")
    function(a, b, d)
    np.testing.assert_array_equal(d, np.maximum(a @ b, 0))


def test_threads_of_a_device():
    p = MatmulReLU()
    state = p.state()
    i, j = state[p.D].iters
    i0, i1 = state.split(p.D, i, [4])
    j0, jv, j1 = state.split(p.D, j, [2, 6])
    state.reorder(p.D, [i0, j0, jv, i1, j1])
    state.compute_at(p.C, p.D, j1)
    threads = ("blockIdx.y", "blockIdx.x", "vthread", "threadIdx.y", "threadIdx.x")
    for iterator, name in zip((i0, j0, jv, i1, j1), threads, strict=True):
        state.bind(p.D, iterator, name)
    shared = state.cache_read(p.A, "shared", [p.C])
    state.compute_at(shared, p.D, jv)
    _, lane = state.split(shared, state.fuse(shared, state[shared].iters), [6])
    state.bind(shared, lane, "threadIdx.x")

    function, device = tvm.build(state.schedule, p.args, "opencl"), tvm.opencl(0)
    a, b = random_array((p.rows, p.depth)), random_array((p.depth, p.columns), seed=1)
    d = tvm.nd.empty((p.rows, p.columns), "float32", device)
    function(tvm.nd.array(a, device), tvm.nd.array(b, device), d)
    np.testing.assert_array_equal(d.numpy(), np.maximum(a @ b, 0))


class TestTheComputation:
    """What a `ComputeDAG` does with states."""

    def test_a_state_becomes_a_schedule(self):
        p = MatmulReLU()
        dag = ComputeDAG(p.args)
        state = dag.get_init_state()
        assert state.stage_ops == dag.ops
        state.parallel(p.D, 0)
        schedule, args = dag.apply_steps_from_state(state)
        assert args == p.args
        schedule[p.D].vectorize(p.D.op.axis[1])
        assert state[p.D].iters[1].annotation == "none"
        assert "T.parallel" in lowered_text(schedule, args)

    def test_a_state_of_equal_tensors_becomes_a_schedule(self):
        p, other = MatmulReLU(), MatmulReLU()
        state = ComputeDAG(other.args).get_init_state()
        split(state, other)
        schedule, args = ComputeDAG(p.args).apply_steps_from_state(state)
        assert args == p.args
        assert lowered_text(schedule, args) == lowered_text(state.schedule, other.args)

    def test_the_python_of_a_state_repeats_it(self):
        p = MatmulReLU()
        dag = ComputeDAG(p.args)
        state = dag.get_init_state()
        cache_write(state, p)
        text = dag.print_python_code_from_state(state)
        assert "def apply_trace(sch: te.Schedule)" in text
        names = {}
        exec(text, {"te": te}, names)
        again = p.schedule()
        names["apply_trace"](again)
        assert lowered_text(again, p.args) == lowered_text(state.schedule, p.args)

    def test_bounds(self):
        p = MatmulReLU()
        dag = ComputeDAG(p.args)
        state = dag.get_init_state()
        compute_at(state, p)
        (row, *_) = dag.infer_bound_from_state(state)[p.C].iters
        assert row.range.extent.value == 1
        with pytest.raises(ArgumentError, match="expected a State"):
            dag.infer_bound_from_state(state.schedule)
