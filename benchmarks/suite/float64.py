"""Products of matrices in float64."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.peers import numpy_peer, torch_peers
from benchmarks.suite.work import Work
from tilewright import te, tir
from tilewright.target import Target
from tilewright.tir import PrimFunc


def program(m: int, n: int, k: int) -> PrimFunc:
    """C = A @ B."""
    A, B = te.placeholder((m, k), "float64", "A"), te.placeholder((k, n), "float64", "B")
    r = te.reduce_axis((0, k), "r")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    return te.create_prim_func([A, B, C])


def panels(sch: tir.Schedule, target: Target) -> None:
    """Tiles of C in registers, and panels of B in half of the second-level cache."""
    lanes, vectors, panels = target.vector_bits // 64, 2, 8
    width = lanes * vectors
    m = sch.get(sch.get_loops("C")[0]).extent.value
    rows = max((r for r in range(6, 13) if m % r == 0), default=8)
    sch.pad_einsum("C", [rows, width, 1])
    copy = sch.reindex_cache_read("C", 1, "global", lambda i, j, k: (j // width, k, j % width))
    while sch.get_producers(copy):  # zeros around B
        sch.compute_inline(sch.get_producers(copy)[0])
    i, j, k = sch.get_loops("C")
    count = sch.get(j).extent.value // width
    panels = max(p for p in range(1, panels + 1) if count % p == 0)
    block, panel, vector, lane = sch.split(j, [None, panels, vectors, lanes])
    tile, row = sch.split(i, [None, rows])
    sch.reorder(block, tile, panel, k, row, vector, lane)

    sch.compute_at(copy, block, preserve_unit_loops=True)
    column, depth = sch.get_loops(copy)[1:]
    copied_panel, column = sch.split(column, [None, width])
    sch.reorder(copied_panel, depth, column)
    sch.vectorize(column)
    for result in sch.get_consumers("C"):  # the part of C without zeros
        sch.reverse_compute_at(result, panel, preserve_unit_loops=True)
        result_row, column = sch.get_loops(result)[-2:]
        result_vector, column = sch.split(column, [vectors, lanes])
        sch.unroll(result_row)
        sch.unroll(result_vector)
        sch.vectorize(column)
    sch.unroll(row)
    sch.unroll(vector)
    sch.vectorize(lane)
    sch.annotate(k, "software_prefetch", {sch.get(copy).writes[0].buffer.name: 16})
    sch.decompose_reduction("C", k)
    if target.num_cores > 1:
        sch.parallel(copied_panel)
        sch.parallel(tile)


def matmul(m: int, n: int, k: int) -> Work:
    """An m x k matrix times a k x n matrix."""
    return Work(
        name=f"float64 matmul {m}x{n}x{k}",
        program=lambda: program(m, n, k),
        schedule=panels,
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
