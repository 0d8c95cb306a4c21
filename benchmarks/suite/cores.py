"""Works that threads share: what several cores make of each kind of loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.peers import numpy_peer, torch_peers
from benchmarks.suite import matmul
from benchmarks.suite.work import Work
from tilewright import te, tir
from tilewright.script import tir as T
from tilewright.target import Target
from tilewright.tir import PrimFunc

ELEMENTS = 1 << 24
ROWS = 4096


def blocks_of_columns(sch: tir.Schedule, target: Target) -> None:
    """Each thread packs blocks of columns of B for itself, and computes those of C.

    A block is half of the cache next to a core; register tiles are six rows by four vectors.
    """
    lanes = target.vector_bits // 32
    width = 4 * lanes
    i, j, k = sch.get_loops("C")
    j0, panel, vector, lane = sch.split(j, [None, 4, 4, lanes])
    i0, row = sch.split(i, [None, 6])
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(j0, i0, panel, k0, k1, row, vector, lane)
    copy = sch.reindex_cache_read("C", 1, "global", lambda i, j, k: (j // width, k, j % width))
    sch.compute_at(copy, j0)
    column, depth = sch.get_loops(copy)[1:]
    p, c, copied = sch.split(column, [None, 4, lanes])
    sch.reorder(p, depth, c, copied)
    sch.vectorize(copied)
    for loop in (k1, row, vector):
        sch.unroll(loop)
    sch.vectorize(lane)
    sch.parallel(j0)


def product() -> Work:
    """A large product of matrices."""
    size = 1024
    return Work(
        name=f"matmul {size}x{size}x{size} in blocks of columns",
        program=lambda: matmul.program(size, size, size),
        schedule=blocks_of_columns,
        inputs=lambda rng: [rng.standard_normal((size, size), "float32") for _ in range(2)],
        reference=np.matmul,
        peers={
            "numpy": numpy_peer(np.matmul),
            **torch_peers(lambda torch, a, b, out=None: torch.matmul(a, b, out=out)),
        },
        flop=2 * size**3,
        bytes=12 * size**2,
        scaling=1.85,
    )


def stream(sch: tir.Schedule, target: Target) -> None:
    """Equal parts of the elements; the compiler makes vectors of them."""
    del target
    sch.parallel(sch.get_loops("Y")[0])


def streams(
    name: str,
    formula: Callable[[te.Tensor], object],
    in_numpy: Callable[..., np.ndarray],
    in_torch: Callable[..., object],
) -> Work:
    """A formula of more elements than caches hold: the memory limits how much it scales."""

    def program() -> PrimFunc:
        X = te.placeholder((ELEMENTS,), name="X")
        return te.create_prim_func([X, te.compute((ELEMENTS,), lambda i: formula(X[i]), name="Y")])

    return Work(
        name=f"{name} of {ELEMENTS} elements",
        program=program,
        schedule=stream,
        inputs=lambda rng: [rng.standard_normal(ELEMENTS, "float32")],
        reference=lambda x: in_numpy(x),
        peers={"numpy": numpy_peer(in_numpy), **torch_peers(in_torch)},
        flop=ELEMENTS,
        bytes=8 * ELEMENTS,
        aim=0,
        default_aim=0,
    )


def copy_in_torch(torch: Any, x: Any, out: Any = None) -> Any:
    """A copy into memory that is there."""
    return x.clone() if out is None else out.copy_(x)


@T.prim_func
def triangle(A: T.Buffer((ROWS, ROWS), "float32"), B: T.Buffer((ROWS,), "float32")):
    """B[i] = the sum of A[i, 0] ... A[i, i]."""
    T.func_attr({"tir.noalias": True, "tir.reassociate": True})
    for i in range(ROWS):
        with T.block("B"):
            v = T.axis.spatial(ROWS, i)
            B[v] = 0.0
            for j in range(v + 1):
                B[v] += A[v, j]


def balanced(sch: tir.Schedule, target: Target) -> None:
    """Threads take rows as they are done with others: late rows are longer than early ones."""
    del target
    (i,) = sch.get_loops("B")
    sch.parallel(i)
    sch.annotate(i, "pragma_parallel_schedule", "dynamic")


def sums_of_a_triangle() -> Work:
    """Iterations of different lengths."""
    return Work(
        name=f"sums of the rows of a triangle of {ROWS}x{ROWS}",
        program=lambda: triangle,
        schedule=balanced,
        inputs=lambda rng: [rng.standard_normal((ROWS, ROWS), "float32")],
        reference=lambda a: np.tril(a).sum(axis=1),
        peers={"numpy": numpy_peer(lambda a: np.tril(a).sum(axis=1))},
        flop=ROWS * ROWS / 2,
        bytes=2 * ROWS * ROWS,
        aim=0,
        against=("numpy",),
        default_aim=0,
    )


WORKS = (
    product(),
    streams("copy", lambda x: x, np.positive, copy_in_torch),
    streams("exp", te.exp, np.exp, lambda torch, x, out=None: torch.exp(x, out=out)),
    sums_of_a_triangle(),
)
