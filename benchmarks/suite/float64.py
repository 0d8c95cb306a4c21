"""Products of matrices in float64."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.peers import numpy_peer, torch_peers
from benchmarks.suite.matmul import register_tiles
from benchmarks.suite.work import Work
from tilewright import te
from tilewright.tir import PrimFunc


def program(m: int, n: int, k: int) -> PrimFunc:
    """C = A @ B."""
    A, B = te.placeholder((m, k), "float64", "A"), te.placeholder((k, n), "float64", "B")
    r = te.reduce_axis((0, k), "r")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    return te.create_prim_func([A, B, C])


def matmul(m: int, n: int, k: int) -> Work:
    """An m x k matrix times a k x n matrix."""
    return Work(
        name=f"float64 matmul {m}x{n}x{k}",
        program=lambda: program(m, n, k),
        schedule=register_tiles,
        inputs=lambda rng: [rng.standard_normal(shape) for shape in ((m, k), (k, n))],
        reference=np.matmul,
        peers={
            "numpy": numpy_peer(np.matmul),
            **torch_peers(lambda torch, a, b, out=None: torch.matmul(a, b, out=out)),
        },
        flop=2 * m * n * k,
        bytes=8 * (m * k + k * n + m * n),
        relative_error=1e-13,
    )


WORKS = (matmul(1024, 1024, 1024), matmul(1023, 1021, 1019))
