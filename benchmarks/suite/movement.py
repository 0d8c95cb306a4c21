"""What does little but move memory: transposes, and sums of rows and of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.peers import numpy_peer, onnx_peer, torch_peers
from benchmarks.suite.work import Work
from tilewright import te, tir
from tilewright.target import Target
from tilewright.tir import PrimFunc

N = 4096


def transpose(m: int, n: int) -> PrimFunc:
    """The transpose of an m x n matrix."""
    X = te.placeholder((m, n), name="X")
    Y = te.compute((n, m), lambda i, j: X[j, i], name="Y")
    return te.create_prim_func([X, Y])


def row_sums(m: int, n: int) -> PrimFunc:
    """The sums of the rows of an m x n matrix."""
    X = te.placeholder((m, n), name="X")
    k = te.reduce_axis((0, n), name="k")
    Y = te.compute((m,), lambda i: te.sum(X[i, k], axis=k), name="Y")
    return te.create_prim_func([X, Y])


def column_sums(m: int, n: int) -> PrimFunc:
    """The sums of the columns of an m x n matrix."""
    X = te.placeholder((m, n), name="X")
    k = te.reduce_axis((0, m), name="k")
    Y = te.compute((n,), lambda j: te.sum(X[k, j], axis=k), name="Y")
    return te.create_prim_func([X, Y])


def schedule_transpose(sch: tir.Schedule, target: Target) -> None:
    """Square tiles of vectors are transposed in registers, and whole cache lines written at once.

    Two by two tiles at a time read whole pairs of cache lines.
    """
    lanes = target.vector_bits // 32
    i, j = sch.get_loops("Y")
    i0, i1, i2 = sch.split(i, [None, 2, lanes])
    j0, j1, j2 = sch.split(j, [None, 2, lanes])
    sch.reorder(j0, i0, i1, j1, i2, j2)
    sch.unroll(i2)
    sch.vectorize(j2)
    sch.annotate(j0, "nontemporal_stores", ["Y"])


def schedule_row_sums(sch: tir.Schedule, target: Target) -> None:
    """Eight rows at once, each with sums in the lanes of a vector."""
    i, k = sch.get_loops("Y")
    i0, i1 = sch.split(i, [None, 8])
    k0, k1 = sch.split(k, [None, target.vector_bits // 32])
    sch.reorder(i0, k0, i1, k1)
    sch.unroll(i1)
    sch.vectorize(k1)
    sch.annotate(k0, "software_prefetch", {"X": 16})


def schedule_column_sums(sch: tir.Schedule, target: Target) -> None:
    """Eight rows at once are added to the sums, which stay in the first-level cache."""
    j, k = sch.get_loops("Y")
    j0, j1 = sch.split(j, [None, target.vector_bits // 32])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(k0, j0, k1, j1)
    sch.unroll(k1)
    sch.vectorize(j1)


def work(
    name: str,
    program: Callable[[int, int], PrimFunc],
    schedule: Callable[[tir.Schedule, Target], None],
    reference: Callable[..., np.ndarray],
    peers: dict[str, Any],
    written: int,
) -> Work:
    """`program` on a square matrix, which writes so many numbers."""
    return Work(
        name=f"{name} {N}x{N}",
        program=lambda: program(N, N),
        schedule=schedule,
        inputs=lambda rng: [rng.standard_normal((N, N), "float32")],
        reference=reference,
        peers=peers,
        bytes=4 * (N * N + written),
    )


def sums(axis: int) -> dict[str, Any]:
    """Sums along an axis, by others."""
    return {
        "numpy": numpy_peer(lambda x, out=None: np.sum(x, axis=axis, out=out)),
        **torch_peers(lambda torch, x, out=None: torch.sum(x, dim=axis, out=out)),
        "onnxruntime": onnx_peer("ReduceSum", axes=[axis], keepdims=0, opset=11),
    }


def _copied(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    out = np.empty(x.shape[::-1], x.dtype) if out is None else out
    np.copyto(out, x.T)
    return out


def _copied_by_torch(torch: Any, x: Any, out: Any = None) -> Any:
    return x.T.contiguous() if out is None else out.copy_(x.T)


WORKS = (
    work(
        "transpose", transpose, schedule_transpose, np.transpose,
        {
            "numpy": numpy_peer(_copied),
            **torch_peers(_copied_by_torch),
            "onnxruntime": onnx_peer("Transpose", perm=[1, 0]),
        },
        N * N,
    ),
    work("row sums", row_sums, schedule_row_sums, lambda x: x.sum(axis=1), sums(1), N),
    work("column sums", column_sums, schedule_column_sums, lambda x: x.sum(axis=0), sums(0), N),
)  # fmt: skip
