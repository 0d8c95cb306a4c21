"""Traces: Python text and JSON that replay, other decisions, simplification."""

import json

import pytest

import tilewright as tvm
from tilewright import tir
from tilewright.error import ArgumentValueError, UnknownNameError
from tilewright.script import tir as T
from tilewright.tir import Schedule, Trace
from tilewright.tir.schedule import Instruction, InstructionKind, ScheduleError


@T.prim_func
def main(A: T.Buffer((16, 12), "float32"), B: T.Buffer((16, 12), "float32")):
    for i, j in T.grid(16, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


def scheduled():
    sch = Schedule(main, seed=3)
    i, j = sch.get_loops("B")
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [2, None])
    sch.reorder(i0, j0, i1, j1)
    sch.fuse(i1, j1)
    return sch


def test_text_executes_back():
    sch = scheduled()
    names = {"tir": tir}
    exec(str(sch.trace), names)
    again = Schedule(main)
    names["apply_trace"](again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)
    assert str(again.trace) == str(sch.trace)


def test_json_replays():
    sch = scheduled()
    text = json.dumps(sch.trace.as_json())
    again = Schedule(main)
    Trace.apply_json_to_schedule(json.loads(text), again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)
    assert str(again.trace) == str(sch.trace)
    assert json.dumps(again.trace.as_json()) == text


def test_json_says_what_is_wrong_with_it():
    with pytest.raises(ArgumentValueError, match=r"\[instructions, decisions\]"):
        Trace.apply_json_to_schedule(3, Schedule(main))
    with pytest.raises(ArgumentValueError, match="instruction 0 of the trace"):
        Trace.apply_json_to_schedule([[["split"]], []], Schedule(main))
    with pytest.raises(UnknownNameError, match="no schedule instruction 'shatter'"):
        Trace.apply_json_to_schedule([[["shatter", [], [], []]], []], Schedule(main))
    with pytest.raises(ArgumentValueError, match="uses b0 before"):
        form = [[["get_loops", [{"rv": "b0"}], [], []]], []]
        Trace.apply_json_to_schedule(form, Schedule(main))


def test_queries_that_nobody_uses_are_simplified_away():
    sch = Schedule(main)
    sch.get_block("B")
    i, _ = sch.get_loops("B")
    sch.split(i, [4, 4])
    sch.get_loops("B")
    kept = [inst.kind.name for inst in sch.trace.simplified()]
    assert kept == ["get_block", "get_loops", "split"]


def test_pop_removes_the_last_instruction_of_one_copy_only():
    sch = scheduled()
    copy = sch.trace.copy()
    assert copy.pop().kind.name == "fuse"
    assert len(copy) == len(sch.trace) - 1
    assert Trace().pop() is None


def test_an_instruction_made_by_hand_replays():
    sch = scheduled()
    trace = Trace()
    block, i, j = (inst_output for inst_output in (tir.BlockRV(), tir.LoopRV(), tir.LoopRV()))
    get = InstructionKind.get
    trace.append(Instruction(get("get_block"), [], ["B", "main"], [block]))
    trace.append(Instruction(get("GetLoops"), [block], [], [i, j]))
    trace.append(
        Instruction(get("split"), [i, [None, 4]], [True, False], [tir.LoopRV(), tir.LoopRV()])
    )
    again = Schedule(main)
    trace.apply_to_schedule(again)
    assert [again.get(loop).extent.value for loop in again.get_loops("B")] == [4, 4, 12]
    assert str(trace).splitlines()[2:] == str(sch.trace).splitlines()[2:5]


def test_text_of_a_trace_without_instructions_executes():
    names = {"tir": tir}
    exec(str(Trace()), names)
    names["apply_trace"](Schedule(main))


@T.prim_func
def transposed(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 16), "float32")):
    for i, j in T.grid(24, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * T.float32(2)


def packed(decision, *, variadic=False):
    sch = Schedule(transposed)
    width = sch.sample_categorical([4, 8], [1.0, 1.0], decision=decision)
    if variadic:
        layout = tir.IndexMap.from_func(lambda *v: (v[0] // width, v[1], v[0] % width), 2)
    else:
        layout = lambda i, j: (i // width, j, i % width)  # noqa: E731
    sch.reindex_cache_read("B", "A", "global", layout)
    return sch


@pytest.mark.parametrize("variadic", [False, True])
def test_an_index_map_in_terms_of_sampled_numbers_follows_other_decisions(variadic):
    sch = packed(0, variadic=variadic)
    assert "(6, 16, 4)" in sch.mod.script()
    sampling = next(inst for inst in sch.trace if inst.kind.name == "sample_categorical")
    again = Schedule(transposed)
    sch.trace.with_decision(sampling, 1).apply_to_schedule(again)
    tvm.ir.assert_structural_equal(again.mod, packed(1).mod)
    form = json.loads(json.dumps(again.trace.as_json()))
    from_json, from_text, names = Schedule(transposed), Schedule(transposed), {"tir": tir}
    Trace.apply_json_to_schedule(form, from_json)
    exec(str(again.trace), names)
    names["apply_trace"](from_text)
    for other in (from_json, from_text):
        tvm.ir.assert_structural_equal(other.mod, again.mod)
        assert other.trace.as_json() == form
    assert sampling in sch.trace.simplified().insts


def test_names_of_indices_do_not_hide_sampled_numbers():
    sch = Schedule(transposed)
    width = sch.sample_categorical([4, 8], [1.0, 1.0], decision=0)
    sch.reindex_cache_read("B", "A", "global", lambda v0, j: (v0 // width, j, v0 % width))
    again, names = Schedule(transposed), {"tir": tir}
    exec(str(sch.trace), names)
    names["apply_trace"](again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)


def test_names_of_indices_are_kept_in_json():
    sch = Schedule(main)
    sch.transform_layout("B", "B", lambda m, n: [m // 4, n, m % 4])
    again = Schedule(main)
    Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert "index_map=lambda m, n:" in str(again.trace)
    assert str(again.trace) == str(sch.trace)


def test_a_message_and_its_script_agree_on_the_name():
    sch = Schedule(main.with_attr("global_symbol", "double"))
    with pytest.raises(ScheduleError, match=r"`main` has root, B") as caught:
        sch.get_block("X")
    assert "def main(" in str(caught.value)
    assert "double" not in str(caught.value)
