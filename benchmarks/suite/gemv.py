"""Products of a vector and a matrix."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.peers import numpy_peer, onnx_peer, torch_peers
from benchmarks.suite.matmul import program
from benchmarks.suite.work import Work
from tilewright import tir
from tilewright.target import Target


def columns_in_registers(sch: tir.Schedule, target: Target) -> None:
    """Eight vectors of the result are in registers while the reduction goes down the matrix."""
    lanes = target.vector_bits // 32
    i, j, k = sch.get_loops("C")
    j0, j1, lane = sch.split(j, [None, 8, lanes])
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(i, j0, k0, k1, j1, lane)
    sch.unroll(k1)
    sch.unroll(j1)
    sch.vectorize(lane)


def rows_at_once(sch: tir.Schedule, target: Target) -> None:
    """Eight rows of the matrix at once go into the result, which stays in the first-level cache."""
    i, j, k = sch.get_loops("C")
    j0, lane = sch.split(j, [None, target.vector_bits // 32])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(i, k0, j0, k1, lane)
    sch.unroll(k1)
    sch.vectorize(lane)
    sch.annotate(j0, "software_prefetch", {"B": 8})


def product(n: int, k: int, schedule: object, aim: float, tuned_aim: float = 0) -> Work:
    """A row of k elements times a k x n matrix."""
    return Work(
        name=f"1x{k} @ {k}x{n}",
        program=lambda: program(1, n, k),
        schedule=schedule,
        inputs=lambda rng: [rng.standard_normal(s, "float32") for s in ((1, k), (k, n))],
        reference=np.matmul,
        peers={
            "numpy": numpy_peer(np.matmul),
            **torch_peers(lambda torch, a, b, out=None: torch.matmul(a, b, out=out)),
            "onnxruntime": onnx_peer("MatMul"),
        },
        flop=2 * n * k,
        bytes=4 * (k + n * k + n),
        aim=aim,
        tuned_aim=tuned_aim,
    )


WORKS = (
    product(128, 784, columns_in_registers, aim=1.5, tuned_aim=1.5),
    product(4096, 4096, rows_at_once, aim=1.05),
)
