"""What is done to the loops of a candidate for a CPU."""

from tests.schedule_rules.programs import elementwise, kinds_of, loops_of, matmul, sums
from tests.tir.schedule.checking import assert_same_meaning
from tests.tune.rule.sketching import finished

import tilewright as tvm
from tilewright import tir
from tilewright.script import tir as T
from tilewright.tir.stmt import ForKind
from tilewright.tune.postproc import (
    DisallowDynamicLoop,
    RewriteParallelVectorizeUnroll,
    RewriteReductionBlock,
)
from tilewright.tune.rule.schedule_rule import claim


def rewritten(func, steps=lambda sch: None, **wishes):
    sch = tir.Schedule(func)
    for key, value in wishes.items():
        sch.annotate("root", f"meta_schedule.{key}", value)
    steps(sch)
    assert finished(sch, [RewriteParallelVectorizeUnroll()])
    assert not sch.get(sch.get_block("root")).annotations
    assert_same_meaning(func, sch)
    return sch


def test_outer_loops_run_in_parallel_and_inner_ones_as_vectors():
    sch = rewritten(elementwise(4, 3, 6), lambda s: s.compute_inline("B"), parallel=8, vectorize=16)
    assert loops_of(sch, "C") == [("parallel", 12), ("vectorized", 6)]


def test_loops_between_stay():
    sch = rewritten(sums(4, 6, 0), parallel=2, vectorize=4)
    assert loops_of(sch, "S") == [("parallel", 6), ("serial", 4)]

    def tile(sch):
        i, j, k = sch.get_loops("C")
        sch.reorder(i, k, j)

    sch = rewritten(matmul(4, 8, 6), tile, parallel=2, vectorize=8)
    assert loops_of(sch, "C") == [("parallel", 4), ("serial", 6), ("vectorized", 8)]


def test_vectors_are_no_longer_than_wanted_and_side_by_side():
    assert ForKind.VECTORIZED not in kinds_of(rewritten(elementwise(4, 8), vectorize=4))

    def transpose(sch):
        for name in "BC":
            sch.reorder(*reversed(sch.get_loops(name)))

    assert ForKind.VECTORIZED not in kinds_of(rewritten(elementwise(4, 8), transpose, vectorize=64))


def test_nests_of_reductions_are_marked_for_unrolling():
    sch = rewritten(matmul(4, 4, 4), unroll_explicit=16)
    annotations = sch.get(sch.get_loops("C")[0]).annotations
    assert {key: int(value) for key, value in annotations.items()} == {
        "pragma_auto_unroll_max_step": 16,
        "pragma_unroll_explicit": 1,
    }
    assert not sch.get(sch.get_loops("C")[1]).annotations
    sch = rewritten(elementwise(4, 4), unroll_explicit=16)
    assert not sch.get(sch.get_loops("C")[0]).annotations


def test_lowering_unrolls_what_is_marked():
    lowered = [
        tvm.lower(rewritten(matmul(2, 3, 4), unroll_explicit=step).mod).script()
        for step in (1, 512)
    ]
    built = [
        tvm.build(rewritten(matmul(2, 3, 4), unroll_explicit=step).mod, target="llvm").get_source()
        for step in (1, 512)
    ]
    assert all("for i" in text for text in lowered)
    assert built[0].count("br i1") > built[1].count("br i1")


def test_claimed_blocks_keep_their_loops():
    def take(sch):
        claim(sch, sch.get_block("C"), "another")

    sch = rewritten(matmul(4, 4, 4), take, parallel=16, vectorize=16, unroll_explicit=16)
    assert kinds_of(sch) == {ForKind.SERIAL}
    assert not sch.get(sch.get_loops("C")[0]).annotations


@T.prim_func
def decomposed(A: T.Buffer((4, 6), "float32"), S: T.Buffer((4,), "float32")):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    for i in range(4):
        with T.block("S_init"):
            vi = T.axis.spatial(4, i)
            S[vi] = T.float32(0)
        for k in range(6):
            with T.block("S_update"):
                vi, vk = T.axis.remap("SR", [i, k])
                S[vi] = S[vi] + A[vi, vk]


def test_initialisations_become_loops_of_their_own():
    sch = tir.Schedule(sums(4, 6, 1))
    assert finished(sch, [RewriteReductionBlock()])
    tvm.ir.assert_structural_equal(sch.mod["main"], decomposed)


def test_a_reduction_across_threads_keeps_its_initialisation():
    sch = tir.Schedule(sums(4, 6, 1))
    sch.bind(sch.get_loops("S")[1], "threadIdx.x")
    assert finished(sch, [RewriteReductionBlock()])
    assert sch.get(sch.get_block("S")).init is not None


def test_symbolic_loops_are_rejected():
    @T.prim_func
    def func(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i in range(n):
            with T.block("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + T.float32(1)

    assert not DisallowDynamicLoop().apply(tir.Schedule(func))
    assert DisallowDynamicLoop().apply(tir.Schedule(matmul(2, 2, 2)))
