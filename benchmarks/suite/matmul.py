"""Products of two matrices."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.peers import numpy_peer, onnx_peer, torch_peers
from benchmarks.suite.work import Work
from tilewright import te, tir
from tilewright.target import Target
from tilewright.tir import PrimFunc

CACHE = 1 << 21
"""Bytes of the cache next to the core's own."""


def tensors(m: int, n: int, k: int) -> list[te.Tensor]:
    """C = A @ B: A, B and C."""
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    return [A, B, C]


def program(m: int, n: int, k: int) -> PrimFunc:
    """The product as a program."""
    return te.create_prim_func(tensors(m, n, k))


def register_tiles(sch: tir.Schedule, target: Target, block: str = "C") -> None:
    """Tiles of the result stay in registers; panels of a large right matrix are packed.

    A tile has six rows by four vectors, or by two where there are half as many registers.
    Packed panels fill a quarter of the cache that is next to the core's own. A matrix that fits
    there is read where it is. Threads share the blocks of columns, of which each packs its own, or
    the rows, if there are too few blocks.
    """
    size = sch.get(sch.get_block(block)).writes[0].buffer.dtype.itemsize
    lanes = target.vector_bits // (8 * size)
    rows, vectors = (6, 4) if target.vector_registers >= 32 else (6, 2)
    i, j, k = sch.get_loops(block)
    columns, depth = (sch.get(loop).extent.value for loop in (j, k))
    vectors = min(vectors, -(-columns // lanes))
    width = vectors * lanes
    packs = size * columns * depth > CACHE // 2
    panels = max(CACHE // 4 // (size * depth * width), 1) if packs else 1
    blocks = -(-columns // (panels * width))
    shares_blocks = packs and blocks >= 4 * target.num_cores

    i, row = sch.split(i, [None, rows])
    block_of_columns, panel, vector, lane = sch.split(j, [None, panels, vectors, lanes])
    k, step = sch.split(k, [None, 4])
    sch.reorder(block_of_columns, i, panel, k, step, row, vector, lane)
    if packs:
        copy = sch.reindex_cache_read(
            block, 1, "global", lambda i, j, k: (j // width, k, j % width)
        )
        sch.compute_at(copy, block_of_columns)
        column, depth = sch.get_loops(copy)[1:]
        copied_panel, column, copied_lane = sch.split(column, [None, vectors, lanes])
        sch.reorder(copied_panel, depth, column, copied_lane)
        sch.unroll(column)
        sch.vectorize(copied_lane)
        if target.num_cores > 1 and not shares_blocks:
            sch.parallel(copied_panel if panels > 1 else depth)
    for loop in (step, row, vector):
        sch.unroll(loop)
    sch.vectorize(lane)
    if target.num_cores > 1:
        sch.parallel(block_of_columns if shares_blocks else i)


def matmul(
    m: int, n: int, k: int, aim: float = 1.0, tuned_aim: float = 0, *, by_hand: bool = True
) -> Work:
    """An m x k matrix times a k x n matrix, in float32.

    Args:
        by_hand: whether the schedule by hand is for it.
    """
    return Work(
        name=f"matmul {m}x{n}x{k}",
        program=lambda: program(m, n, k),
        schedule=register_tiles if by_hand else None,
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
        tuned_aim=tuned_aim,
    )


WORKS = (
    matmul(1024, 1024, 1024, aim=1.03, tuned_aim=1.0),
    matmul(1023, 1021, 1019, aim=1.03),
    matmul(64, 64, 64, aim=1.2),
    matmul(128, 128, 128, aim=1.2),
    matmul(256, 256, 256, aim=1.05),
    # A few rows times a matrix, which comes from a cache or from memory.
    matmul(32, 1024, 1024, by_hand=False),
    matmul(24, 4000, 4000, by_hand=False),
    matmul(64, 4096, 4096, by_hand=False),
)
