"""Programs of many blocks, moved into one nest of loops."""

from tests.tir.schedule.checking import assert_same_meaning

from tilewright.script import tir as T
from tilewright.tir import Schedule


@T.prim_func
def attention(
    Q: T.Buffer((2, 5, 4), "float32"),
    K: T.Buffer((2, 6, 4), "float32"),
    V: T.Buffer((2, 6, 4), "float32"),
    Y: T.Buffer((2, 5, 4), "float32"),
):
    """Like attention, but with operations that are exact on small integers."""
    QS = T.alloc_buffer((2, 5, 4))
    KT = T.alloc_buffer((2, 4, 6))
    S = T.alloc_buffer((2, 5, 6))
    M = T.alloc_buffer((2, 5))
    D = T.alloc_buffer((2, 5, 6))
    E = T.alloc_buffer((2, 5, 6))
    Z = T.alloc_buffer((2, 5))
    P = T.alloc_buffer((2, 5, 6))
    W = T.alloc_buffer((2, 5, 4))
    for b, i, k in T.grid(2, 5, 4):
        with T.block("QS"):
            vb, vi, vk = T.axis.remap("SSS", [b, i, k])
            QS[vb, vi, vk] = Q[vb, vi, vk] * T.float32(2)
    for b, k, j in T.grid(2, 4, 6):
        with T.block("KT"):
            vb, vk, vj = T.axis.remap("SSS", [b, k, j])
            KT[vb, vk, vj] = K[vb, vj, vk]
    for b, i, j, k in T.grid(2, 5, 6, 4):
        with T.block("S"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                S[vb, vi, vj] = T.float32(0)
            S[vb, vi, vj] = S[vb, vi, vj] + QS[vb, vi, vk] * KT[vb, vk, vj]
    for b, i, j in T.grid(2, 5, 6):
        with T.block("M"):
            vb, vi, vj = T.axis.remap("SSR", [b, i, j])
            with T.init():
                M[vb, vi] = T.float32(-100000)
            M[vb, vi] = T.max(M[vb, vi], S[vb, vi, vj])
    for b, i, j in T.grid(2, 5, 6):
        with T.block("D"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            D[vb, vi, vj] = S[vb, vi, vj] - M[vb, vi]
    for b, i, j in T.grid(2, 5, 6):
        with T.block("E"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            E[vb, vi, vj] = D[vb, vi, vj] * T.float32(3)
    for b, i, j in T.grid(2, 5, 6):
        with T.block("Z"):
            vb, vi, vj = T.axis.remap("SSR", [b, i, j])
            with T.init():
                Z[vb, vi] = T.float32(0)
            Z[vb, vi] = Z[vb, vi] + E[vb, vi, vj]
    for b, i, j in T.grid(2, 5, 6):
        with T.block("P"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            P[vb, vi, vj] = E[vb, vi, vj] - Z[vb, vi]
    for b, i, k, j in T.grid(2, 5, 4, 6):
        with T.block("W"):
            vb, vi, vk, vj = T.axis.remap("SSSR", [b, i, k, j])
            with T.init():
                W[vb, vi, vk] = T.float32(0)
            W[vb, vi, vk] = W[vb, vi, vk] + P[vb, vi, vj] * V[vb, vj, vk]
    for b, i, k in T.grid(2, 5, 4):
        with T.block("Y"):
            vb, vi, vk = T.axis.remap("SSS", [b, i, k])
            Y[vb, vi, vk] = W[vb, vi, vk] + Q[vb, vi, vk]


def test_attention_with_all_but_the_reductions_inlined():
    sch = Schedule(attention, debug_mask="all")
    for name in ("QS", "KT", "D", "E", "P"):
        sch.compute_inline(name)
    _, i, _ = sch.get_loops("Y")
    i_0, _ = sch.split(i, [None, 2])
    for name in ("W", "Z", "M", "S"):
        sch.compute_at(name, i_0)
    assert_same_meaning(attention, sch)
    assert len(sch.get_child_blocks(i_0)) == 5


def test_attention_with_every_producer_in_the_loops_of_the_last_block():
    sch = Schedule(attention, debug_mask="all")
    _, i, _ = sch.get_loops("Y")
    i_0, _ = sch.split(i, [None, 2])
    for name in ("W", "P", "Z", "E", "D", "M", "S", "KT", "QS"):
        sch.compute_at(name, i_0)
    assert_same_meaning(attention, sch)
    assert len(sch.get_child_blocks(i_0)) == 10


def test_attention_with_every_consumer_in_the_loops_of_the_first_product():
    sch = Schedule(attention, debug_mask="all")
    sch.reverse_compute_inline("E")
    _, i, _, _ = sch.get_loops("S")
    for name in ("M", "D", "Z", "P", "W", "Y"):
        sch.reverse_compute_at(name, i)
    assert_same_meaning(attention, sch)
    assert len(sch.get_child_blocks(i)) == 7


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


def test_matmul_by_blocks_of_threads():
    sch = Schedule(matmul, debug_mask="all")
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    result = sch.cache_write(block, 0, "local")
    inputs = [sch.cache_read(block, position, "shared") for position in (0, 1)]
    i_0, i_1, i_2 = sch.split(i, [2, 2, 2])
    j_0, j_1, j_2 = sch.split(j, [2, 2, 2])
    k_0, k_1 = sch.split(k, [None, 4])
    sch.reorder(i_0, j_0, i_1, j_1, k_0, k_1, i_2, j_2)
    for loop, axis in ((i_0, "blockIdx.y"), (j_0, "blockIdx.x")):
        sch.bind(loop, axis)
    for loop, axis in ((i_1, "threadIdx.y"), (j_1, "threadIdx.x")):
        sch.bind(loop, axis)
    sch.reverse_compute_at(result, j_1)
    for cache in inputs:
        sch.compute_at(cache, k_0)
    assert_same_meaning(matmul, sch)
    # All threads of a block share what they read, and so each of them reads the whole tile.
    first, last = sch.get_loops(inputs[0])[-2:]
    assert sch.get(first).extent.value == sch.get(last).extent.value == 4
    assert "T.axis.spatial(8, i_0 * 4 + ax0)" in sch.mod.script()
