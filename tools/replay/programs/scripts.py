"""Programs written as scripts, and schedules of tensor programs."""

# A script is parsed; to type checkers it is strange Python.
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportIndexIssue=false

from __future__ import annotations

from typing import Any

from tools.replay.program import VECTORS, Program
from tools.replay.record import compiled, scheduled

from examples import chain_schedules, chain_scripts, tvmscript_softmax
from tilewright import te, tir
from tilewright.script import tir as T

SIZE = 128


@T.prim_func
def largest_place(A: T.Buffer((50, 70), "float32"), I: T.Buffer((50,), "int32")):
    """Where the largest element of each row is."""
    best = T.alloc_buffer((50,), "float32")
    for i, k in T.grid(50, 70):
        with T.block("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = -1
                best[vi] = T.min_value("float32")
            larger: T.bool = A[vi, vk] > best[vi]
            I[vi] = T.Select(larger, vk, I[vi])
            best[vi] = T.Select(larger, A[vi, vk], best[vi])


@T.prim_func
def scan(a: T.handle, b: T.handle):
    """Sums of the elements so far, of rows of any length."""
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, (m, n), "float64")
    B = T.match_buffer(b, (m, n), "float64")
    for i in T.parallel(m):
        with T.block("row"):
            vi = T.axis.spatial(m, i)
            B[vi, 0] = A[vi, 0]
            for j in range(n - 1):
                B[vi, j + 1] = B[vi, j] + A[vi, j + 1]


@T.prim_func
def histogram(A: T.Buffer((1000,), "uint8"), H: T.Buffer((256,), "int64")):
    """How often each value is there: the place of an update is data."""
    for i in range(256):
        H[i] = T.int64(0)
    for i in range(1000):
        H[A[i]] += T.int64(1)


@T.prim_func
def collatz(A: T.Buffer((100,), "int64"), B: T.Buffer((100,), "int32")):
    """Steps of a loop that ends sometime, with memory of its own."""
    for i in T.parallel(100):
        x = T.decl_buffer((1,), "int64", scope="local")
        x[0] = A[i]
        B[i] = 0
        while x[0] > T.int64(1):
            if x[0] % T.int64(2) == T.int64(0):
                x[0] = x[0] // T.int64(2)
            else:
                x[0] = x[0] * T.int64(3) + T.int64(1)
            B[i] = B[i] + 1


def sums() -> tir.PrimFunc:
    """Sums of all elements."""
    A = te.placeholder((4096,), name="A")
    k = te.reduce_axis((0, 4096), "k")
    return te.create_prim_func([A, te.compute((1,), lambda _: te.sum(A[k], axis=k), name="B")])


def rfactor(sch: tir.Schedule, target: Any) -> None:
    """Partial sums of 16 elements side by side, as the lanes of a vector."""
    del target
    _, k = sch.get_loops("B")
    _, lane = sch.split(k, [None, 16])
    part = sch.rfactor(lane, 1)
    sch.vectorize(sch.get_loops(part)[-1])


def rfactor_in_parallel(sch: tir.Schedule, target: Any) -> None:
    """Partial sums of parts, each on a thread."""
    del target
    outer, _ = sch.split(sch.get_loops("B")[1], [8, None])
    part = sch.rfactor(outer, 0)
    sch.parallel(sch.get_loops(part)[1])


CHAIN = {
    "tiled": chain_schedules.tile,
    "exp merged": chain_schedules.merge_exp,
    "products merged": chain_schedules.merge_products,
    "vectorised": chain_schedules.vectorise,
    "packed": chain_schedules.pack,
}

PROGRAMS = (
    Program("script/chain, tiled", compiled(lambda: chain_scripts.tiled)),
    Program("script/chain, packed panels", compiled(lambda: chain_scripts.packed)),
    Program("script/softmax of any size", compiled(lambda: tvmscript_softmax.softmax)),
    Program("script/place of the largest", compiled(lambda: largest_place)),
    Program("script/scan", compiled(lambda: scan)),
    Program("script/histogram", compiled(lambda: histogram)),
    Program("script/collatz", compiled(lambda: collatz)),
    *(
        Program(
            f"schedule/chain, {name}",
            scheduled(
                lambda: chain_schedules.program(SIZE, 256, SIZE, 384),
                lambda sch, target, apply=apply: apply(sch),
            ),
            VECTORS,
        )
        for name, apply in CHAIN.items()
    ),
    Program("schedule/sum, rfactor", scheduled(sums, rfactor)),
    Program("schedule/sum, rfactor in parallel", scheduled(sums, rfactor_in_parallel)),
)
