"""Memory moves into a loop only where no iteration needs what another one wrote."""

import pytest
from tests.tir.transform.memory import assert_same_meaning, loops_around, planned

from tilewright.script import tir as T


@T.prim_func
def accumulator(A: T.Buffer((8, 12), "int32"), C: T.Buffer((8,), "int32")):
    T.func_attr({"tir.noalias": True})
    S = T.alloc_buffer((8,), "int32", scope="local")
    for i0 in range(2):
        for k0, i1, k1 in T.grid(3, 4, 4):
            with T.block("S"):
                v = T.axis.spatial(8, i0 * 4 + i1)
                k = T.axis.reduce(12, k0 * 4 + k1)
                with T.init():
                    S[v] = 0
                S[v] = S[v] + A[v, k]
        for i1 in range(4):
            with T.block("C"):
                v = T.axis.spatial(8, i0 * 4 + i1)
                C[v] = S[v]


def test_a_sum_moves_with_all_of_its_reduction_loops():
    assert loops_around(planned(accumulator), "S") == ["i0"]
    assert_same_meaning(accumulator, (8, 12), 8)


@T.prim_func
def reduction_outside(A: T.Buffer((8, 12), "int32"), C: T.Buffer((8,), "int32")):
    T.func_attr({"tir.noalias": True})
    S = T.alloc_buffer((8,), "int32")
    for k0 in range(3):
        for i, k1 in T.grid(8, 4):
            with T.block("S"):
                v = T.axis.spatial(8, i)
                k = T.axis.reduce(12, k0 * 4 + k1)
                with T.init():
                    S[v] = 0
                S[v] = S[v] + A[v, k]
        for i in range(8):
            with T.block("C"):
                v = T.axis.spatial(8, i)
                C[v] = S[v]


def test_a_sum_stays_outside_of_its_reduction_loop():
    assert loops_around(planned(reduction_outside), "S") == []
    assert_same_meaning(reduction_outside, (8, 12), 8)


@T.prim_func
def sum_that_starts_in_the_loop(A: T.Buffer((4, 6), "int32"), C: T.Buffer((4,), "int32")):
    T.func_attr({"tir.noalias": True})
    S = T.alloc_buffer((4,), "int32")
    for i in range(4):
        for k0, k1 in T.grid(2, 3):
            if k0 * 3 + k1 == 0:
                S[i] = 7
            S[i] = S[i] + A[i, k0 * 3 + k1]
        C[i] = S[i]


@T.prim_func
def sum_that_starts_late(A: T.Buffer((4, 6), "int32"), C: T.Buffer((4,), "int32")):
    T.func_attr({"tir.noalias": True})
    S = T.alloc_buffer((4,), "int32")
    for i in range(4):
        S[i] = 0
    for i in range(4):
        for k in range(6):
            if k == 1:
                S[i] = 7
            S[i] = S[i] + A[i, k]
        C[i] = S[i]


@T.prim_func
def sums_that_start_once(A: T.Buffer((4, 6), "int32"), C: T.Buffer((4,), "int32")):
    T.func_attr({"tir.noalias": True})
    S = T.alloc_buffer((2,), "int32")
    for i in range(4):
        for k in range(6):
            if i == 0 and k < 2:
                S[k % 2] = 0
            S[k % 2] = S[k % 2] + A[i, k]
        C[i] = S[0]


@T.prim_func
def first_of_several(A: T.Buffer((4, 6), "int32"), C: T.Buffer((4,), "int32")):
    T.func_attr({"tir.noalias": True})
    S = T.alloc_buffer((6,), "int32")
    for i in range(4):
        for k in range(6):
            if i == 0:
                S[k] = 1
            if k == 0:
                S[k] = 7
            S[k] = S[k] + A[i, k]
        C[i] = S[3]


def test_what_happens_in_the_first_iteration_counts_for_the_others():
    assert loops_around(planned(sum_that_starts_in_the_loop), "S") == ["i"]
    assert_same_meaning(sum_that_starts_in_the_loop, (4, 6), 4)


@pytest.mark.parametrize("func", [sum_that_starts_late, sums_that_start_once, first_of_several])
def test_what_happens_in_another_iteration_does_not(func):
    assert loops_around(planned(func), "S") == []
    assert_same_meaning(func, (4, 6), 4)


@T.prim_func
def sliding_window(A: T.Buffer((18,), "int32"), C: T.Buffer((16,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((18,), "int32")
    for i in range(16):
        for j in range(3):
            with T.block("B"):
                v = T.axis.spatial(18, i + j)
                T.where(i == 0 or j == 2)
                B[v] = A[v] + 1
        with T.block("C"):
            v = T.axis.spatial(16, i)
            C[v] = B[v] + B[v + 1] + B[v + 2]


@T.prim_func
def window_that_is_filled_anew(A: T.Buffer((18,), "int32"), C: T.Buffer((16,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((18,), "int32")
    for i in range(16):
        for j in range(3):
            with T.block("B"):
                v = T.axis.spatial(18, i + j)
                B[v] = A[v] + 1
        with T.block("C"):
            v = T.axis.spatial(16, i)
            C[v] = B[v] + B[v + 1] + B[v + 2]


def test_a_window_that_is_kept_stays_outside():
    assert loops_around(planned(sliding_window), "B") == []
    assert_same_meaning(sliding_window, 18, 16)


def test_a_window_that_is_filled_anew_moves():
    assert loops_around(planned(window_that_is_filled_anew), "B") == ["i"]
    assert_same_meaning(window_that_is_filled_anew, 18, 16)


@T.prim_func
def uneven_tiles(A: T.Buffer((30,), "int32"), C: T.Buffer((30,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((30,), "int32")
    for i in range(4):
        for j in range(8):
            with T.block("B"):
                v = T.axis.spatial(30, i * 8 + j)
                T.where(i * 8 + j < 30)
                B[v] = A[v] + 1
        for j in range(8):
            with T.block("C"):
                v = T.axis.spatial(30, i * 8 + j)
                T.where(i * 8 + j < 30)
                C[v] = B[v] * 2


@T.prim_func
def fewer_than_needed(A: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((32,), "int32")
    for i in range(32):
        B[i] = 0
    for i in range(4):
        for j in range(8):
            if i * 8 + j < 30:
                B[i * 8 + j] = A[i * 8 + j] + 1
        for j in range(8):
            C[i * 8 + j] = B[i * 8 + j] * 2


def test_predicates_say_what_is_written_and_read():
    assert loops_around(planned(uneven_tiles), "B") == ["i"]
    assert_same_meaning(uneven_tiles, 30, 30)
    assert loops_around(planned(fewer_than_needed), "B") == []
    assert_same_meaning(fewer_than_needed, 32, 32)


@T.prim_func
def padded(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((16,), "int32")
    for i in range(4):
        for j in range(4):
            B[i * 4 + j] = A[i * 4 + j] * 3
        for j in range(4):
            C[i * 4 + j] = T.if_then_else(j > 0, B[i * 4 + j - 1], 0)


@T.prim_func
def padded_with_the_tile_before(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((16,), "int32")
    for i in range(4):
        for j in range(4):
            B[i * 4 + j] = A[i * 4 + j] * 3
        for j in range(4):
            C[i * 4 + j] = T.if_then_else(i * 4 + j > 0, B[i * 4 + j - 1], 0)


def test_a_choice_reads_what_is_chosen():
    assert loops_around(planned(padded), "B") == ["i"]
    assert_same_meaning(padded, 16, 16)
    assert loops_around(planned(padded_with_the_tile_before), "B") == []
    assert_same_meaning(padded_with_the_tile_before, 16, 16)


@T.prim_func
def both_cases(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((16,), "int32")
    for i in range(16):
        if A[i] > 0:
            B[i] = 1
        else:
            B[i] = A[i]
        C[i] = B[i]


@T.prim_func
def one_case(A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        B[i] = 5
    for i in range(16):
        if A[i] > 0:
            B[0] = A[i]
        C[i] = B[0]


def test_a_conditional_write_is_none_unless_both_cases_write():
    assert loops_around(planned(both_cases), "B") == ["i"]
    assert_same_meaning(both_cases, 16, 16)
    assert loops_around(planned(one_case), "B") == []
    assert_same_meaning(one_case, 16, 16)


@T.prim_func
def last_of_each_row(A: T.Buffer((4, 4), "int32"), C: T.Buffer((4,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        for j in range(4):
            let = A[i, j]
            if j == 0 and let > 0:
                B[let % 4] = let
            elif j == 0:
                B[let % 4] = 0
            C[i] = B[A[i, 0] % 4]


def test_elements_that_depend_on_data_are_not_compared():
    assert loops_around(planned(last_of_each_row), "B") == []
    assert_same_meaning(last_of_each_row, (4, 4), 4)


@T.prim_func
def gathered(A: T.Buffer((4, 4), "int32"), C: T.Buffer((4, 4), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        for j in range(4):
            B[j] = A[i, j]
        for j in range(4):
            C[i, j] = B[A[j, i] % 4]


def test_any_element_is_read_from_memory_that_is_written_whole():
    assert loops_around(planned(gathered), "B") == ["i"]
    assert_same_meaning(gathered, (4, 4), (4, 4))


@T.prim_func
def fused(A: T.Buffer((6, 8), "int32"), C: T.Buffer((6, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((6, 8), "int32")
    for i in range(3):
        for f in range(16):
            B[i * 2 + f // 8, f % 8] = A[i * 2 + f // 8, f % 8]
        for j, k in T.grid(2, 8):
            C[i * 2 + j, k] = B[i * 2 + j, 7 - k]


@T.prim_func
def fused_partly(A: T.Buffer((6, 8), "int32"), C: T.Buffer((6, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((6, 8), "int32")
    for i, j in T.grid(6, 8):
        B[i, j] = 0
    for i in range(3):
        for f in range(15):
            B[i * 2 + f // 8, f % 8] = A[i * 2 + f // 8, f % 8]
        for j, k in T.grid(2, 8):
            C[i * 2 + j, k] = B[i * 2 + j, 7 - k]


@T.prim_func
def diagonal(A: T.Buffer((6, 8), "int32"), C: T.Buffer((6, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((6, 6), "int32")
    for i, j in T.grid(6, 6):
        B[i, j] = 0
    for i in range(6):
        for j in range(6):
            B[j, j] = A[i, j]
        for j in range(6):
            C[i, j] = B[j, 5 - j]


@T.prim_func
def every_other(A: T.Buffer((6, 8), "int32"), C: T.Buffer((6, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((8,), "int32")
    for j in range(8):
        B[j] = 0
    for i in range(6):
        for j in range(4):
            B[j * 2] = A[i, j]
        for j in range(7):
            C[i, j] = B[j]


def test_loops_over_fused_dimensions_write_a_box():
    assert loops_around(planned(fused), "B") == ["i"]
    assert_same_meaning(fused, (6, 8), (6, 8))


@pytest.mark.parametrize("func", [fused_partly, diagonal, every_other])
def test_loops_that_leave_elements_out_write_no_box(func):
    assert loops_around(planned(func), "B") == []
    assert_same_meaning(func, (6, 8), (6, 8))


@T.prim_func
def repeated(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4,), "int32")
    N = T.alloc_buffer((1,), "int32")
    for i in range(4):
        N[0] = 0
        while N[0] < 2:
            B[i] = A[i] + N[0]
            N[0] = N[0] + 1
        C[i] = B[i]


def test_the_body_of_a_while_may_not_run():
    assert loops_around(planned(repeated), "B") == []
    assert loops_around(planned(repeated), "N") == ["i"]
    assert_same_meaning(repeated, 4, 4)


@T.prim_func
def of_any_size(a: T.handle, c: T.handle):
    T.func_attr({"tir.noalias": True})
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, (m, n), "int32")
    C = T.match_buffer(c, (m, n), "int32")
    B = T.alloc_buffer((m, n), "int32")
    for i in range(m):
        for j in range(n):
            B[i, j] = A[i, j] + 1
        for j in range(n):
            C[i, j] = B[i, n - 1 - j]


def test_symbolic_sizes():
    assert loops_around(planned(of_any_size), "B") == ["i"]
    assert_same_meaning(of_any_size, (3, 5), (3, 5))
    assert_same_meaning(of_any_size, (3, 0), (3, 0))


@T.prim_func
def three_parts(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4, 8), "int32")
    for i in range(4):
        for j in range(3):
            B[i, j + 5] = A[i, j] * 2
        for j in range(4):
            B[i, j] = A[i, j]
        B[i, 4] = 7
        for j in range(8):
            C[i, j] = B[i, 7 - j]


@T.prim_func
def parts_with_a_gap(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((8,), "int32")
    for j in range(8):
        B[j] = 1
    for i in range(4):
        for j in range(3):
            B[j + 5] = A[i, j] * 2
        for j in range(4):
            B[j] = A[i, j]
        for j in range(8):
            C[i, j] = B[7 - j]
            B[4] = A[i, j]


def test_boxes_next_to_each_other_are_one():
    assert loops_around(planned(three_parts), "B") == ["i"]
    assert_same_meaning(three_parts, (4, 8), (4, 8))
    assert loops_around(planned(parts_with_a_gap), "B") == []
    assert_same_meaning(parts_with_a_gap, (4, 8), (4, 8))
