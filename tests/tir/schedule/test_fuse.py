"""Fusing loops."""

import pytest
from tests.schedule_rules.programs import elementwise as elementwise_of
from tests.tir.schedule.checking import assert_same_meaning
from tests.tir.schedule.loop_programs import (
    elementwise,
    matmul,
    symbolic,
    triangle,
    two_products,
)

from tilewright.arith import Analyzer
from tilewright.tir import Schedule, ScheduleError, const
from tilewright.tir.substitute import substitute


def test_names_and_bindings():
    sch = Schedule(matmul, debug_mask="all")
    fused = sch.fuse(*sch.get_loops("C"))
    loop = sch.get(fused)
    assert loop.loop_var.name == "i_j_k_fused"
    assert loop.extent.value == 480
    realize = sch.state.tree("main").blocks()[1]
    assert [str(value) for value in realize.iter_values] == [
        "i_j_k_fused // 80",
        "i_j_k_fused % 80 // 8",
        "i_j_k_fused % 8",
    ]
    assert_same_meaning(matmul, sch)


def test_fusing_a_split_gives_the_loop_back():
    sch = Schedule(elementwise, debug_mask="all")
    i0, i1 = sch.split(sch.get_loops("B")[0], [5, 2])
    sch.fuse(i0, i1)
    assert 'T.axis.remap("SS", [i_0_i_1_fused, j])' in sch.mod.script()
    assert_same_meaning(elementwise, sch)


def test_fusing_with_a_tail():
    sch = Schedule(elementwise, debug_mask="all")
    i, j = sch.get_loops("B")
    i0, i1 = sch.split(i, [None, 4])
    sch.fuse(i0, i1, j)
    assert_same_meaning(elementwise, sch)


def test_symbolic_extents():
    sch = Schedule(symbolic, debug_mask="all")
    fused = sch.fuse(*sch.get_loops("B"))
    assert str(sch.get(fused).extent) == "n * T.int64(4)"
    sch.split(fused, [None, 8])
    assert_same_meaning(symbolic, sch, sizes={"n": 5})


def test_one_loop_is_renamed():
    sch = Schedule(elementwise)
    sch.fuse(sch.get_loops("B")[1])
    assert_same_meaning(elementwise, sch)


def refusals():
    def no_loop(sch):
        sch.fuse()

    def inner_first(sch):
        i, j = sch.get_loops("B")
        sch.fuse(j, i)

    return [(no_loop, "needs at least one loop"), (inner_first, "must be given from the outermost")]


@pytest.mark.parametrize(("steps", "message"), refusals())
def test_refusals(steps, message):
    with pytest.raises(ScheduleError, match=message):
        steps(Schedule(elementwise))


def test_loops_that_are_not_nested_perfectly():
    sch = Schedule(two_products)
    sch.merge(sch.get_loops("C")[0], sch.get_loops("D")[0])
    m, l, _ = sch.get_loops("C")
    with pytest.raises(ScheduleError, match="loop `l` is not the only statement in loop `m_m`"):
        sch.fuse(m, l)


def test_bounds_that_depend_on_a_loop():
    sch = Schedule(triangle)
    with pytest.raises(
        ScheduleError, match="bounds of loop `j` depend on the variable of loop `i`"
    ):
        sch.fuse(*sch.get_loops("B"))


def test_annotations_are_not_lost():
    sch = Schedule(elementwise)
    i, j = sch.get_loops("B")
    sch.annotate(j, "pragma", 1)
    with pytest.raises(ScheduleError, match="has annotations"):
        sch.fuse(i, j)


def test_more_iterations_than_the_loops_can_count():
    sch = Schedule(elementwise_of(50000, 50000))
    fused = sch.get(sch.fuse(*sch.get_loops("B")))
    assert fused.loop_var.dtype == "int64"
    assert fused.extent.value == 50000 * 50000
    realize = sch.state.tree("main").blocks()[1]
    last = {fused.loop_var: const(50000 * 50000 - 1, "int64")}
    analyzer = Analyzer()
    places = [analyzer.simplify(substitute(value, last)) for value in realize.iter_values]
    assert [place.value for place in places] == [49999, 49999]
    assert [str(place.dtype) for place in places] == ["int32", "int32"]
