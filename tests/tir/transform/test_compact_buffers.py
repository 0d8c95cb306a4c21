"""Memory has the size of the part of a buffer that is used, with indices to match."""

import pytest
from tests.tir.transform.memory import assert_same_meaning, compacted, extents_of, loops_around

from tilewright.script import tir as T
from tilewright.tir.transform.compact_buffers import compact_buffers


@T.prim_func
def stencil(A: T.Buffer((18, 18), "int32"), C: T.Buffer((16, 16), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((18, 18), "int32")
    for i0, j0 in T.grid(4, 2):
        for i1, j1 in T.grid(6, 10):
            with T.block("B"):
                vi = T.axis.spatial(18, i0 * 4 + i1)
                vj = T.axis.spatial(18, j0 * 8 + j1)
                B[vi, vj] = A[vi, vj] + 1
        for i1, j1 in T.grid(4, 8):
            with T.block("C"):
                vi = T.axis.spatial(16, i0 * 4 + i1)
                vj = T.axis.spatial(16, j0 * 8 + j1)
                C[vi, vj] = B[vi, vj] + B[vi + 2, vj + 1] - B[vi + 1, vj + 2]


def test_a_tile_with_its_borders():
    assert extents_of(compacted(stencil), "B") == [6, 10]
    assert_same_meaning(stencil, (18, 18), (16, 16))


@T.prim_func
def strided(A: T.Buffer((64,), "int32"), C: T.Buffer((8, 3), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((64,), "int32")
    for i in range(8):
        for j in range(8):
            B[i * 8 + 7 - j] = A[i * 8 + j]
        for j in range(3):
            C[i, j] = B[i * 8 + j * 2 + 1]


def test_steps_backwards_and_of_several_elements():
    assert extents_of(compacted(strided), "B") == [8]
    assert_same_meaning(strided, 64, (8, 3))


@T.prim_func
def triangle(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((8, 8), "int32")
    for i in range(8):
        for j in range(i + 1):
            B[i, j] = A[i, j]
        for j in range(i + 1):
            C[i, j] = B[i, i - j]


@T.prim_func
def band(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((8, 8), "int32")
    for i in range(8):
        for j in range(T.min(3, 8 - i)):
            B[i, i + j] = A[i, i + j]
        for j in range(T.min(3, 8 - i)):
            C[i, i + j] = B[i, i + j]


def test_an_extent_that_depends_on_outer_loops_is_its_largest_value():
    assert extents_of(compacted(triangle), "B") == [1, 8]
    assert_same_meaning(triangle, (8, 8), (8, 8))
    assert extents_of(compacted(band), "B") == [1, 3]
    assert_same_meaning(band, (8, 8), (8, 8))


@T.prim_func
def shared(A: T.Buffer((8, 8), "int32"), C: T.Buffer((8, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((8, 8), "int32")
    for i in range(4):
        for j in range(8):
            B[3, j] = A[i, j]
        for j in range(8):
            if j >= 2 and j < 6:
                B[4, j] = A[i, j]
        for j in range(2, 6):
            C[i, j] = B[3, j] + B[4, j]


def test_several_accesses_have_a_box_around_them():
    assert extents_of(compacted(shared), "B") == [2, 8]
    assert_same_meaning(shared, (8, 8), (8, 8))


@T.prim_func
def clipped(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((12,), "int32")
    for i in range(8):
        for j in range(12):
            if j >= i and j < i + 2:
                B[j] = A[i] + j
        for j in range(12):
            if j >= i and j < i + 2:
                C[i] = B[j]


def test_conditions_bound_what_is_accessed():
    assert loops_around(compacted(clipped), "B") == ["i"]
    assert extents_of(compacted(clipped), "B") == [2]
    assert_same_meaning(clipped, 8, 8)


@T.prim_func
def never_used_whole(A: T.Buffer((8,), "int32"), C: T.Buffer((4,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((8,), "int32")
    for i in range(4):
        B[i + 2] = A[i + 2]
    for i in range(4):
        C[i] = B[i + 2] + B[5 - i]


def test_memory_outside_of_all_loops_becomes_smaller_too():
    assert extents_of(compacted(never_used_whole), "B") == [4]
    assert_same_meaning(never_used_whole, 8, 4)


@T.prim_func
def gathered(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4, 8), "int32")
    for i in range(4):
        for j in range(8):
            B[i, j] = A[i, j]
        for j in range(8):
            C[i, j] = B[i, A[i, j] % 8]


@T.prim_func
def by_pointer(C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(2):
        B[i] = i
        T.evaluate(T.call_extern("int32", "use", B.data))
        C[i] = B[i]


@T.prim_func
def by_address(C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(2):
        B[i] = i
        T.evaluate(T.call_extern("int32", "use", T.address_of(B[0])))
        C[i] = B[i]


@T.prim_func
def with_strides(C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4, 4), "int32", strides=(8, 1))
    for i in range(2):
        B[i, 0] = i
        C[i] = B[i, 0]


def test_data_decides_about_a_dimension():
    assert extents_of(compacted(gathered), "B") == [1, 8]
    assert_same_meaning(gathered, (4, 8), (4, 8))


@pytest.mark.parametrize("func", [by_pointer, by_address])
def test_memory_whose_pointer_is_used_keeps_its_layout(func):
    assert extents_of(compacted(func), "B") == [4]


def test_a_layout_that_is_given_is_kept():
    assert extents_of(compacted(with_strides), "B") == [28]
    assert_same_meaning(with_strides, 4)


@T.prim_func
def vectors(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((32,), "int32")
    for i in range(4):
        for j in range(2):
            B[T.ramp(i * 8 + j * 4, 1, 4)] = A[i, T.ramp(j * 4, 1, 4)]
        C[i, T.ramp(0, 1, 8)] = B[T.ramp(i * 8 + 7, -1, 8)] + B[T.broadcast(i * 8, 8)]


def test_vectors():
    assert extents_of(compacted(vectors), "B") == [8]
    assert_same_meaning(vectors, (4, 8), (4, 8))


@T.prim_func
def named_indices(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((32,), "int32")
    for i in range(4):
        start: T.int32 = i * 8
        for j in range(8):
            place: T.int32 = start + j
            B[place] = A[i, j]
        for j in range(8):
            C[i, j] = B[start + j]


@T.prim_func
def named_data(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((8, 8), "int32")
    for i in range(4):
        row: T.int32 = (A[i, 0] % 8 + 8) % 8
        for j in range(8):
            B[row, j] = A[i, j]
        for j in range(8):
            C[i, j] = B[row, 7 - j]


def test_variables_that_stand_for_indices():
    assert extents_of(compacted(named_indices), "B") == [8]
    assert_same_meaning(named_indices, (4, 8), (4, 8))
    assert loops_around(compacted(named_data), "B") == ["i"]
    assert extents_of(compacted(named_data), "B") == [8, 8]
    assert_same_meaning(named_data, (4, 8), (4, 8))


@T.prim_func
def of_any_size(a: T.handle, c: T.handle):
    T.func_attr({"tir.noalias": True})
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, (m, n), "int32")
    C = T.match_buffer(c, (m, n), "int32")
    B = T.alloc_buffer((m, n), "int32")
    for i in range(m):
        for j0 in range((n + 3) // 4):
            for j1 in range(4):
                with T.block("B"):
                    vi = T.axis.spatial(m, i)
                    vj = T.axis.spatial(n, j0 * 4 + j1)
                    T.where(j0 * 4 + j1 < n)
                    B[vi, vj] = A[vi, vj] + 1
            for j1 in range(4):
                with T.block("C"):
                    vi = T.axis.spatial(m, i)
                    vj = T.axis.spatial(n, j0 * 4 + j1)
                    T.where(j0 * 4 + j1 < n)
                    C[vi, vj] = B[vi, vj] * 2


def test_a_constant_part_of_memory_of_symbolic_size():
    assert extents_of(compacted(of_any_size), "B") == [1, 4]
    assert_same_meaning(of_any_size, (3, 5), (3, 5))
    assert_same_meaning(of_any_size, (3, 0), (3, 0))


@T.prim_func
def empty(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        for j in range(0):
            B[j] = A[i]
        C[i] = A[i]


def test_what_never_runs_accesses_nothing():
    assert_same_meaning(empty, 4, 4)


def test_nothing_changes_where_everything_is_used():
    func = compacted(gathered)
    assert compact_buffers(func) is func
