"""Layouts of constants, limits of memory, and asynchronous copies."""

import pytest
from tests.schedule_rules.programs import elementwise, matmul, softmax
from tests.tir.schedule.checking import assert_same_meaning
from tests.tune.rule.sketching import finished, names_of

from tilewright import tir
from tilewright.tune.postproc import (
    DisallowAsyncStridedMemCopy,
    RewriteLayout,
    VerifyVTCMLimit,
)


def tiled_product(free=(1,)):
    func = matmul(4, 8, 6).with_attr("layout_free_buffers", list(free))
    sch = tir.Schedule(func)
    i, j, k = sch.get_loops("C")
    j_0, j_1 = sch.split(j, [None, 4])
    sch.reorder(j_0, i, k, j_1)
    return func, sch


def test_a_constant_is_copied_into_the_order_of_the_loops():
    func, sch = tiled_product()
    assert finished(sch, [RewriteLayout()])
    assert names_of(sch) == ["B_global", "C"]
    (copy,) = sch.get(sch.get_block("root")).alloc_buffers
    assert [int(extent.value) for extent in copy.shape] == [2, 6, 4]
    assert "meta_schedule.layout_rewrite_preproc" in sch.get(sch.get_block("B_global")).annotations
    assert "[v_j // 4, v_k, v_j % 4]" in sch.mod.script()
    assert_same_meaning(func, sch)


@pytest.mark.parametrize("free", [(), (0,)])
def test_what_is_in_order_or_not_free_stays(free):
    _, sch = tiled_product(free)
    before = sch.mod["main"]
    assert finished(sch, [RewriteLayout()])
    assert sch.mod["main"] is before


def test_a_constant_with_several_readers_stays():
    func = elementwise(4, 4).with_attr("layout_free_buffers", [0])
    sch = tir.Schedule(func)
    sch.reorder(*reversed(sch.get_loops("B")))
    assert finished(sch, [RewriteLayout()])
    assert names_of(sch) == ["A_global", "B", "C"]
    twice = tir.Schedule(softmax(3, 4).with_attr("layout_free_buffers", [0]))
    twice.reorder(*reversed(twice.get_loops("E")))
    before = twice.mod["main"]
    assert finished(twice, [RewriteLayout()])
    assert twice.mod["main"] is before


def cached(scope, whole):
    sch = tir.Schedule(elementwise(16, 8))
    sch.compute_inline("B")
    copy = sch.cache_read("C", 0, scope)
    if not whole:
        sch.compute_at(copy, sch.get_loops("C")[0])
    return sch


def test_memory_next_to_the_vector_unit_is_limited():
    row, all_of_it = 8 * 4, 16 * 8 * 4
    assert VerifyVTCMLimit(row).apply(cached("global.vtcm", whole=False))
    assert not VerifyVTCMLimit(row).apply(cached("global.vtcm", whole=True))
    assert VerifyVTCMLimit(all_of_it).apply(cached("global.vtcm", whole=True))
    assert VerifyVTCMLimit(row).apply(cached("global", whole=True))
    assert VerifyVTCMLimit().apply(cached("global.vtcm", whole=True))


@pytest.mark.parametrize("columns", [8, 4])
@pytest.mark.parametrize("stages", [[0], [1], []])
def test_asynchronous_copies_are_of_one_stretch(columns, stages):
    sch = tir.Schedule(elementwise(16, 8))
    sch.compute_inline("B")
    i, j = sch.get_loops("C")
    i_0, i_1 = sch.split(i, [None, 4])
    j_0, j_1 = sch.split(j, [None, columns])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.compute_at(sch.cache_read("C", 0, "global"), j_0)
    sch.annotate(j_0, "software_pipeline_stage", [0, 1])
    sch.annotate(j_0, "software_pipeline_order", [0, 1])
    sch.annotate(j_0, "software_pipeline_async_stages", stages)
    # Four whole rows are one stretch; parts of four rows are not.
    is_copied_apart = stages == [0] and columns == 4
    assert DisallowAsyncStridedMemCopy().apply(sch) is not is_copied_apart
