"""Tiles inside of tiles."""

import pytest
from tests.schedule_rules.programs import conv2d, elementwise, matmul, matmul_relu, softmax
from tests.tune.rule.sketching import (
    assert_candidates_right,
    compiled_results,
    names_of,
    resampled,
    sketches_of,
)

import tilewright as tvm
from tilewright import te
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.script import tir as T
from tilewright.tune.rule import (
    AutoInline,
    MultiLevelTiling,
    MultiLevelTilingWideVector,
    ReuseType,
)
from tilewright.tune.rule.schedule_rule import claim


def rule(structure="SSRSRS", **options):
    return MultiLevelTiling(structure, **{"max_innermost_factor": 64, **options})


MAY = ReuseType("may", (1, 2), "global")


@T.prim_func
def tiled(
    A: T.Buffer((8, 4), "float32"),
    B: T.Buffer((4, 16), "float32"),
    C: T.Buffer((8, 16), "float32"),
):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    for i_0, j_0, i_1, j_1, k_0, i_2, j_2, k_1, i_3, j_3 in T.grid(1, 1, 1, 1, 1, 1, 1, 4, 8, 16):
        with T.block("C"):
            vi = T.axis.spatial(8, i_0 * 8 + i_1 * 8 + i_2 * 8 + i_3)
            vj = T.axis.spatial(16, j_0 * 16 + j_1 * 16 + j_2 * 16 + j_3)
            vk = T.axis.reduce(4, k_0 * 4 + k_1)
            T.block_attr({"meta_schedule.tiling_structure": "SSRSRS"})
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_the_sketch_of_a_product():
    (sch,) = sketches_of(matmul(8, 16, 4), [rule()])
    tvm.ir.assert_structural_equal(sch.mod["main"], tiled)
    names = [sch.get(loop).loop_var.name for loop in sch.get_loops("C")]
    assert names == ["i_0", "j_0", "i_1", "j_1", "k_0", "i_2", "j_2", "k_1", "i_3", "j_3"]


def test_a_result_may_be_collected_at_each_level():
    sketches = sketches_of(matmul(8, 8, 8), [rule(reuse_write=MAY)])
    assert sorted(map(names_of, sketches)) == [["C"], ["C", "C_global"], ["C", "C_global"]]
    depths = {len(sch.get_loops("C_global")) for sch in sketches if "C_global" in names_of(sch)}
    assert depths == {4, 6}
    (must,) = sketches_of(matmul(8, 8, 8), [rule(reuse_write=ReuseType("must", (1,), "local"))])
    assert names_of(must) == ["C", "C_local"]


def test_an_elementwise_consumer_takes_the_place_of_the_copy():
    inline = AutoInline(False, True, True, True, True, True)
    sketches = sketches_of(matmul_relu(8, 8, 8), [inline, rule(reuse_write=MAY)])
    assert [names_of(sch) for sch in sketches] == [["C", "E"]] * 3
    assert sorted(len(sch.get_loops("E")) for sch in sketches) == [2, 4, 6]


def test_operands_are_copied_into_each_tile():
    reuse = ReuseType("must", (3,), "global")
    (sch,) = sketches_of(matmul(8, 8, 8), [rule(reuse_read=reuse, vector_load_lens=[1, 4])])
    assert names_of(sch) == ["A_global", "B_global", "C"]
    annotations = sch.get(sch.get_block("A_global")).annotations
    assert int(annotations["meta_schedule.cooperative_fetch"]) == 4


@pytest.mark.parametrize(
    "func",
    [matmul(6, 8, 10), matmul(7, 5, 3), matmul_relu(4, 6, 8), conv2d(2, 4, 3, 3, 1)],
    ids=["even", "prime", "relu", "conv"],
)
def test_candidates_compute_the_same(func):
    inline = AutoInline(False, True, True, True, True, True)
    reads = ReuseType("may", (4,), "global")
    assert_candidates_right(func, [inline, rule(reuse_write=MAY, reuse_read=reads)], tries=1)


def test_compiled_candidates_compute_the_same():
    assert_candidates_right(
        matmul(12, 48, 10), [rule(reuse_write=MAY)], tries=2, runs=compiled_results
    )


@pytest.mark.parametrize("func", [elementwise(4, 4), softmax(4, 4)], ids=["map", "softmax"])
def test_blocks_without_reuse_stay(func):
    (sch,) = sketches_of(func, [rule(reuse_write=MAY)])
    assert len(sch.trace.simplified()) == 0


def test_claimed_blocks_stay():
    sch = tvm.tir.Schedule(matmul(4, 4, 4))
    claim(sch, sch.get_block("C"), "another")
    assert rule().apply(sch, sch.get_block("C")) == [sch]


def test_a_user_says_what_to_tile():
    asked = []

    def filter_fn(sch, block):
        asked.append(block.stmt.name_hint)
        return block.stmt.name_hint == "C"

    (sch,) = sketches_of(elementwise(4, 4), [rule("SS", filter_fn=filter_fn)])
    assert asked == ["C", "B"]
    assert len(sch.get_loops("C")) == 4
    assert len(sch.get_loops("B")) == 2


def test_symbolic_loops_are_not_split():
    @T.prim_func
    def func(a: T.handle, b: T.handle, c: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 8))
        B = T.match_buffer(b, (8, 16))
        C = T.match_buffer(c, (n, 16))
        for i, j, k in T.grid(n, 16, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    sketches = sketches_of(func, [rule(reuse_write=MAY)])
    assert {len(sch.get_loops("C")) for sch in sketches} == {1 + 4 + 2}


def test_a_reduction_over_several_axes():
    a = te.placeholder((4, 3, 5), name="A")
    b = te.placeholder((3, 5, 6), name="B")
    k, l = te.reduce_axis((0, 3), name="k"), te.reduce_axis((0, 5), name="l")
    c = te.compute((4, 6), lambda i, j: te.sum(a[i, k, l] * b[k, l, j], axis=[k, l]), name="C")
    (sch,) = assert_candidates_right(te.create_prim_func([a, b, c]), [rule("SRSRS")])
    assert len(sch.get_loops("C")) == 6 + 4


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"structure": "SXS"}, ArgumentValueError, '"S" and "R"'),
        ({"structure": "RS", "tile_binds": ["blockIdx.x"]}, ArgumentValueError, "are spatial"),
        ({"reuse_write": {"req": "maybe", "levels": [1]}}, ArgumentValueError, "'may' or 'must'"),
        ({"reuse_write": {"req": "may", "levels": [9]}}, ArgumentValueError, "from 1 to 6"),
        ({"reuse_write": {"need": "may"}}, ArgumentError, "no 'need'"),
        ({"reuse_read": 3}, ArgumentError, "expected a ReuseType"),
    ],
)
def test_wrong_arguments_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        rule(**options)


def test_the_innermost_tile_may_be_a_whole_vector():
    rule = MultiLevelTilingWideVector("SRSRS", vector_length_in_bits=128, max_innermost_factor=8)
    (sch,) = assert_candidates_right(matmul(4, 8, 6), [rule], tries=2)
    assert int(sch.get(sch.get_loops("C")[-1]).extent.value) == 4
    other = resampled(sch, 5)
    assert int(other.get(other.get_loops("C")[-1]).extent.value) == 4
    (odd,) = assert_candidates_right(matmul(4, 6, 6), [rule], tries=1)
    assert len(odd.get_loops("C")) == 3 + 3 + 2
    (two,) = assert_candidates_right(
        matmul(4, 8, 6), [MultiLevelTilingWideVector("SRS", 128)], tries=1
    )
    assert [int(two.get(loop).extent.value) for loop in two.get_loops("C")][-1] == 4
