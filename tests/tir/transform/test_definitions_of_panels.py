"""Panels of which the last one is not full are memory of the block of a sum that uses them."""

from tests.tir.transform.memory import (
    assert_same_meaning,
    compacted,
    extents_of,
    loops_around,
    planned,
)

from tilewright.script import tir as T


@T.prim_func
def short_last_panel(A: T.Buffer((8, 20), "int32"), C: T.Buffer((20,), "int32")):
    T.func_attr({"tir.noalias": True})
    P = T.alloc_buffer((4, 8, 6), "int32")
    for j in range(20):
        with T.block("init"):
            v = T.axis.spatial(20, j)
            C[v] = 0
    for p0 in range(2):
        for k0 in range(4):
            for p1, k1, j0, j1 in T.grid(2, 2, 3, 2):
                with T.block("P"):
                    v = T.axis.spatial(20, p0 * 12 + p1 * 6 + j0 * 2 + j1)
                    k = T.axis.spatial(8, k0 * 2 + k1)
                    T.where(p0 * 12 + p1 * 6 + j0 * 2 + j1 < 20)
                    P[v // 6, k, v % 6] = A[k, v]
            for p1, k1, j in T.grid(2, 2, 6):
                with T.block("C"):
                    v = T.axis.spatial(20, p0 * 12 + p1 * 6 + j)
                    k = T.axis.reduce(8, k0 * 2 + k1)
                    T.where(p0 * 12 + p1 * 6 + j < 20)
                    C[v] = C[v] + P[v // 6, k, v % 6]


def test_a_block_of_panels_is_enough_where_the_last_panel_is_not_full():
    assert loops_around(planned(short_last_panel), "P") == ["p0", "k0"]
    assert extents_of(compacted(short_last_panel), "P") == [2, 2, 6]
    assert_same_meaning(short_last_panel, (8, 20), 20)


@T.prim_func
def reads_beyond(A: T.Buffer((8, 20), "int32"), C: T.Buffer((24,), "int32")):
    T.func_attr({"tir.noalias": True})
    P = T.alloc_buffer((4, 6), "int32")
    for p, j in T.grid(4, 6):
        P[p, j] = 1
    for k, p in T.grid(8, 2):
        for p1, j in T.grid(2, 6):
            if p * 12 + p1 * 6 + j < 20:
                P[p * 2 + p1, j] = A[k, p * 12 + p1 * 6 + j]
        for p1, j in T.grid(2, 6):
            if p * 12 + p1 * 6 + j < 21:
                C[p * 12 + p1 * 6 + j] = P[p * 2 + p1, j]


@T.prim_func
def reads_another_order(A: T.Buffer((8, 20), "int32"), C: T.Buffer((24,), "int32")):
    T.func_attr({"tir.noalias": True})
    P = T.alloc_buffer((4, 6), "int32")
    for p, j in T.grid(4, 6):
        P[p, j] = 1
    for k, p in T.grid(8, 2):
        for p1, j in T.grid(2, 6):
            if p * 12 + p1 * 6 + j < 20:
                P[p * 2 + p1, j] = A[k, p * 12 + p1 * 6 + j]
        for p1, j in T.grid(2, 6):
            if p * 12 + j * 2 + p1 < 20:
                C[p * 12 + p1 * 6 + j] = P[p * 2 + p1, j]


def test_what_the_last_panel_lacks_may_come_from_an_earlier_iteration():
    for func in (reads_beyond, reads_another_order):
        assert loops_around(planned(func), "P") == []
        assert_same_meaning(func, (8, 20), 24)


@T.prim_func
def tiles_of_up_to_eight_rows(a: T.handle, c: T.handle):
    T.func_attr({"tir.noalias": True})
    n = T.int32()
    A, C = T.match_buffer(a, (n, 4), "int32"), T.match_buffer(c, (n, 4), "int32")
    P = T.alloc_buffer(((n + 7) // 8, T.min(n, 8), 4), "int32")
    for o in range((n + 7) // 8):
        for i0 in range((T.min(n, 8) + 2) // 3):
            for i1, j in T.grid(3, 4):
                if i0 * 3 + i1 < T.min(n, 8):
                    P[o, i0 * 3 + i1, j] = T.if_then_else(
                        o * 8 + i0 * 3 + i1 < n, A[o * 8 + i0 * 3 + i1, j], 0
                    )
        for i, j in T.grid(T.min(n, 8), 4):
            if o * 8 + i < n:
                C[o * 8 + i, j] = P[o, i, j]


def test_rows_of_which_there_is_the_smaller_number_of_two():
    """Tiles that are cut off write all of them, for each iteration of the loop over blocks."""
    assert loops_around(planned(tiles_of_up_to_eight_rows), "P") == ["o"]
    assert extents_of(compacted(tiles_of_up_to_eight_rows), "P") == [1, 8, 4]
    for rows in (1, 7, 8, 9, 20):
        assert_same_meaning(tiles_of_up_to_eight_rows, (rows, 4), (rows, 4))
