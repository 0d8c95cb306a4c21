"""Memory moves into the loops that use it, as far as iterations can have memory of their own."""

from tests.tir.transform.memory import assert_same_meaning, loops_around, planned

from tilewright.ir.structural import assert_structural_equal
from tilewright.script import tir as T


@T.prim_func
def tiles(A: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((32,), "int32")
    for i in range(4):
        for j in range(8):
            with T.block("B"):
                v = T.axis.spatial(32, i * 8 + j)
                B[v] = A[v] + 1
        for j in range(8):
            with T.block("C"):
                v = T.axis.spatial(32, i * 8 + j)
                C[v] = B[v] * 2


@T.prim_func
def tiles_with_memory_of_their_own(A: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        B_data = T.allocate([32], "int32", "global")
        B = T.Buffer((32,), "int32", data=B_data)
        for j in range(8):
            B[i * 8 + j] = A[i * 8 + j] + 1
        for j in range(8):
            C[i * 8 + j] = B[i * 8 + j] * 2


def test_memory_of_a_tile_is_allocated_in_the_loop_over_tiles():
    assert_structural_equal(
        planned(tiles).with_attr("global_symbol", "f"),
        tiles_with_memory_of_their_own.with_attr("global_symbol", "f"),
    )
    assert_same_meaning(tiles, 32, 32)


@T.prim_func
def parallel_rows(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4, 8), "int32")
    for i in T.parallel(4):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1
        for j in T.vectorized(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, 7 - vj]


@T.prim_func
def shared_table(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((8,), "int32")
    for j in range(8):
        B[j] = A[0, j] * 2
    for i in T.parallel(4):
        for j in range(8):
            C[i, j] = B[j] + A[i, j]


def test_parallel_iterations_have_memory_of_their_own_where_they_need_no_more():
    assert loops_around(planned(parallel_rows), "B") == ["i"]
    assert_same_meaning(parallel_rows, (4, 8), (4, 8))
    assert loops_around(planned(shared_table), "B") == []
    assert_same_meaning(shared_table, (4, 8), (4, 8))


@T.prim_func
def innermost(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4, 8), "int32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * B[vi, vj]


@T.prim_func
def lanes(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4, 8), "int32")
    for i in range(4):
        for j in T.vectorized(8):
            B[i, j] = A[i, j] + 1
            C[i, j] = B[i, j] * B[i, j]


@T.prim_func
def vectors(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4, 8), "int32")
    for i in range(4):
        for j in range(2):
            B[i, T.ramp(j * 4, 1, 4)] = A[i, T.ramp(j * 4, 1, 4)] + T.broadcast(1, 4)
        C[i, T.ramp(0, 1, 8)] = B[i, T.ramp(7, -1, 8)]


def test_memory_moves_up_to_loops_that_become_one_piece_of_code():
    assert loops_around(planned(innermost), "B") == ["i", "j"]
    assert_same_meaning(innermost, (4, 8), (4, 8))
    assert loops_around(planned(lanes), "B") == ["i"]
    assert_same_meaning(lanes, (4, 8), (4, 8))
    assert loops_around(planned(vectors), "B") == ["i"]
    assert_same_meaning(vectors, (4, 8), (4, 8))


@T.prim_func
def nested_blocks(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((4, 8), "int32")
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            for j in range(8):
                with T.block("B"):
                    vj = T.axis.spatial(8, j)
                    B[vi, vj] = A[vi, vj]
            for j in range(8):
                with T.block("C"):
                    vj = T.axis.spatial(8, j)
                    D = T.match_buffer(B[vi, 0:8], (8,), "int32")
                    C[vi, vj] = D[7 - vj]


def test_blocks_in_blocks_and_views():
    assert loops_around(planned(nested_blocks), "B") == ["i"]
    assert_same_meaning(nested_blocks, (4, 8), (4, 8))


@T.prim_func
def by_pointer(C: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        B[i] = i
        T.evaluate(T.call_extern("int32", "use", B.data))
        C[i] = B[i]


def test_memory_whose_pointer_is_used_stays():
    assert loops_around(planned(by_pointer), "B") == []


@T.prim_func
def unwanted(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        B[i] = 0
        for j in range(8):
            B[i] = B[i] + A[i, j]
            C[i, j] = 1


def test_results_that_nobody_reads_stay():
    assert loops_around(planned(unwanted), "B") == []
    assert_same_meaning(unwanted, (4, 8), (4, 8))


@T.prim_func
def kernel(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    L = T.alloc_buffer((4, 8), "int32", scope="local")
    S = T.alloc_buffer((4, 8), "int32", scope="shared")
    G = T.alloc_buffer((4, 8), "int32")
    for i in T.thread_binding(4, "blockIdx.x"):
        for j in T.thread_binding(8, "threadIdx.x"):
            L[i, j] = A[i, j]
            S[i, j] = L[i, j] + 1
            G[i, j] = S[i, j] * 2
            C[i, j] = G[i, j]


def test_threads_own_what_their_scope_says():
    func = planned(kernel)
    assert loops_around(func, "L") == ["i", "j"]
    assert loops_around(func, "S") == ["i"]
    assert loops_around(func, "G") == []
    assert_same_meaning(kernel, (4, 8), (4, 8))


@T.prim_func
def exchange(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4, 8), "int32")):
    T.func_attr({"tir.noalias": True})
    S = T.alloc_buffer((8,), "int32", scope="shared")
    for i in T.thread_binding(4, "blockIdx.x"):
        for j in T.thread_binding(8, "threadIdx.x"):
            if A[i, j] > 0:
                S[j] = A[i, j]
            if A[i, j] > 0:
                C[i, j] = S[j]


def test_a_block_of_threads_owns_shared_memory_whatever_it_reads():
    assert loops_around(planned(exchange), "S") == ["i"]
    assert_same_meaning(exchange, (4, 8), (4, 8))
