"""The workflows that introductions to TensorIR go through, each checked against numpy.

python examples/tensorir_tutorials.py

Programs written for TVM 0.18 look like these; only the lines that import the compiler differ.
"""

from __future__ import annotations

import numpy as np

import tilewright as tvm
from tilewright import te, tir
from tilewright.script import ir as I
from tilewright.script import tir as T

RNG = np.random.default_rng(2024)


@I.ir_module
class VectorAdd:
    """A module with one function in TVMScript."""

    @T.prim_func
    def main(a: T.handle, b: T.handle):
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        A = T.match_buffer(a, (8,), dtype="float32")
        B = T.match_buffer(b, (8,), dtype="float32")
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + 1.0


def first_steps() -> None:
    """A script, its blocks and loops, a schedule, and the code."""
    print(VectorAdd.script())
    sch = tir.Schedule(VectorAdd)
    (i,) = sch.get_loops(sch.get_block("B"))
    outer, middle, inner = sch.split(i, factors=[2, 2, 2])
    sch.reorder(outer, inner, middle)
    sch.mod.show()
    module = tvm.build(sch.mod, target="llvm")
    a, b = tvm.nd.array(np.arange(8, dtype="float32")), tvm.nd.array(np.zeros(8, "float32"))
    module["main"](a, b)
    np.testing.assert_allclose(b.numpy(), np.arange(8) + 1)


def creation() -> None:
    """The same program in three ways: in full, with shorter forms, and from tensor expressions."""
    M = N = K = 48
    dtype = "float32"

    @T.prim_func
    def in_full(a: T.Buffer((M, K), dtype), b: T.Buffer((K, N), dtype), c: T.Buffer((M, N), dtype)):
        for i, j, k in T.grid(M, N, K):
            with T.block("C"):
                vi = T.axis.spatial(M, i)
                vj = T.axis.spatial(N, j)
                vk = T.axis.reduce(K, k)
                T.reads(a[vi, vk], b[vk, vj])
                T.writes(c[vi, vj])
                with T.init():
                    c[vi, vj] = T.float32(0)
                c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vk, vj]

    @T.prim_func
    def shorter(a: T.Buffer((M, K), dtype), b: T.Buffer((K, N), dtype), c: T.Buffer((M, N), dtype)):
        for i, j, k in T.grid(M, N, K):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    c[vi, vj] = 0.0
                c[vi, vj] += a[vi, vk] * b[vk, vj]

    tvm.ir.assert_structural_equal(
        in_full.with_attr("global_symbol", "main"), shorter.with_attr("global_symbol", "main")
    )

    A, B = te.placeholder((M, K), dtype, name="A"), te.placeholder((K, N), dtype, name="B")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    from_te = te.create_prim_func([A, B, C]).with_attr("global_symbol", "from_te")

    a, b = RNG.random((M, K), "float32"), RNG.random((K, N), "float32")
    for function in (in_full, shorter, from_te):
        c = np.zeros((M, N), "float32")
        tvm.build(function, target="llvm")(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4)


def transformation() -> None:
    """A product and an activation: tiles, an epilogue in the tile, and the start on its own."""

    @T.prim_func
    def product_relu(
        A: T.Buffer((64, 64), "float32"),
        B: T.Buffer((64, 64), "float32"),
        C: T.Buffer((64, 64), "float32"),
    ):
        Y = T.alloc_buffer((64, 64), "float32")
        for i, j, k in T.grid(64, 64, 64):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(64, 64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))

    sch = tir.Schedule(product_relu)
    block = sch.get_block("Y", func_name="main")
    i, j, k = sch.get_loops(block)
    j0, j1 = sch.split(j, factors=[None, 8])
    sch.reorder(j0, k, j1)
    sch.reverse_compute_at(sch.get_block("C"), j0)
    sch.decompose_reduction(block, k)
    sch.vectorize(j1)
    sch.parallel(i)
    print(sch.trace)

    a, b = RNG.random((64, 64), "float32") - 0.5, RNG.random((64, 64), "float32") - 0.5
    c = np.zeros((64, 64), "float32")
    tvm.build(sch.mod["main"], target="llvm")["main"](a, b, c)
    np.testing.assert_allclose(c, np.maximum(a @ b, 0), rtol=1e-4, atol=1e-5)


def modules() -> None:
    """A module of two functions, which calls one of them after the other was replaced."""

    @I.ir_module
    class Two:
        @T.prim_func
        def twice(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
            for i in range(16):
                with T.block("B"):
                    vi = T.axis.spatial(16, i)
                    B[vi] = A[vi] * T.float32(2)

        @T.prim_func
        def plus_one(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
            for i in range(16):
                with T.block("B"):
                    vi = T.axis.spatial(16, i)
                    B[vi] = A[vi] + T.float32(1)

    assert sorted(var.name_hint for var in Two.get_global_vars()) == ["plus_one", "twice"]
    sch = tir.Schedule(Two)
    sch.work_on("twice")
    sch.vectorize(sch.get_loops(sch.get_block("B"))[0])
    changed = Two.clone()
    changed.update_func(changed.get_global_var("twice"), sch.mod["twice"])

    module = tvm.build(changed, target="llvm")
    a, b = RNG.random(16, "float32"), np.zeros(16, "float32")
    module["twice"](a, b)
    np.testing.assert_allclose(b, a * 2)
    module["plus_one"](a, b)
    np.testing.assert_allclose(b, a + 1)


def main() -> None:
    for tutorial in (first_steps, creation, transformation, modules):
        tutorial()
        print(f"{tutorial.__name__}: correct")


if __name__ == "__main__":
    main()
