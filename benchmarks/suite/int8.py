"""Products of matrices of 8-bit integers, with exact sums in int32."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import threads
from benchmarks.harness.ours import HAND, aligned, compile_work
from benchmarks.harness.peers import onnx_peer, torch_peer
from benchmarks.suite.matmul import matmul
from benchmarks.suite.work import Call, Work
from tilewright import te, tir
from tilewright.target import Target
from tilewright.tir import PrimFunc


def signed_product(m: int, n: int, k: int) -> PrimFunc:
    """C = A @ B, both of int8.

    Processors multiply signed by unsigned bytes. So B is moved by 128, which flips a bit, and 128
    times the sum of the row of A is taken off again, all of which is exact.
    """
    A, B = te.placeholder((m, k), "int8", "A"), te.placeholder((k, n), "int8", "B")
    r, s = te.reduce_axis((0, k), "r"), te.reduce_axis((0, k), "s")
    moved = te.compute(
        (k, n), lambda s, j: tir.reinterpret("uint8", B[s, j]) ^ tir.const(128, "uint8"), "moved"
    )
    sums = te.compute((m,), lambda i: te.sum(A[i, s].astype("int32"), axis=s), "sums")
    P = te.compute((m, n), lambda i, j: te.sum(int32(A[i, r]) * int32(moved[r, j]), axis=r), "P")
    C = te.compute((m, n), lambda i, j: sums[i] * -128 + P[i, j], "C")
    return te.create_prim_func([A, B, C])


def mixed_product(m: int, n: int, k: int) -> PrimFunc:
    """P = A @ B, where A is of int8 and B of uint8."""
    A, B = te.placeholder((m, k), "int8", "A"), te.placeholder((k, n), "uint8", "B")
    r = te.reduce_axis((0, k), "r")
    P = te.compute((m, n), lambda i, j: te.sum(int32(A[i, r]) * int32(B[r, j]), axis=r), "P")
    return te.create_prim_func([A, B, P])


def int32(value: tir.PrimExpr) -> tir.PrimExpr:
    """`value`, in which a product of two 8-bit integers is exact."""
    return value.astype("int32")


def dot_products(sch: tir.Schedule, target: Target) -> None:
    """Tiles of P in registers; four steps of the reduction side by side in panels of B."""
    lanes, vectors, panels = target.vector_bits // 32, 2, 16
    width = lanes * vectors
    m = sch.get(sch.get_loops("P")[0]).extent.value
    rows = max((r for r in range(6, 13) if m % r == 0), default=8)
    sch.pad_einsum("P", [rows, width, 4])
    copy = sch.reindex_cache_read(
        "P", 1, "global", lambda i, j, k: (j // width, k // 4, j % width, k % 4)
    )
    while sch.get_producers(copy):  # zeros around B, and B moved by 128
        sch.compute_inline(sch.get_producers(copy)[0])
    result = next(iter(sch.get_consumers("P")), None)
    if result is not None and sch.get_consumers(result):  # the part of P without zeros
        consumer = sch.get_consumers(result)[0]
        sch.compute_inline(result)
        result = consumer

    i, j, k = sch.get_loops("P")
    count = sch.get(j).extent.value // width
    panels = max(p for p in range(1, panels + 1) if count % p == 0)
    block, panel, vector, lane = sch.split(j, [None, panels, vectors, lanes])
    tile, row = sch.split(i, [None, rows])
    k, part = sch.split(k, [None, 4])
    sch.reorder(block, tile, panel, k, row, vector, lane, part)

    sch.compute_at(copy, block, preserve_unit_loops=True)
    column, depth = sch.get_loops(copy)[1:]
    copied_panel, column = sch.split(column, [None, width])
    depth, copied_part = sch.split(depth, [None, 4])
    sch.reorder(copied_panel, depth, copied_part, column)
    sch.unroll(copied_part)
    sch.vectorize(column)

    if result is not None:
        sch.reverse_compute_at(result, panel, preserve_unit_loops=True)
        result_row, column = sch.get_loops(result)[-2:]
        result_vector, column = sch.split(column, [vectors, lanes])
        sch.unroll(result_row)
        sch.unroll(result_vector)
        sch.vectorize(column)
    sch.unroll(row)
    sch.unroll(vector)
    sch.decompose_reduction("P", k)
    sch.tensorize(lane, f"dot_{lanes}x4_i8u8i32")
    sch.annotate(k, "software_prefetch", {sch.get(copy).writes[0].buffer.name: 8})
    if target.num_cores > 1:
        sch.parallel(copied_panel)
        sch.parallel(tile)


def in_float32(*inputs: np.ndarray) -> Call:
    """Our own product of the same matrices in float32."""
    a, b = (aligned(array.astype("float32")) for array in inputs)
    work = matmul(a.shape[0], b.shape[1], a.shape[1])
    return compile_work(work, HAND, [a, b], threads.count()).call


def signed(m: int, n: int, k: int, aim: float) -> Work:
    """An m x k matrix times a k x n matrix, both of int8."""
    return Work(
        name=f"int8 matmul {m}x{n}x{k}",
        program=lambda: signed_product(m, n, k),
        schedule=dot_products,
        inputs=lambda rng: [rng.integers(-128, 128, shape, "int8") for shape in ((m, k), (k, n))],
        reference=np.matmul,
        peers={
            "float32": in_float32,
            "torch": torch_peer(lambda torch, a, b: torch._int_mm(a, b)),
            "onnxruntime": onnx_peer("MatMulInteger"),
        },
        flop=2 * m * n * k,
        bytes=m * k + k * n + 4 * m * n,
        aim=aim,
        against=("float32",),
        default_aim=0,
        relative_error=0,
    )


def mixed(m: int, n: int, k: int, aim: float) -> Work:
    """An m x k matrix of int8 times a k x n matrix of uint8."""
    return Work(
        name=f"int8 by uint8 matmul {m}x{n}x{k}",
        program=lambda: mixed_product(m, n, k),
        schedule=dot_products,
        inputs=lambda rng: [
            rng.integers(-128, 128, (m, k), "int8"), rng.integers(0, 256, (k, n), "uint8")
        ],
        reference=np.matmul,
        peers={"float32": in_float32, "onnxruntime": onnx_peer("MatMulInteger")},
        flop=2 * m * n * k,
        bytes=m * k + k * n + 4 * m * n,
        aim=aim,
        against=("float32",),
        default_aim=0,
        relative_error=0,
    )  # fmt: skip


WORKS = (
    signed(1024, 1024, 1024, aim=2.5),
    signed(1023, 1021, 1019, aim=2.5),
    signed(128, 128, 128, aim=1.5),
    mixed(1024, 1024, 1024, aim=2.5),
)
