"""Programs and records for tests of the command line."""

PROGRAM = '''
"""Two programs, one made by a function."""

from tilewright import te
from tilewright.script import ir as I
from tilewright.script import tir as T


@I.ir_module
class Matmul:
    @T.prim_func
    def main(
        A: T.Buffer((16, 16), "float32"),
        B: T.Buffer((16, 16), "float32"),
        C: T.Buffer((16, 16), "float32"),
    ):
        T.func_attr({"tir.noalias": T.bool(True)})
        for i, j, k in T.grid(16, 16, 16):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def doubled():
    A = te.placeholder((16,), name="A")
    return te.create_prim_func([A, te.compute((16,), lambda i: A[i] * 2.0, name="C")])


size = 16
'''
