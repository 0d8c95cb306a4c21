"""The programs on which schedule primitives are measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.script import tir as T
from tilewright.tir import LoopRV, Schedule


@T.prim_func
def matmul(
    A: T.Buffer((512, 256), "float32"),
    B: T.Buffer((256, 384), "float32"),
    C: T.Buffer((512, 384), "float32"),
):
    for i, j, k in T.grid(512, 384, 256):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def conv2d(
    X: T.Buffer((32, 56, 56), "float32"),
    W: T.Buffer((64, 32, 3, 3), "float32"),
    bias: T.Buffer((64,), "float32"),
    Y: T.Buffer((64, 56, 56), "float32"),
):
    P = T.alloc_buffer((32, 58, 58), "float32")
    C = T.alloc_buffer((64, 56, 56), "float32")
    D = T.alloc_buffer((64, 56, 56), "float32")
    for c, h, w in T.grid(32, 58, 58):
        with T.block("pad"):
            vc, vh, vw = T.axis.remap("SSS", [c, h, w])
            P[vc, vh, vw] = T.if_then_else(
                1 <= vh and vh < 57 and 1 <= vw and vw < 57,  # noqa: SIM300
                X[vc, vh - 1, vw - 1],
                T.float32(0),
            )
    for o, h, w, c, r, s in T.grid(64, 56, 56, 32, 3, 3):
        with T.block("conv"):
            vo, vh, vw, vc, vr, vs = T.axis.remap("SSSRRR", [o, h, w, c, r, s])
            with T.init():
                C[vo, vh, vw] = T.float32(0)
            C[vo, vh, vw] = C[vo, vh, vw] + P[vc, vh + vr, vw + vs] * W[vo, vc, vr, vs]
    for o, h, w in T.grid(64, 56, 56):
        with T.block("bias"):
            vo, vh, vw = T.axis.remap("SSS", [o, h, w])
            D[vo, vh, vw] = C[vo, vh, vw] + bias[vo]
    for o, h, w in T.grid(64, 56, 56):
        with T.block("relu"):
            vo, vh, vw = T.axis.remap("SSS", [o, h, w])
            Y[vo, vh, vw] = T.max(D[vo, vh, vw], T.float32(0))


@T.prim_func
def attention(
    Q: T.Buffer((8, 128, 64), "float32"),
    K: T.Buffer((8, 128, 64), "float32"),
    V: T.Buffer((8, 128, 64), "float32"),
    mask: T.Buffer((128, 128), "float32"),
    W: T.Buffer((512, 512), "float32"),
    Y: T.Buffer((128, 512), "float32"),
):
    scaled = T.alloc_buffer((8, 128, 64), "float32")
    S = T.alloc_buffer((8, 128, 128), "float32")
    masked = T.alloc_buffer((8, 128, 128), "float32")
    largest = T.alloc_buffer((8, 128), "float32")
    E = T.alloc_buffer((8, 128, 128), "float32")
    total = T.alloc_buffer((8, 128), "float32")
    P = T.alloc_buffer((8, 128, 128), "float32")
    O = T.alloc_buffer((8, 128, 64), "float32")  # noqa: E741
    joined = T.alloc_buffer((128, 512), "float32")
    for h, i, d in T.grid(8, 128, 64):
        with T.block("scaled"):
            vh, vi, vd = T.axis.remap("SSS", [h, i, d])
            scaled[vh, vi, vd] = Q[vh, vi, vd] * T.float32(0.125)
    for h, i, j, d in T.grid(8, 128, 128, 64):
        with T.block("S"):
            vh, vi, vj, vd = T.axis.remap("SSSR", [h, i, j, d])
            with T.init():
                S[vh, vi, vj] = T.float32(0)
            S[vh, vi, vj] = S[vh, vi, vj] + scaled[vh, vi, vd] * K[vh, vj, vd]
    for h, i, j in T.grid(8, 128, 128):
        with T.block("masked"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            masked[vh, vi, vj] = S[vh, vi, vj] + mask[vi, vj]
    for h, i, j in T.grid(8, 128, 128):
        with T.block("largest"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                largest[vh, vi] = T.min_value("float32")
            largest[vh, vi] = T.max(largest[vh, vi], masked[vh, vi, vj])
    for h, i, j in T.grid(8, 128, 128):
        with T.block("E"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            E[vh, vi, vj] = T.exp(masked[vh, vi, vj] - largest[vh, vi])
    for h, i, j in T.grid(8, 128, 128):
        with T.block("total"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                total[vh, vi] = T.float32(0)
            total[vh, vi] = total[vh, vi] + E[vh, vi, vj]
    for h, i, j in T.grid(8, 128, 128):
        with T.block("P"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            P[vh, vi, vj] = E[vh, vi, vj] / total[vh, vi]
    for h, i, d, j in T.grid(8, 128, 64, 128):
        with T.block("O"):
            vh, vi, vd, vj = T.axis.remap("SSSR", [h, i, d, j])
            with T.init():
                O[vh, vi, vd] = T.float32(0)
            O[vh, vi, vd] = O[vh, vi, vd] + P[vh, vi, vj] * V[vh, vj, vd]
    for i, n in T.grid(128, 512):
        with T.block("joined"):
            vi, vn = T.axis.remap("SS", [i, n])
            joined[vi, vn] = O[vn // 64, vi, vn % 64]
    for i, m, n in T.grid(128, 512, 512):
        with T.block("Y"):
            vi, vm, vn = T.axis.remap("SSR", [i, m, n])
            with T.init():
                Y[vi, vm] = T.float32(0)
            Y[vi, vm] = Y[vi, vm] + joined[vi, vn] * W[vn, vm]


def tiled_matmul() -> Schedule:
    """A matrix product in tiles of 32 x 48 and 16 steps of the reduction."""
    sch = Schedule(matmul)
    tile(sch, "C", (32, 48, 16))
    return sch


def tiled_conv2d() -> Schedule:
    """A convolution of 15 loops: two levels of tiles."""
    sch = Schedule(conv2d)
    o, h, w, c, r, s = sch.get_loops("conv")
    o0, o1, o2 = sch.split(o, [None, 2, 8])
    h0, h1, h2 = sch.split(h, [None, 2, 4])
    w0, w1, w2 = sch.split(w, [None, 2, 7])
    c0, c1 = sch.split(c, [None, 8])
    r0, r1 = sch.split(r, [None, 1])
    s0, s1 = sch.split(s, [None, 1])
    sch.reorder(o0, h0, w0, o1, h1, w1, c0, r0, s0, c1, r1, s1, o2, h2, w2)
    return sch


def tiled_attention() -> Schedule:
    """Ten blocks, of which the products are tiled."""
    sch = Schedule(attention)
    _tile_inner(sch, "S", (8, 16, 16))
    _tile_inner(sch, "O", (8, 16, 16))
    tile(sch, "Y", (8, 32, 16))
    return sch


def tile(sch: Schedule, block: str, sizes: tuple[int, int, int]) -> list[LoopRV]:
    """Tile the three loops of a product, the reduction between the two levels of tiles."""
    return _tiled(sch, sch.get_loops(block), sizes)


def _tile_inner(sch: Schedule, block: str, sizes: tuple[int, int, int]) -> list[LoopRV]:
    return _tiled(sch, sch.get_loops(block)[1:], sizes)


def _tiled(sch: Schedule, loops: list[LoopRV], sizes: tuple[int, int, int]) -> list[LoopRV]:
    (i0, i1), (j0, j1), (k0, k1) = (
        sch.split(loop, [None, size]) for loop, size in zip(loops, sizes, strict=True)
    )
    order = [i0, j0, k0, i1, j1, k1]
    sch.reorder(*order)
    return order


PROGRAMS: Final[dict[str, Callable[[], Schedule]]] = {
    "matmul": tiled_matmul,
    "conv2d": tiled_conv2d,
    "attention": tiled_attention,
}
"""How the schedule of each program is made, tiled."""
