"""Versions of a statement that run the same instances in the same order."""

import pytest

from tilewright.script import tir as T
from tilewright.tir import Schedule
from tilewright.tir.schedule.proofs.structural_match import runs_alike


@T.prim_func
def matmul(
    A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")
):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def outer_loops(change):
    """The outermost loop before and after a change."""
    sch = Schedule(matmul)
    loop = sch.get_loops("C")[0]
    before = sch.get(loop)
    change(sch)
    return before, sch.get(loop)


@pytest.mark.parametrize(
    "change",
    [
        lambda sch: sch.annotate("C", "key", 1),
        lambda sch: sch.annotate(sch.get_loops("C")[2], "key", 1),
        lambda sch: sch.unroll(sch.get_loops("C")[1]),
        lambda sch: None,
    ],
)
def test_annotations_and_unrolling_change_nothing(change):
    assert runs_alike(*outer_loops(change))


@pytest.mark.parametrize(
    "change",
    [
        lambda sch: sch.vectorize(sch.get_loops("C")[1]),
        lambda sch: sch.parallel(sch.get_loops("C")[0]),
        lambda sch: sch.split(sch.get_loops("C")[1], [None, 4]),
        lambda sch: sch.reorder(*reversed(sch.get_loops("C")[1:])),
        lambda sch: sch.bind(sch.get_loops("C")[0], "threadIdx.x"),
        lambda sch: sch.decompose_reduction("C", sch.get_loops("C")[1]),
        lambda sch: sch.reorder_block_iter_var("C", [1, 0, 2]),
        lambda sch: sch.cache_read("C", 0, "local"),
    ],
)
def test_other_changes_do(change):
    assert not runs_alike(*outer_loops(change))


def test_more_statements_are_not_alike():
    sch = Schedule(matmul)
    before = sch.mod["main"].body
    sch.cache_write("C", 0, "local")
    assert not runs_alike(before, sch.mod["main"].body)
