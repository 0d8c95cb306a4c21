"""Tiles that a tensor intrinsic computes."""

import pytest
from tests.schedule_rules.programs import matmul
from tests.tune.rule.sketching import (
    assert_candidates_right,
    compiled_results,
    finished,
    names_of,
    sketches_of,
)

from tilewright import te
from tilewright.error import UnknownNameError
from tilewright.tune.postproc import Postproc
from tilewright.tune.rule import (
    MultiLevelTiling,
    MultiLevelTilingWithIntrin,
    ParallelizeVectorizeUnroll,
    ReuseType,
    ScheduleRule,
)


def rule(name="dot_16x4_vnni"):
    return MultiLevelTilingWithIntrin(
        name, "SSRSRS", max_innermost_factor=64, reuse_write=ReuseType("may", (1,), "global")
    )


def product(m, n, k):
    """Of bytes, the second one in panels of 16 columns and four rows."""
    a = te.placeholder((m, k), "uint8", name="A")
    b = te.placeholder((n // 16, k // 4, 16, 4), "int8", name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (m, n),
        lambda i, j: te.sum(
            a[i, r].astype("int32") * b[j // 16, r // 4, j % 16, r % 4].astype("int32"), axis=r
        ),
        name="C",
    )
    return te.create_prim_func([a, b, c])


def convolution(blocks):
    """Over channels in blocks of 16, of which four are next to each other in the weights."""
    x = te.placeholder((1, blocks, 4, 4, 16), "uint8", name="X")
    w = te.placeholder((2, blocks, 2, 2, 4, 16, 4), "int8", name="W")
    rc = te.reduce_axis((0, blocks), name="rc")
    r4, ri = te.reduce_axis((0, 4), name="r4"), te.reduce_axis((0, 4), name="ri")
    ry, rx = te.reduce_axis((0, 2), name="ry"), te.reduce_axis((0, 2), name="rx")
    y = te.compute(
        (1, 2, 3, 3, 16),
        lambda n, o, i, j, oi: te.sum(
            x[n, rc, i + ry, j + rx, r4 * 4 + ri].astype("int32")
            * w[o, rc, ry, rx, r4, oi, ri].astype("int32"),
            axis=[rc, ry, rx, r4, ri],
        ),
        name="Y",
    )
    return te.create_prim_func([x, w, y])


def test_the_innermost_tile_is_the_intrinsic():
    sketches = sketches_of(product(4, 32, 16), [rule()])
    assert len(sketches) == 2
    sch = sketches[0]
    annotations = sch.get(sch.get_block("C_o")).annotations
    assert annotations["meta_schedule.auto_tensorize"] == "dot_16x4_vnni"
    assert [int(sch.get(loop).extent.value) for loop in sch.get_loops("C")] == [16, 4]
    assert finished(sch, Postproc.create("vnni"))
    assert sch.mod.script().count("T.dp4a") == 1
    assert "C" not in names_of(sch)


@pytest.mark.parametrize("func", [product(2, 32, 8), convolution(1)], ids=["product", "conv"])
@pytest.mark.parametrize("run", [None, compiled_results], ids=["interpreted", "compiled"])
def test_candidates_compute_the_same(func, run):
    rules = [rule(), ParallelizeVectorizeUnroll(-1, 64, [16, 64])]
    assert_candidates_right(func, rules, Postproc.create("vnni"), runs=run, tries=1)


def plain_product(m, n, k, dtype="int8"):
    a, b = te.placeholder((m, k), "uint8", name="A"), te.placeholder((k, n), dtype, name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (m, n),
        lambda i, j: te.sum(a[i, r].astype("int32") * b[r, j].astype("int32"), axis=r),
        name="C",
    )
    return te.create_prim_func([a, b, c])


def test_an_operand_in_another_layout_is_packed():
    rules = [rule(), ParallelizeVectorizeUnroll(-1, 64, [16, 64])]
    sketches = assert_candidates_right(plain_product(3, 32, 8), rules, Postproc.create("vnni"))
    sch = sketches[0]
    assert names_of(sch)[:2] == ["B_global", "C_o"]
    (packed,) = (b for b in sch.get(sch.get_block("root")).alloc_buffers if b.name == "B_global")
    assert [int(extent.value) for extent in packed.shape] == [2, 2, 16, 4]


@pytest.mark.parametrize(
    "func",
    [matmul(16, 16, 16), plain_product(4, 16, 6), plain_product(4, 16, 8, "uint8")],
    ids=["floats", "size", "signs"],
)
def test_what_the_intrinsic_does_not_describe_is_left_to_other_rules(func):
    (sch,) = sketches_of(func, [rule(), MultiLevelTiling("SSRSRS")])
    assert names_of(sch) == ["C"]
    assert "meta_schedule.tiling_structure" in sch.mod.script()


def test_the_rules_for_such_processors():
    kinds = [type(rule) for rule in ScheduleRule.create("vnni")]
    assert kinds.index(MultiLevelTilingWithIntrin) < kinds.index(MultiLevelTiling)
    sketches = sketches_of(product(2, 16, 8), ScheduleRule.create("vnni"))
    assert all("dot_16x4_vnni" in sch.mod.script() for sch in sketches)


def test_an_unknown_intrinsic_is_refused():
    with pytest.raises(UnknownNameError, match="no tensor intrinsic 'dot_none'"):
        sketches_of(product(4, 16, 8), [rule("dot_none")])
