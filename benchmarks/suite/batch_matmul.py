"""Products of many small matrices, as in attention."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.peers import numpy_peer, onnx_peer, torch_peers
from benchmarks.suite.work import Work
from tilewright import te, tir
from tilewright.target import Target
from tilewright.tir import PrimFunc


def program(batch: int, m: int, k: int, n: int) -> PrimFunc:
    """C[b] = A[b] @ B[b]."""
    A = te.placeholder((batch, m, k), name="A")
    B = te.placeholder((batch, k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    C = te.compute((batch, m, n), lambda b, i, j: te.sum(A[b, i, r] * B[b, r, j], axis=r), name="C")
    return te.create_prim_func([A, B, C])


def register_tiles(sch: tir.Schedule, target: Target) -> None:
    """Four rows by four vectors of C stay in registers; each batch fits the cache as it is."""
    lanes = target.vector_bits // 32
    vectors = 4 if target.vector_registers == 32 else 2
    b, i, j, k = sch.get_loops("C")
    i, row = sch.split(i, [None, 4])
    j, vector, lane = sch.split(j, [None, vectors, lanes])
    k, step = sch.split(k, [None, 4])
    sch.reorder(b, i, j, k, step, row, vector, lane)
    for loop in (step, row, vector):
        sch.unroll(loop)
    sch.vectorize(lane)
    sch.decompose_reduction("C", k)
    if target.num_cores > 1:
        sch.parallel(b)


def batch_matmul(batch: int, m: int, k: int, n: int) -> Work:
    """`batch` products of m x k and k x n matrices."""
    return Work(
        name=f"batch_matmul {batch}x{m}x{k}x{n}",
        program=lambda: program(batch, m, k, n),
        schedule=register_tiles,
        inputs=lambda rng: [
            rng.standard_normal(shape, "float32") for shape in ((batch, m, k), (batch, k, n))
        ],
        reference=np.matmul,
        peers={
            "numpy": numpy_peer(np.matmul),
            **torch_peers(lambda torch, a, b, out=None: torch.bmm(a, b, out=out)),
            "onnxruntime": onnx_peer("MatMul"),
        },
        flop=2 * batch * m * k * n,
        bytes=4 * batch * (m * k + k * n + m * n),
        tuned_aim=1.0,
    )


WORKS = (batch_matmul(12, 128, 64, 128),)
