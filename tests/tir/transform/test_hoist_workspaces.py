"""Large memory is allocated in front of loops, small memory and that of threads where it is."""

import numpy as np
from tests.passes import lower
from tests.tir.transform.memory import assert_same_meaning, loops_around

import tilewright as tvm
from tilewright.ir.structural import assert_structural_equal
from tilewright.script import tir as T
from tilewright.tir import seq
from tilewright.tir.transform.hoist_workspaces import hoist_workspaces


@T.prim_func
def in_loops(C: T.Buffer((4, 4), "int32")):
    for i in range(4):
        B_data = T.allocate([10000], "int32", "global")
        B = T.Buffer((10000,), "int32", data=B_data)
        S_data = T.allocate([4], "int32", "global")
        S = T.Buffer((4,), "int32", data=S_data)
        for j in range(4):
            S[j] = i + j
            B[j * 2000] = S[j] * 2
        for j in T.unroll(4):
            C[i, j] = B[(3 - j) * 2000] + S[j]


@T.prim_func
def in_front(C: T.Buffer((4, 4), "int32")):
    B_data = T.allocate([10000], "int32", "global")
    for i in range(4):
        B = T.Buffer((10000,), "int32", data=B_data)
        S_data = T.allocate([4], "int32", "global")
        S = T.Buffer((4,), "int32", data=S_data)
        for j in range(4):
            S[j] = i + j
            B[j * 2000] = S[j] * 2
        for j in T.unroll(4):
            C[i, j] = B[(3 - j) * 2000] + S[j]


def test_memory_from_the_heap_is_allocated_in_front_of_loops():
    assert_structural_equal(
        hoist_workspaces(in_loops).with_attr("global_symbol", "f"),
        in_front.with_attr("global_symbol", "f"),
    )


@T.prim_func
def in_a_parallel_loop(A: T.Buffer((2, 3), "int32"), C: T.Buffer((2, 3), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((2, 3, 9000), "int32")
    for i in T.parallel(2):
        for j in range(3):
            B[i, j, 0] = A[i, j]
            B[i, j, 8999] = A[i, j] + 1
            C[i, j] = B[i, j, 0] + B[i, j, 8999]


def test_parallel_iterations_keep_memory_of_their_own():
    assert loops_around(lower(in_a_parallel_loop), "B") == ["i"]
    assert_same_meaning(in_a_parallel_loop, (2, 3), (2, 3))


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


def test_memory_of_a_size_that_does_not_change_in_the_loop():
    assert loops_around(lower(of_any_size), "B") == []
    assert_same_meaning(of_any_size, (3, 5), (3, 5))


@T.prim_func
def of_changing_size(C: T.Buffer((4,), "int32")):
    for i in range(4):
        B_data = T.allocate([i * 10000 + 1], "int32", "global")
        B = T.Buffer((i * 10000 + 1,), "int32", data=B_data)
        B[i * 10000] = i
        C[i] = B[i * 10000]


def test_memory_of_a_size_that_changes_stays():
    assert hoist_workspaces(of_changing_size) is of_changing_size


def test_one_pointer_to_memory_in_two_places_stays():
    twice = in_loops.with_body(seq(in_loops.body, in_loops.body))
    assert hoist_workspaces(twice) is twice


def test_compiled_code_finds_its_memory():
    C = np.zeros((4, 4), "int32")
    tvm.build(in_loops, target="llvm")["in_loops"](C)
    i, j = np.indices((4, 4))
    np.testing.assert_array_equal(C, 2 * (i + 3 - j) + i + j)
