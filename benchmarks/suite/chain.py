"""exp(A @ B) @ E: two products of matrices with a function of each element between them."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.peers import numpy_peer, torch_peers
from benchmarks.suite.matmul import register_tiles
from benchmarks.suite.work import Work
from tilewright import te, tir
from tilewright.target import Target
from tilewright.tir import PrimFunc


def program(m: int, k: int, inner: int, n: int) -> PrimFunc:
    """C = A @ B, D = exp(C), F = D @ E."""
    A, B, E = (
        te.placeholder(shape, name=name)
        for shape, name in (((m, k), "A"), ((k, inner), "B"), ((inner, n), "E"))
    )
    r, s = te.reduce_axis((0, k), name="k"), te.reduce_axis((0, inner), name="l")
    C = te.compute((m, inner), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    D = te.compute((m, inner), lambda i, j: te.exp(C[i, j]), name="D")
    F = te.compute((m, n), lambda i, j: te.sum(D[i, s] * E[s, j], axis=s), name="F")
    return te.create_prim_func([A, B, E, F])


def fused(sch: tir.Schedule, target: Target) -> None:
    """Both products in register tiles; exp is taken of a tile of the first while it is there."""
    register_tiles(sch, target, "C")
    register_tiles(sch, target, "F")
    panel = next(loop for loop in sch.get_loops("C") if sch.get(loop).loop_var.name.endswith("j_1"))
    sch.reverse_compute_at("D", panel)
    row, column = sch.get_loops("D")[-2:]
    lanes = target.vector_bits // 32
    vector, lane = sch.split(column, [None, lanes])
    sch.unroll(row)
    sch.unroll(vector)
    sch.vectorize(lane)


def exact(a: np.ndarray, b: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The result, of inputs in float64."""
    return np.exp(a @ b) @ e


def inputs(m: int, k: int, inner: int, n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Matrices for which the exponents are around 1."""
    scale = np.float32(k**-0.5)
    a = rng.standard_normal((m, k), "float32") * scale
    return [a, *(rng.standard_normal(shape, "float32") for shape in ((k, inner), (inner, n)))]


def chain(m: int, k: int, inner: int, n: int, aim: float = 1.0) -> Work:
    """exp(A @ B) @ E in float32, of an m x k, a k x inner and an inner x n matrix."""
    return Work(
        name=f"chain {m}x{k}x{inner}x{n}",
        program=lambda: program(m, k, inner, n),
        schedule=fused,
        inputs=lambda rng: inputs(m, k, inner, n, rng),
        reference=exact,
        peers={
            "numpy": numpy_peer(lambda a, b, e, out=None: np.matmul(np.exp(a @ b), e, out=out)),
            **torch_peers(
                lambda torch, a, b, e, out=None: torch.matmul(torch.exp(a @ b), e, out=out)
            ),
        },
        flop=2 * m * k * inner + 2 * m * inner * n,
        bytes=4 * (m * k + k * inner + inner * n + m * n),
        aim=aim,
        tuned_aim=aim,
    )


WORKS = (chain(1024, 2048, 1024, 3072, aim=1.03),)
