"""exp(A @ B) @ E scheduled by hand, as scripts; `matmul_ladder.py` times them.

python examples/chain_scripts.py
"""

from __future__ import annotations

from tilewright.script import tir as T

M, K, L, N = 1024, 2048, 1024, 3072


@T.prim_func
def tiled(
    A: T.Buffer((M, K), "float32"),
    B: T.Buffer((K, L), "float32"),
    E: T.Buffer((L, N), "float32"),
    F: T.Buffer((M, N), "float32"),
):
    """The three-way tiling as blocks, with exp fused into the tiles of C."""
    T.func_attr({"tir.noalias": True})
    C = T.alloc_buffer((M, L))
    D = T.alloc_buffer((M, L))
    for io in T.serial(M // 16):
        for jo in T.serial(L // 8):
            for ko, ii, ki, ji in T.grid(K // 8, 16, 8, 8):
                with T.block("C"):
                    vi = T.axis.spatial(M, io * 16 + ii)
                    vj = T.axis.spatial(L, jo * 8 + ji)
                    vk = T.axis.reduce(K, ko * 8 + ki)
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] += A[vi, vk] * B[vk, vj]
            for ii, ji in T.grid(16, 8):
                with T.block("D"):
                    vi = T.axis.spatial(M, io * 16 + ii)
                    vj = T.axis.spatial(L, jo * 8 + ji)
                    D[vi, vj] = T.exp(C[vi, vj])
        for jo, ko, ii, ki, ji in T.grid(N // 8, L // 8, 16, 8, 8):
            with T.block("F"):
                vi = T.axis.spatial(M, io * 16 + ii)
                vj = T.axis.spatial(N, jo * 8 + ji)
                vk = T.axis.reduce(L, ko * 8 + ki)
                with T.init():
                    F[vi, vj] = T.float32(0)
                F[vi, vj] += D[vi, vk] * E[vk, vj]


@T.macro
def product(X, Y, Z, rows, depth, columns):
    """Z = X @ Y: panels of Y are packed side by side, and tiles of Z stay in registers."""
    for jo in T.serial(columns // 128):
        panel = T.alloc_buffer((2, depth, 64))
        for p, k in T.grid(2, depth):
            for j in T.vectorized(64):
                with T.block("pack"):
                    vo, vp, vk, vj = T.axis.remap("SSSS", [jo, p, k, j])
                    panel[vp, vk, vj] = Y[vk, vo * 128 + vp * 64 + vj]
        for io, p in T.grid(rows // 4, 2):
            for k in T.serial(depth):
                for i in T.unroll(4):
                    for v in T.unroll(4):
                        for lane in T.vectorized(16):
                            with T.block("tile"):
                                vi = T.axis.spatial(rows, io * 4 + i)
                                vo, vp = T.axis.remap("SS", [jo, p])
                                vj = T.axis.spatial(64, v * 16 + lane)
                                vk = T.axis.reduce(depth, k)
                                with T.init():
                                    Z[vi, vo * 128 + vp * 64 + vj] = T.float32(0)
                                Z[vi, vo * 128 + vp * 64 + vj] += X[vi, vk] * panel[vp, vk, vj]


@T.prim_func
def packed(
    A: T.Buffer((M, K), "float32"),
    B: T.Buffer((K, L), "float32"),
    E: T.Buffer((L, N), "float32"),
    F: T.Buffer((M, N), "float32"),
):
    """Both products with packed panels and register tiles."""
    T.func_attr({"tir.noalias": True})
    C = T.alloc_buffer((M, L))
    D = T.alloc_buffer((M, L))
    product(A, B, C, M, K, L)
    for i, j in T.grid(M, L):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.exp(C[vi, vj])
    product(D, E, F, M, L, N)


if __name__ == "__main__":
    packed.show()
