"""Annotations of loops and blocks."""

import pytest
from tests.tir.schedule.checking import assert_equal_results, assert_same_meaning, results_of

import tilewright as tvm
from tilewright.error import ArgumentError
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def double(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("B"):
            vi = T.axis.spatial(6, i)
            B[vi] = A[vi] * T.float32(2)


@T.prim_func
def annotated(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in T.serial(6, annotations={"pragma_auto_unroll_max_step": 16}):
        with T.block("B"):
            T.block_attr({"kind": "map", "tiles": [2, 3], "more": {"x": 1}})
            vi = T.axis.spatial(6, i)
            B[vi] = A[vi] * T.float32(2)


def test_loops_and_blocks_are_annotated():
    sch = Schedule(double, debug_mask="all")
    block = sch.get_block("B")
    (loop,) = sch.get_loops(block)
    sch.annotate(loop, "pragma_auto_unroll_max_step", 16)
    sch.annotate(block, "kind", "map")
    sch.annotate(block, ann_key="tiles", ann_val=[2, 3])
    sch.annotate("B", "more", {"x": 1})
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], annotated)
    assert_same_meaning(double, sch)
    assert sch.get(loop).annotations["pragma_auto_unroll_max_step"].value == 16


def test_an_annotation_is_replaced():
    sch = Schedule(double)
    sch.annotate("B", "kind", "map")
    sch.annotate("B", "kind", "other")
    assert dict(sch.get(sch.get_block("B")).annotations) == {"kind": "other"}


def test_sampled_numbers_in_annotations_are_kept_as_numbers_and_traced_as_variables():
    sch = Schedule(double)
    block = sch.get_block("B")
    step = sch.sample_categorical([0, 16], [0.5, 0.5], decision=1)
    sch.annotate(block, "step", step)
    sch.annotate(block, "twice", [step * 2, {"deep": step}])
    annotations = sch.get(block).annotations
    assert annotations["step"].value == 16
    assert annotations["twice"][0].value == 32
    assert annotations["twice"][1]["deep"].value == 16
    assert 'ann_key="step", ann_val=v1)' in str(sch.trace)
    again = Schedule(double)
    sch.trace.apply_to_schedule(again, decision_provider=lambda *_: 0)
    other = again.get(again.get_block("B")).annotations
    assert [other["step"].value, other["twice"][1]["deep"].value] == [0, 0]


def test_annotations_are_removed():
    sch = Schedule(annotated)
    block = sch.get_block("B")
    (loop,) = sch.get_loops(block)
    sch.unannotate(loop, "pragma_auto_unroll_max_step")
    for key in ("kind", "tiles", "more"):
        sch.unannotate(block, key)
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], double)
    assert_same_meaning(annotated, sch)


def test_the_root_block_can_be_annotated():
    sch = Schedule(double)
    sch.annotate("root", "meta_schedule.unroll_explicit", 64)
    assert sch.get(sch.get_block("root")).annotations["meta_schedule.unroll_explicit"].value == 64


def test_an_annotation_that_is_not_there_cannot_be_removed():
    sch = Schedule(annotated)
    with pytest.raises(ScheduleError, match="block `B` has no annotation 'step'; its annotations"):
        sch.unannotate("B", "step")
    with pytest.raises(ScheduleError, match="annotations: none"):
        sch.unannotate("root", "step")


@pytest.mark.parametrize("value", [1, 0.5, True, "text", None, [1, 2], {"x": [1]}])
def test_pragmas_of_any_name_change_no_result(value):
    sch = Schedule(double, debug_mask="all")
    (loop,) = sch.get_loops("B")
    sch.annotate(loop, "pragma_mine", value)
    sch.annotate("B", "pragma_mine", value)
    assert_same_meaning(double, sch)
    tvm.build(sch.mod, target="c")
    expected, found = results_of(double), results_of(double)
    found[1][:] = 0
    tvm.build(sch.mod, target="llvm")(*found)
    assert_equal_results(expected, found)


def test_what_cannot_be_an_annotation_is_refused():
    sch = Schedule(double)
    with pytest.raises(ArgumentError, match="`ann_key` must be a string, got 3"):
        sch.annotate("B", 3, 4)
    with pytest.raises(ArgumentError, match="cannot keep"):
        sch.annotate("B", "key", object())
