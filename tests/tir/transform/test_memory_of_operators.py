"""The memory of tiled operators: panels, accumulators, tiles with their borders."""

from tests.tir.transform.memory import assert_same_meaning, compacted, extents_of, loops_around

from tilewright.ir.structural import assert_structural_equal
from tilewright.script import tir as T


def assert_compacted(func, expected):
    """The memory of `func` is as in `expected`."""
    assert_structural_equal(compacted(func).with_attr("global_symbol", "f"),
                            expected.with_attr("global_symbol", "f"))  # fmt: skip


@T.prim_func
def matmul(
    A: T.Buffer((16, 12), "int32"), B: T.Buffer((12, 16), "int32"), C: T.Buffer((16, 16), "int32")
):
    T.func_attr({"tir.noalias": True})
    P = T.alloc_buffer((2, 12, 8), "int32")
    S = T.alloc_buffer((16, 16), "int32", scope="local")
    for j0 in range(2):
        for k, j1 in T.grid(12, 8):
            with T.block("pack"):
                vj, vk, vl = T.axis.remap("SSS", [j0, k, j1])
                P[vj, vk, vl] = B[vk, vj * 8 + vl]
        for i0 in range(4):
            for k, i1, j1 in T.grid(12, 4, 8):
                with T.block("update"):
                    vi = T.axis.spatial(16, i0 * 4 + i1)
                    vj = T.axis.spatial(2, j0)
                    vl = T.axis.spatial(8, j1)
                    vk = T.axis.reduce(12, k)
                    with T.init():
                        S[vi, vj * 8 + vl] = 0
                    S[vi, vj * 8 + vl] = S[vi, vj * 8 + vl] + A[vi, vk] * P[vj, vk, vl]
            for i1, j1 in T.grid(4, 8):
                with T.block("write"):
                    vi = T.axis.spatial(16, i0 * 4 + i1)
                    vj = T.axis.spatial(16, j0 * 8 + j1)
                    C[vi, vj] = S[vi, vj]


@T.prim_func
def matmul_in_tiles(
    A: T.Buffer((16, 12), "int32"), B: T.Buffer((12, 16), "int32"), C: T.Buffer((16, 16), "int32")
):
    T.func_attr({"tir.noalias": True})
    for j0 in range(2):
        P_data = T.allocate([1, 12, 8], "int32", "global")
        P = T.Buffer((1, 12, 8), "int32", data=P_data)
        for k, j1 in T.grid(12, 8):
            P[0, k, j1] = B[k, j0 * 8 + j1]
        for i0 in range(4):
            S_data = T.allocate([4, 8], "int32", "local")
            S = T.Buffer((4, 8), "int32", data=S_data, scope="local")
            for i1_init, j1_init in T.grid(4, 8):
                S[i1_init, j1_init] = 0
            for k, i1, j1 in T.grid(12, 4, 8):
                S[i1, j1] = S[i1, j1] + A[i0 * 4 + i1, k] * P[0, k, j1]
            for i1, j1 in T.grid(4, 8):
                C[i0 * 4 + i1, j0 * 8 + j1] = S[i1, j1]


def test_the_panel_and_the_accumulator_of_a_matrix_product():
    assert_compacted(matmul, matmul_in_tiles)
    assert_same_meaning(matmul, (16, 12), (12, 16), (16, 16))


@T.prim_func
def ragged_matmul(
    A: T.Buffer((5, 7), "int32"), B: T.Buffer((7, 11), "int32"), C: T.Buffer((5, 11), "int32")
):
    T.func_attr({"tir.noalias": True})
    S = T.alloc_buffer((5, 11), "int32", scope="local")
    P = T.alloc_buffer((3, 7, 4), "int32")
    for j0 in T.parallel(3):
        for k, j1 in T.grid(7, 4):
            with T.block("pack"):
                vj, vk, vl = T.axis.remap("SSS", [j0, k, j1])
                P[vj, vk, vl] = T.if_then_else(vj * 4 + vl < 11, B[vk, vj * 4 + vl], 0)
        for i0 in range(3):
            for k0, i1, k1, j1 in T.grid(2, 2, 4, 4):
                with T.block("update"):
                    vi = T.axis.spatial(5, i0 * 2 + i1)
                    vj = T.axis.spatial(11, j0 * 4 + j1)
                    vk = T.axis.reduce(7, k0 * 4 + k1)
                    T.where(i0 * 2 + i1 < 5 and j0 * 4 + j1 < 11 and k0 * 4 + k1 < 7)
                    with T.init():
                        S[vi, vj] = 0
                    S[vi, vj] = S[vi, vj] + A[vi, vk] * P[vj // 4, vk, vj % 4]
            for i1, j1 in T.grid(2, 4):
                with T.block("write"):
                    vi = T.axis.spatial(5, i0 * 2 + i1)
                    vj = T.axis.spatial(11, j0 * 4 + j1)
                    T.where(i0 * 2 + i1 < 5 and j0 * 4 + j1 < 11)
                    C[vi, vj] = S[vi, vj]


def test_tiles_that_do_not_divide():
    func = compacted(ragged_matmul)
    assert loops_around(func, "P") == ["j0"]
    assert extents_of(func, "P") == [1, 7, 4]
    assert loops_around(func, "S") == ["j0", "i0"]
    assert extents_of(func, "S") == [2, 4]
    assert_same_meaning(ragged_matmul, (5, 7), (7, 11), (5, 11))


@T.prim_func
def convolution(
    A: T.Buffer((2, 6, 6), "int32"), W: T.Buffer((2, 3, 3), "int32"), C: T.Buffer((6, 6), "int32")
):
    T.func_attr({"tir.noalias": True})
    P = T.alloc_buffer((2, 8, 8), "int32")
    S = T.alloc_buffer((6, 6), "int32")
    for h0, w0 in T.grid(2, 2):
        for c, h1, w1 in T.grid(2, 6, 5):
            with T.block("pad"):
                vc = T.axis.spatial(2, c)
                vh = T.axis.spatial(8, h0 * 4 + h1)
                vw = T.axis.spatial(8, w0 * 3 + w1)
                T.where(h0 * 4 + h1 < 8)
                P[vc, vh, vw] = T.if_then_else(
                    vh >= 1 and vh < 7 and vw >= 1 and vw < 7, A[vc, vh - 1, vw - 1], 0
                )
        for h1, w1, c, kh, kw in T.grid(4, 3, 2, 3, 3):
            with T.block("conv"):
                vh = T.axis.spatial(6, h0 * 4 + h1)
                vw = T.axis.spatial(6, w0 * 3 + w1)
                vc, vkh, vkw = T.axis.remap("RRR", [c, kh, kw])
                T.where(h0 * 4 + h1 < 6)
                with T.init():
                    S[vh, vw] = 0
                S[vh, vw] = S[vh, vw] + P[vc, vh + vkh, vw + vkw] * W[vc, vkh, vkw]
        for h1, w1 in T.grid(4, 3):
            with T.block("relu"):
                vh = T.axis.spatial(6, h0 * 4 + h1)
                vw = T.axis.spatial(6, w0 * 3 + w1)
                T.where(h0 * 4 + h1 < 6)
                C[vh, vw] = T.max(S[vh, vw], 0)


def test_a_convolution_with_its_padding_and_an_activation():
    func = compacted(convolution)
    assert loops_around(func, "P") == ["h0", "w0"]
    assert extents_of(func, "P") == [2, 6, 5]
    assert loops_around(func, "S") == ["h0", "w0"]
    assert extents_of(func, "S") == [4, 3]
    assert_same_meaning(convolution, (2, 6, 6), (2, 3, 3), (6, 6))


@T.prim_func
def clipped_window(A: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((32,), "int32")
    for i in range(4):
        for ax in range(T.min(i * 8 + 9, 32) - T.max(i * 8 - 1, 0)):
            with T.block("B"):
                v = T.axis.spatial(32, T.max(i * 8 - 1, 0) + ax)
                B[v] = A[v] * 2
        for j in range(8):
            with T.block("C"):
                v = T.axis.spatial(32, i * 8 + j)
                C[v] = B[T.max(v - 1, 0)] + B[T.min(v + 1, 31)]


@T.prim_func
def guarded_window(A: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    T.func_attr({"tir.noalias": True})
    B = T.alloc_buffer((32,), "int32")
    for i in range(4):
        for ax in range(10):
            with T.block("B"):
                T.where(T.max(i * 8 - 1, 0) + ax < 32)
                v = T.axis.spatial(32, T.max(i * 8 - 1, 0) + ax)
                B[v] = A[v] * 2
        for j in range(8):
            with T.block("C"):
                v = T.axis.spatial(32, i * 8 + j)
                C[v] = T.if_then_else(v > 0, B[v - 1], 0) + T.if_then_else(v < 31, B[v + 1], 0)


def test_windows_that_end_where_the_array_ends():
    for func, size in ((clipped_window, 10), (guarded_window, 11)):
        assert loops_around(compacted(func), "B") == ["i"]
        assert extents_of(compacted(func), "B") == [size]
        assert_same_meaning(func, 32, 32)
