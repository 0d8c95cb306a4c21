"""Matrices of float16 and bfloat16, with sums in float32."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from benchmarks.harness import threads
from benchmarks.harness.ours import HAND, aligned, compile_work
from benchmarks.harness.peers import tensors
from benchmarks.suite.matmul import matmul, register_tiles
from benchmarks.suite.work import Call, Work
from tilewright import te, tir
from tilewright.target import Target
from tilewright.tir import PrimFunc

ERRORS = {"float32": 1e-5, "float16": 5e-4, "bfloat16": 4e-3}
"""A result is rounded to half a unit of its last place."""


def matmul_program(m: int, n: int, k: int, dtype: str) -> PrimFunc:
    """C = A @ B, where A and B are taken to float32 first, and the result back to `dtype`."""
    A, B = te.placeholder((m, k), dtype, "A"), te.placeholder((k, n), dtype, "B")
    wide_a = te.compute((m, k), lambda i, s: A[i, s].astype("float32"), "wide_a")
    wide_b = te.compute((k, n), lambda s, j: B[s, j].astype("float32"), "wide_b")
    r = te.reduce_axis((0, k), "r")
    P = te.compute((m, n), lambda i, j: te.sum(wide_a[i, r] * wide_b[r, j], axis=r), "P")
    C = te.compute((m, n), lambda i, j: P[i, j].astype(dtype), "C")
    return te.create_prim_func([A, B, C])


def matmul_panels(sch: tir.Schedule, target: Target) -> None:
    """As in float32; A becomes that first, and B where its panels are packed."""
    lanes = target.vector_bits // 32
    register_tiles(sch, target, "P")
    panel = sch.get_loops("P")[2]
    for producer in sch.get_producers("P"):
        if sch.get(producer).name_hint not in ("wide_a", "wide_b"):  # the panels
            sch.compute_inline("wide_b")
    sch.reverse_compute_at("C", panel, preserve_unit_loops=True)
    for block in ("wide_a", "C"):
        _, lane = sch.split(sch.get_loops(block)[-1], [None, lanes])
        sch.vectorize(lane)
    if target.num_cores > 1:
        sch.parallel(sch.get_loops("wide_a")[0])


def vector_program(n: int, k: int, dtype: str) -> PrimFunc:
    """y = x @ W, with products and sums in float32."""
    x, W = te.placeholder((1, k), dtype, "x"), te.placeholder((k, n), dtype, "W")
    r = te.reduce_axis((0, k), "r")
    P = te.compute(
        (1, n),
        lambda i, j: te.sum(x[i, r].astype("float32") * W[r, j].astype("float32"), axis=r),
        "P",
    )
    if dtype == "float32":
        return te.create_prim_func([x, W, P])
    y = te.compute((1, n), lambda i, j: P[i, j].astype(dtype), "y")
    return te.create_prim_func([x, W, y])


def rows_of_the_matrix(sch: tir.Schedule, target: Target) -> None:
    """A few rows of W at a time, as they lie in memory; parts of the result are in registers."""
    lanes = target.vector_bits // 32
    i, j, k = sch.get_loops("P")
    j, vector, lane = sch.split(j, [None, 8, lanes])
    k, row = sch.split(k, [None, 8])
    if target.num_cores > 1:
        part, j = sch.split(j, [target.num_cores, None])
        sch.reorder(part, i, k, j, row, vector, lane)
        sch.parallel(part)
    else:
        sch.reorder(i, k, j, row, vector, lane)
    sch.annotate(j, "software_prefetch", {"W": 2})
    sch.unroll(vector)
    sch.vectorize(lane)


def in_float32(work: Callable[[], Work]) -> Callable[..., Call]:
    """Our own program for the same matrices in float32."""

    def prepare(*inputs: np.ndarray) -> Call:
        wide = [aligned(array.astype("float32")) for array in inputs]
        return compile_work(work(), HAND, wide, threads.count()).call

    return prepare


def torch_matmul(*inputs: np.ndarray) -> Call:
    """torch's product."""
    import torch

    torch.set_num_threads(threads.count())
    a, b = tensors(torch, inputs)
    out = torch.matmul(a, b)

    def call() -> None:
        torch.matmul(a, b, out=out)

    return call


def normal(dtype: str, *shapes: tuple[int, int]) -> Callable[[np.random.Generator], list]:
    """Random matrices of `dtype`."""
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    return lambda rng: [rng.standard_normal(shape, "float32").astype(kind) for shape in shapes]


def matrices(m: int, n: int, k: int, dtype: str) -> Work:
    """An m x k matrix times a k x n matrix."""
    return Work(
        name=f"{dtype} matmul {m}x{n}x{k}",
        program=lambda: matmul_program(m, n, k, dtype),
        schedule=matmul_panels,
        inputs=normal(dtype, (m, k), (k, n)),
        reference=np.matmul,
        peers={"float32": in_float32(lambda: matmul(m, n, k)), "torch": torch_matmul},
        flop=2 * m * n * k,
        bytes=2 * (m * k + k * n + m * n),
        against=("float32",),
        default_aim=0,
        relative_error=ERRORS[dtype],
    )


def vector_times_matrix(n: int, k: int, dtype: str) -> Work:
    """A vector times a matrix, which is read from memory once."""
    size = 4 if dtype == "float32" else 2
    return Work(
        name=f"{dtype} gemv 1x{k} @ {k}x{n}",
        program=lambda: vector_program(n, k, dtype),
        schedule=rows_of_the_matrix,
        inputs=normal(dtype, (1, k), (k, n)),
        reference=np.matmul,
        peers={
            "float32": in_float32(lambda: vector_times_matrix(n, k, "float32")),
            "torch": torch_matmul,
        },
        flop=2 * n * k,
        bytes=size * n * k,
        aim=1.5,
        against=("float32",),
        default_aim=0,
        relative_error=ERRORS[dtype],
    )


WORKS = tuple(
    work
    for dtype in ("float16", "bfloat16")
    for work in (
        matrices(1024, 1024, 1024, dtype),
        matrices(1023, 1021, 1019, dtype),
        vector_times_matrix(4096, 4096, dtype),
    )
)
