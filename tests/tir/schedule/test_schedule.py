"""The schedule itself: random variables, copies, blocks by name, errors."""

import pytest

import tilewright as tvm
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.convert import EMPTY, Attributes
from tilewright.ir.module import BaseFunc
from tilewright.ir.node import attr, node
from tilewright.script import ir as I
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def two_steps(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((8, 12))
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@I.ir_module
class TwoFunctions:
    @T.prim_func
    def first(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("a"):
                vi = T.axis.spatial(4, i)
                A[vi] = T.float32(1)

    @T.prim_func
    def second(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                A[vi] = T.float32(2)


def test_the_trace_prints_as_python():
    sch = Schedule(two_steps)
    _, j = sch.get_loops("B")
    sch.split(j, factors=[None, 5])
    assert str(sch.trace) == "\n".join(
        [
            "# from tilewright import tir",
            "def apply_trace(sch: tir.Schedule) -> None:",
            '  b0 = sch.get_block(name="B", func_name="main")',
            "  l1, l2 = sch.get_loops(block=b0)",
            "  l3, l4 = sch.split(loop=l2, factors=[None, 5], preserve_unit_iters=True, "
            "disable_predication=False)",
        ]
    )


def test_a_trace_replays_to_an_equal_program():
    sch = Schedule(two_steps)
    i, j = sch.get_loops("C")
    fused = sch.fuse(i, j)
    sch.split(fused, [None, 7])
    again = Schedule(two_steps)
    sch.trace.apply_to_schedule(again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)
    assert str(again.trace) == str(sch.trace)


def test_a_copy_is_independent_and_knows_the_random_variables():
    sch = Schedule(two_steps)
    i, j = sch.get_loops("B")
    copy = sch.copy()
    copy.split(i, [2, 4])
    assert len(sch.get_loops("B")) == 2
    assert len(copy.get_loops("B")) == 3
    assert sch.get(i).extent.value == 8
    sch.fuse(i, j)
    assert len(copy.get_loops("B")) == 3
    assert "fuse" in str(sch.trace)
    assert "fuse" not in str(copy.trace)


def test_a_loop_that_was_replaced_no_longer_exists():
    sch = Schedule(two_steps)
    i, j = sch.get_loops("B")
    sch.fuse(i, j)
    with pytest.raises(ScheduleError, match="no longer exists"):
        sch.get(i)
    with pytest.raises(ScheduleError, match="split: The loop no longer exists"):
        sch.split(i, [2, None])


def test_blocks_are_found_by_name_in_the_function_that_is_worked_on():
    sch = Schedule(TwoFunctions)
    with pytest.raises(ArgumentValueError, match="give func_name"):
        sch.get_block("a")
    assert sch.get(sch.get_block("b", func_name="second")).name_hint == "b"
    sch.work_on("first")
    assert sch.func_working_on.name_hint == "first"
    sch.split(sch.get_loops("a")[0], [2, 2])
    assert "i_0, i_1" in sch.mod["first"].script()
    assert "i_0" not in sch.mod["second"].script()


def test_an_unknown_block_is_named_with_those_that_exist():
    with pytest.raises(ScheduleError, match="Cannot find a block with the name: D"):
        Schedule(two_steps).get_block("D")


def test_arguments_of_the_wrong_kind_are_named():
    sch = Schedule(two_steps)
    with pytest.raises(ArgumentError, match="split: `loop` must be a LoopRV, got 3"):
        sch.split(3, [2, 4])
    with pytest.raises(ArgumentError, match="split: missing a required argument: 'factors'"):
        sch.split(sch.get_loops("B")[0])
    with pytest.raises(ArgumentError, match="`factors` must be an integer or an ExprRV"):
        sch.split(sch.get_loops("B")[0], ["two", 4])


def test_an_error_shows_the_script_with_the_place_underlined():
    sch = Schedule(two_steps)
    with pytest.raises(ScheduleError) as info:
        sch.split(sch.get_loops("B")[0], [2, 3])
    text = str(info.value)
    assert "the product of the factors, 6, is less than the extent of loop `i`, 8" in text
    assert "Counterexample: the iteration i = 6 would not be executed" in text
    assert "^^^^" in text
    terse = Schedule(two_steps, error_render_level="fast")
    with pytest.raises(ScheduleError) as info:
        terse.split(terse.get_loops("B")[0], [2, 3])
    assert "\n" not in str(info.value)


def test_how_blocks_are_related():
    sch = Schedule(two_steps)
    b, c = sch.get_block("B"), sch.get_block("C")
    assert [sch.get(x).name_hint for x in sch.get_consumers(b)] == ["C"]
    assert [sch.get(x).name_hint for x in sch.get_producers(c)] == ["B"]
    assert sch.get_producers(b) == []
    root = sch.get_block("root")
    assert [sch.get(x).name_hint for x in sch.get_child_blocks(root)] == ["B", "C"]
    assert [sch.get(x).name_hint for x in sch.get_output_blocks(root)] == ["C"]
    assert sch.get_sref(b).parent.stmt is sch.get(sch.get_loops(b)[1])


def test_a_lowered_function_is_refused():
    with pytest.raises(ScheduleError, match="only programs made of blocks"):
        Schedule(tvm.lower(two_steps)["main"]).get_block("B")


def test_a_name_that_two_blocks_have():
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                A[vi] = T.float32(1)
        for i in range(4):
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                A[vi] = T.float32(2)

    sch = Schedule(twice)
    with pytest.raises(ScheduleError, match="2 blocks of `main` are called `A`"):
        sch.get_block("A")
    second = sch.get_child_blocks("root")[1]
    sch.unroll(*sch.get_loops(second))
    assert "T.float32(2" in sch.mod.script().partition("T.unroll")[2]


def test_a_statement_of_another_program():
    sch = Schedule(two_steps)
    with pytest.raises(ScheduleError, match="the statement is not in the scheduled program"):
        sch.get_sref(TwoFunctions["first"].body.block)


def test_functions_that_are_no_tensor_programs():
    other = _Other()
    sch = Schedule(tvm.IRModule({"main": two_steps, "other": other}))
    with pytest.raises(ScheduleError, match="`other` is not a tensor program, but _Other"):
        sch.get_block("B", func_name="other")
    sch.unroll(sch.get_loops("B")[0])
    assert sch.mod["other"] is other


@node
class _Other(BaseFunc):
    """A function of another kind."""

    attrs: Attributes = attr(default=EMPTY)
