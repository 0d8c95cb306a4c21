"""Reductions that are cut into partial ones."""

from tests.schedule_rules.programs import elementwise, matmul, sums
from tests.tune.rule.sketching import (
    FOUR_CORES,
    assert_candidates_right,
    names_of,
    sketches_of,
)

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tune.rule import AddRFactor

RULE = AddRFactor(max_jobs_per_core=16, max_innermost_factor=64)


@T.prim_func
def inner_factored(A: T.Buffer((2, 32), "float32"), S: T.Buffer((2,), "float32")):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    S_rf = T.alloc_buffer((2, 16))
    for i, k_0, k_1 in T.grid(2, 2, 16):
        with T.block("S_rf"):
            vk_1, vi, vk_0 = T.axis.remap("SSR", [k_1, i, k_0])
            with T.init():
                S_rf[vi, vk_1] = T.float32(0)
            S_rf[vi, vk_1] = S_rf[vi, vk_1] + A[vi, vk_0 * 16 + vk_1]
    for i, k_1 in T.grid(2, 16):
        with T.block("S"):
            vk_1, vi = T.axis.remap("RS", [k_1, i])
            T.block_attr({"meta_schedule.random_compute_producer": 1})
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + S_rf[vi, vk_1]


def test_three_sketches_of_a_sum():
    plain, outer, inner = sketches_of(sums(2, 32, 1), [RULE])
    assert names_of(plain) == ["S"]
    assert names_of(outer) == ["S_rf", "S"]
    tvm.ir.assert_structural_equal(inner.mod["main"], inner_factored)


def test_candidates_compute_the_same():
    assert len(assert_candidates_right(sums(3, 12, 1), [RULE], target=FOUR_CORES)) == 3
    assert len(assert_candidates_right(sums(7, 5, 0), [RULE])) == 3


def test_sums_that_are_short_or_tiled_stay():
    assert len(sketches_of(sums(8, 4, 1), [RULE], target=FOUR_CORES)) == 1
    assert len(sketches_of(elementwise(8, 4), [RULE])) == 1
    assert len(sketches_of(matmul(8, 8, 8), [RULE])) == 1


def test_a_product_with_few_results_is_cut():
    assert len(sketches_of(matmul(2, 2, 64), [RULE], target=FOUR_CORES)) == 3
    assert len(sketches_of(matmul(16, 16, 64), [RULE], target=FOUR_CORES)) == 1
