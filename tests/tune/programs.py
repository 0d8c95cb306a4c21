"""Small programs to tune."""

from tilewright.script import ir as I
from tilewright.script import tir as T


@T.prim_func
def matmul(
    A: T.Buffer((8, 12), "float32"),
    B: T.Buffer((12, 16), "float32"),
    C: T.Buffer((8, 16), "float32"),
):
    for i, j, k in T.grid(8, 16, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def scale_and_shift(A: T.Buffer((12, 8), "float32"), C: T.Buffer((12, 8), "float32")):
    B = T.alloc_buffer((12, 8))
    for i, j in T.grid(12, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(12, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@I.ir_module
class TwoFunctions:
    @T.prim_func
    def first(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)

    @T.prim_func
    def second(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(3)
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi] + T.float32(1)
