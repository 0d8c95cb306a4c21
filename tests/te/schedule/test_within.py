"""Schedules of tensors as steps of schedules of blocks.

`tests/te/conftest.py` makes a step of each schedule that the other tests here lower.
"""

import contextlib
import copy
import json
import random

import pytest
from tests.te.replaying import as_python
from tests.te.schedule.test_trace import product

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import (
    ArgumentValueError,
    RecordError,
    TEScheduleError,
    TVMError,
    UnknownNameError,
)
from tilewright.ir.structural import assert_structural_equal, structural_equal
from tilewright.te.schedule import schedule_to_prim_func
from tilewright.tir import ScheduleError, Trace
from tilewright.tune.decision import choices
from tilewright.tune.replay import Replayer, replayed

SIZE = 32


def tiled(tensors, seed=1):
    """A schedule with decisions to make, and its tensors."""
    c = tensors[-1]
    s = te.create_schedule(c.op)
    s.seed(seed)
    i, j = c.op.axis
    (k,) = c.op.reduce_axis
    rows = s.sample_perfect_tile(i, n=2, decision=[8, 4])
    depth = s.sample_categorical([2, 4, 8], [1, 1, 1], decision=1)
    io, ii = s[c].split(i, factor=rows[1])
    ko, ki = s[c].split(k, factor=depth)
    s[c].reorder(io, ko, ii, ki, j)
    s[c].vectorize(j)
    s[c].parallel(io)
    return s


@pytest.fixture
def tensors():
    return list(product(SIZE))


@pytest.fixture
def program(tensors):
    return te.create_prim_func(tensors)


@pytest.fixture
def applied(tensors, program):
    sch = tir.Schedule(program)
    tiled(tensors).apply_to(sch)
    return sch


def body(mod):
    return mod["main"].body


# --- the step -----------------------------------------------------------------------------------


def test_the_program_is_the_one_that_stages_make(tensors, program, applied):
    assert_structural_equal(
        body(applied.mod), schedule_to_prim_func(tiled(tensors), tensors).body, map_free_vars=True
    )
    assert applied.mod["main"].attrs == program.attrs
    assert applied.mod["main"].params == program.params


def test_the_trace_samples_first_and_reads_as_a_schedule_of_tensors(applied):
    assert str(applied.trace).split("\n") == [
        "# from tilewright import te, tir",
        "def apply_trace(sch: tir.Schedule) -> None:",
        "  v0, v1 = sch.sample_perfect_tile(loop=32, n=2, max_innermost_factor=16, "
        "decision=[8, 4])",
        "  v2 = sch.sample_categorical(candidates=[2, 4, 8], probs=[1, 1, 1], decision=1)",
        '  with te.Schedule.within(sch, func_name="main") as s:',
        '    C = s.get_tensor(name="C")',
        "    i, j, k = s.get_loops(tensor=C)",
        "    i_outer, i_inner = s[C].split(parent=i, factor=v1)",
        "    k_outer, k_inner = s[C].split(parent=k, factor=v2)",
        "    s[C].reorder(i_outer, k_outer, i_inner, k_inner, j)",
        "    s[C].vectorize(var=j)",
        "    s[C].parallel(var=i_outer)",
    ]


def test_the_trace_applies_in_all_its_forms(program, applied):
    form = json.loads(json.dumps(applied.trace.as_json()))
    for apply in (
        applied.trace.apply_to_schedule,
        as_python(applied.trace),
        lambda sch: Trace.apply_json_to_schedule(form, sch),
    ):
        sch = tir.Schedule(program)
        apply(sch)
        assert_structural_equal(sch.mod, applied.mod)
        assert str(sch.trace) == str(applied.trace)


def test_the_trace_is_about_a_function_of_any_name(tensors, applied):
    other = tvm.IRModule({"product": te.create_prim_func(tensors)})
    found = replayed(applied.trace.as_json(), other)
    assert_structural_equal(found.mod["product"].body, body(applied.mod), map_free_vars=True)


def test_other_decisions_give_other_programs(program, applied):
    replayer = Replayer(tvm.IRModule({"main": program}))
    tile, depth = (inst for inst in applied.trace if inst.kind.primitive.is_sampling)
    assert choices(replayer.before(applied.trace, depth), depth) == [0, 1, 2]
    assert [4, 8] in choices(replayer.before(applied.trace, tile), tile)
    changed = applied.trace.with_decision(tile, [2, 16]).with_decision(depth, 2)
    sch = replayer.replay(changed)
    extents = [loop.extent.value for loop in sch.state.tree("main").loops()]
    assert extents == [2, 16, 32, 4, 16, 8, 32]
    again = tir.Schedule(program)
    changed.apply_to_schedule(again)
    assert_structural_equal(body(again.mod), body(sch.mod), map_free_vars=True)


def test_steps_of_blocks_go_on(applied):
    sch = applied
    sch.unroll(sch.get_loops("C_update")[3])
    assert sch.trace.as_python()[-1].startswith("sch.unroll(")


def test_a_step_within_a_schedule_uses_its_numbers(tensors, program):
    sch = tir.Schedule(program, seed=1)
    lanes = sch.sample_categorical([4, 8], [1, 1], decision=1)
    with te.Schedule.within(sch) as s:
        c = s.get_tensor("C")
        i, j, _ = s.get_loops(c)
        rows = s.sample_perfect_tile(i, 2, decision=[16, 2])
        s[c].tile(i, j, rows[1], lanes * 2)
    assert [loop.extent.value for loop in sch.state.tree("main").loops()][:4] == [16, 2, 2, 16]
    assert len(sch.trace.decisions) == 2
    again = tir.Schedule(program)
    as_python(sch.trace)(again)
    assert str(again.trace) == str(sch.trace)


def test_tiles_of_loops_whose_extent_is_sampled(tensors, program):
    def nested(s, c):
        j = s[c].op.axis[1]
        width = s.sample_categorical([8, 16], [1, 1], decision=1)
        jo, ji = s[c].split(j, factor=width)
        parts = s.sample_perfect_tile(ji, 2, decision=[4, 4])
        s[c].split(ji, factor=parts[1])
        i, jo, *_ = s[c].leaf_iter_vars
        both = s[c].fuse(i, jo)
        s[c].split(both, factor=s.sample_perfect_tile(both, 2, decision=[16, 4])[1])
        s[c].fuse()  # a loop of one iteration

    one, other = tir.Schedule(program), tir.Schedule(program)
    s = te.create_schedule(tensors[-1].op)
    nested(s, tensors[-1])
    s.apply_to(one)
    with te.Schedule.within(other) as s:
        nested(s, s.outputs[0].output(0))
    assert str(one.trace) == str(other.trace)
    assert "sample_perfect_tile(loop=v0, n=2" in one.trace.as_python()[1]
    assert "loop=(32 * ((32 + (v0 - 1)) // v0))" in one.trace.as_python()[2]
    changed = one.trace.with_decision(one.trace.insts[0], 0)
    found = Replayer(tvm.IRModule({"main": program})).replay(changed)
    assert list(found.trace.decisions.values()) == [0, [2, 4], [32, 4]]
    extents = [loop.extent.value for loop in found.state.tree("main").loops()]
    assert extents == [1, 32, 4, 2, 4, 32]


def test_nothing_is_applied_if_the_statement_is_left_by_an_error(program):
    sch = tir.Schedule(program)
    with pytest.raises(TEScheduleError, match="consecutive"), te.Schedule.within(sch) as s:
        c = s.get_tensor("C")
        i, _, k = s.get_loops(c)
        s[c].fuse(i, k)
    assert not len(sch.trace)


def test_threads_that_reduce_together():
    x = te.placeholder((4, 12), name="X")
    k = te.reduce_axis((0, 12), "k")
    y = te.compute((4,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    s = te.create_schedule(y.op)
    _, ki = s[y].split(k, factor=4)
    part = s.rfactor(y, ki)
    s[y].bind(s[y].op.axis[0], te.thread_axis("blockIdx.x"))
    s[y].bind(s[y].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    s[part].compute_at(s[y], s[y].op.reduce_axis[0])
    sch = tir.Schedule(te.create_prim_func([x, y]))
    s.apply_to(sch)
    assert_structural_equal(
        body(sch.mod), schedule_to_prim_func(s, [x, y]).body, map_free_vars=True
    )


def test_a_continued_schedule(tensors, program):
    blocks = tir.Schedule(program)
    blocks.vectorize(blocks.get_loops("C")[1])
    only = te.create_schedule(tensors[-1].op)
    only.continue_with(blocks.trace)
    sch = tir.Schedule(program)
    only.apply_to(sch)
    assert_structural_equal(sch.mod, blocks.mod)

    after = tir.Schedule(schedule_to_prim_func(tiled(tensors), tensors))
    after.unroll(after.get_loops("C_update")[3])
    s = tiled(tensors)
    s.continue_with(after.trace)
    sch = tir.Schedule(program)
    s.apply_to(sch)
    assert_structural_equal(body(sch.mod), body(after.mod), map_free_vars=True)


# --- and back -----------------------------------------------------------------------------------


def test_a_schedule_of_tensors_from_a_trace(tensors, applied):
    s, args = te.Schedule.from_trace(applied.trace, tensors)
    assert args == tensors
    assert str(s.trace).split("\n")[2:] == [
        '  C = sch.get_tensor(name="C")',
        "  i, j, k = sch.get_loops(tensor=C)",
        "  i_outer, i_inner = sch[C].split(parent=i, factor=4)",
        "  k_outer, k_inner = sch[C].split(parent=k, factor=4)",
        "  sch[C].reorder(i_outer, k_outer, i_inner, k_inner, j)",
        "  sch[C].vectorize(var=j)",
        "  sch[C].parallel(var=i_outer)",
    ]
    assert_structural_equal(
        schedule_to_prim_func(s, args), schedule_to_prim_func(tiled(tensors), tensors)
    )
    s[args[-1]].unroll(s[args[-1]].leaf_iter_vars[3])  # it can go on


def test_a_schedule_of_tensors_from_a_trace_and_the_program(program, applied):
    s, args = te.Schedule.from_trace(applied, program)
    assert [arg.name for arg in args] == ["A", "B", "C"]
    tvm.lower(s, args)


def test_other_steps_of_the_trace_are_its_continuation(tensors, applied):
    lanes = applied.sample_categorical([1, 4], [1, 1], decision=1)
    applied.annotate(applied.get_loops("C_update")[0], "pragma_auto_unroll_max_step", lanes)
    s, args = te.Schedule.from_trace(applied, tensors)
    assert s.continuation is not None
    assert_structural_equal(
        schedule_to_prim_func(s, args).body, body(applied.mod), map_free_vars=True
    )


def test_a_trace_of_blocks_is_a_continuation_altogether(tensors, program):
    blocks = tir.Schedule(program)
    blocks.vectorize(blocks.get_loops("C")[1])
    s, args = te.Schedule.from_trace(blocks, tensors)
    assert_structural_equal(
        schedule_to_prim_func(s, args).body, body(blocks.mod), map_free_vars=True
    )


def test_traces_that_no_schedule_of_tensors_makes(program, tensors, applied):
    (*_, last) = applied.trace.insts
    undecided = Trace(applied.trace.insts, {})
    with pytest.raises(TEScheduleError, match="None is not a decision of sample_perfect_tile"):
        te.Schedule.from_trace(undecided, tensors)
    blocks = tir.Schedule(program)
    blocks.annotate(blocks.get_block("C"), "x", 1)
    with pytest.raises(TEScheduleError, match="the trace has get_block before"):
        te.Schedule.from_trace(Trace([*blocks.trace.insts, last]), tensors)


# --- what is refused ----------------------------------------------------------------------------


def test_what_the_step_makes_is_known_to_proofs(applied):
    rows, steps, *_ = applied.get_loops("C_update")
    assert applied.get(rows).kind is tir.ForKind.PARALLEL
    with pytest.raises(ScheduleError, match="the iterations of loop `k_outer` cannot run"):
        applied.parallel(steps)


def test_parameters_are_computed_completely():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((4,), lambda i: b[i] * 2.0, name="C")
    program = te.create_prim_func([a, b, c])
    for place in ("inline", "at"):
        s = te.create_schedule(c.op)
        if place == "inline":
            s[b].compute_inline()
        else:
            s[b].compute_at(s[c], c.op.axis[0])
        with pytest.raises(TEScheduleError, match="stage B: it is an output, which is computed"):
            s.apply_to(tir.Schedule(program))


def test_programs_of_other_tensors(tensors):
    x = te.placeholder((4,), name="X")
    other = te.create_prim_func([x, te.compute((4,), lambda i: x[i], name="Y")])
    with pytest.raises(ArgumentValueError, match="0 tensors called 'C'"):
        tiled(tensors).apply_to(tir.Schedule(other))
    scheduled = tir.Schedule(te.create_prim_func(tensors))
    scheduled.parallel(scheduled.get_loops("C")[0])
    with pytest.raises(TEScheduleError, match="loop i has been scheduled"):
        tiled(tensors).apply_to(scheduled)
    with pytest.raises(TEScheduleError, match="loop i has been scheduled"):
        te.Schedule.within(scheduled).__enter__()


def test_parameters_keep_their_layout(tensors, program):
    s = te.create_schedule(tensors[-1].op)
    s[tensors[-1]].transform_layout(lambda i, j: [j, i])
    with pytest.raises(TEScheduleError, match="C is a parameter, whose layout is given"):
        s.apply_to(tir.Schedule(program))


def test_a_step_of_tensors_is_none_of_blocks(tensors, program):
    with pytest.raises(ArgumentValueError, match=r"te\.get_tensor is not a step of a tir.Schedule"):
        tir.Schedule(program).apply("te.get_tensor", {"name": "C"})
    with pytest.raises(UnknownNameError, match=r"no step 'te\.apply_schedule'"):
        te.create_schedule(tensors[-1].op).apply("te.apply_schedule", {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": "x", "numbers": {}}, "`steps` are a list of instructions"),
        ({"steps": [], "numbers": []}, "`numbers` a dictionary"),
        ({"steps": [], "numbers": {1: 1}}, "from names to numbers"),
        ({"steps": [], "numbers": {"v0": 1.5}}, "1.5 is not an integer"),
        ({"steps": [["split", [], [], []]], "numbers": {}}, "a te.Schedule has no step 'split'"),
        ({"steps": [["te.unknown", [], [], []]], "numbers": {}}, "no schedule instruction"),
        ({"steps": [[1]], "numbers": {}}, "instruction 0 of the trace is not"),
        ({"steps": [["te.get_tensor", [], ["D"], ["D"]]], "numbers": {}}, "0 tensors called 'D'"),
        ({"steps": [["te.get_tensor", [], [], ["C"]]], "numbers": {}}, "get_tensor"),
    ],
)
def test_damaged_steps(program, arguments, message):
    with pytest.raises(TVMError, match=message):
        tir.Schedule(program).apply("te.apply_schedule", {"func_name": "main", **arguments})


def damaged(form, rng):
    """A copy with one part replaced, doubled or left out."""
    form = copy.deepcopy(form)
    parent, places = None, [(form, n) for n in range(len(form))]
    for _ in range(rng.randrange(1, 8)):
        parent, last = rng.choice(places)
        inner = parent[last]
        keys = range(len(inner)) if isinstance(inner, list) else inner
        keys = keys if isinstance(inner, (list, dict)) else ()
        places = [(inner, key) for key in keys] or places
    kind = rng.randrange(4)
    if kind == 0:
        del parent[last]
    elif kind == 1 and isinstance(parent, list):
        parent.insert(last, copy.deepcopy(parent[last]))
    else:
        parent[last] = rng.choice(["", "C", "v9", None, True, -1, 2**70, 1.5, [], {}, {"rv": "C"}])
    return form


def test_damaged_traces_raise_errors_of_records(program, applied):
    rng, form = random.Random(1), applied.trace.as_json()
    mod, same = tvm.IRModule({"main": program}), 0
    for _ in range(300):
        with contextlib.suppress(RecordError):
            found = replayed(damaged(form, rng), mod)
            same += structural_equal(found.mod, applied.mod)
    assert same < 150
