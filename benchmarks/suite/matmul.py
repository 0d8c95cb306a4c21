"""Products of two matrices."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.peers import numpy_peer, onnx_peer, torch_peers
from benchmarks.suite.work import Work
from tilewright import te, tir
from tilewright.target import Target
from tilewright.tir import PrimFunc


def program(m: int, n: int, k: int) -> PrimFunc:
    """C = A @ B."""
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    return te.create_prim_func([A, B, C])


def register_tiles(sch: tir.Schedule, target: Target) -> None:
    """A tile of four rows by four vectors of C stays in registers over a part of the reduction."""
    lanes = target.vector_bits // 32
    i, j, k = sch.get_loops("C")
    k0, k1 = sch.split(k, [None, 256])
    i0, i1 = sch.split(i, [None, 4])
    j0, j1, lane = sch.split(j, [None, 4, lanes])
    sch.reorder(k0, j0, i0, k1, i1, j1, lane)
    sch.unroll(i1)
    sch.unroll(j1)
    sch.vectorize(lane)


def matmul(m: int, n: int, k: int, aim: float = 1.0) -> Work:
    """An m x k matrix times a k x n matrix, in float32."""
    return Work(
        name=f"matmul {m}x{n}x{k}",
        program=lambda: program(m, n, k),
        schedule=register_tiles,
        inputs=lambda rng: [rng.standard_normal(s, "float32") for s in ((m, k), (k, n))],
        reference=np.matmul,
        peers={
            "numpy": numpy_peer(np.matmul),
            **torch_peers(lambda torch, a, b, out=None: torch.matmul(a, b, out=out)),
            "onnxruntime": onnx_peer("MatMul"),
        },
        flop=2 * m * n * k,
        bytes=4 * (m * k + k * n + m * n),
        aim=aim,
    )


WORKS = (matmul(1024, 1024, 1024, aim=1.03),)
