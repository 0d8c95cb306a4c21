"""Programs whose threads exchange values in warps, on devices that can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.target.codegen.device.programs import Program, named

from tilewright import te, tir
from tilewright.script import tir as T


def shared_rows(
    name: str, threads: int, rows: int = 1, local: bool = False, dtype: str = "float32"
) -> Program:
    """Sums of rows of 70 elements, which threads along x share, one row for each along y."""
    a = te.placeholder((5, 70), dtype, name="A")
    k = te.reduce_axis((0, 70), name="k")
    b = te.compute((5,), lambda i: te.sum(a[i, k], axis=k), name="B")
    func = named(te.create_prim_func([a, b]), name)
    sch = tir.Schedule(func)
    if local:
        copied = sch.cache_write("B", 0, "local")
    i, k = sch.get_loops("B")
    block, row = sch.split(i, [None, rows])
    _, thread = sch.split(k, [None, threads])
    if local:
        sch.reverse_compute_at(copied, row)
    sch.bind(block, "blockIdx.x")
    sch.bind(row, "threadIdx.y")
    sch.bind(thread, "threadIdx.x")
    return Program(sch.mod["main"], func)


def any_of_a_row(name: str) -> Program:
    """Whether any element of a row is true."""
    anything = te.comm_reducer(lambda x, y: tir.any(x, y), lambda t: tir.const(False, t))
    a = te.placeholder((3, 40), "bool", name="A")
    k = te.reduce_axis((0, 40), name="k")
    func = named(
        te.create_prim_func([a, te.compute((3,), lambda i: anything(a[i, k], axis=k), name="B")]),
        name,
    )
    sch = tir.Schedule(func)
    i, k = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(k, [None, 8])[1], "threadIdx.x")
    return Program(sch.mod["main"], func)


def largest(name: str, threads: int) -> Program:
    """The largest elements of rows, and their places."""

    def combine(x: Any, y: Any) -> tuple[Any, ...]:
        is_first = tir.any(x[1] > y[1], tir.all(x[1] == y[1], x[0] < y[0]))
        return tuple(tir.Select(is_first, one, other) for one, other in zip(x, y, strict=True))

    reducer = te.comm_reducer(combine, lambda a, b: (tir.const(2**31 - 1, a), te.min_value(b)))
    a = te.placeholder((3, 70), name="A")
    k = te.reduce_axis((0, 70), name="k")
    results = te.compute((3,), lambda i: reducer((k, a[i, k]), axis=k), name="B")
    func = named(te.create_prim_func([a, *results]), name)
    sch = tir.Schedule(func)
    i, k = sch.get_loops("B")
    _, thread = sch.split(k, [None, threads])
    sch.bind(i, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    return Program(sch.mod["main"], func)


def reversed_in_warps() -> Program:
    """Rows of 64, whose halves each come in reverse order, two elements of each thread."""

    @T.prim_func
    def reversed_in_warps(A: T.Buffer((3, 2, 64), "float32"), B: T.Buffer((3, 2, 64), "float32")):
        W = T.alloc_buffer((3, 2, 64), scope="warp")
        for b in range(3):
            for y in range(2):
                for t in range(32):
                    for u in range(32):
                        for e in range(2):
                            with T.block("W"):
                                vb, vy = T.axis.remap("SS", [b, y])
                                v = T.axis.spatial(64, u * 2 + e)
                                W[vb, vy, v] = A[vb, vy, v]
                    for e in range(2):
                        with T.block("B"):
                            vb, vy = T.axis.remap("SS", [b, y])
                            vt, ve = T.axis.remap("SS", [t, e])
                            B[vb, vy, vt * 2 + ve] = W[vb, vy, 63 - vt * 2 - ve]

    sch = tir.Schedule(reversed_in_warps)
    b, y, t, u, _ = sch.get_loops("W")
    sch.bind(b, "blockIdx.x")
    sch.bind(y, "threadIdx.y")
    sch.bind(t, "threadIdx.x")
    sch.bind(u, "threadIdx.x")
    return Program(sch.mod["main"], reversed_in_warps)


WARP_PROGRAMS: dict[str, Callable[[], Any]] = {
    "one_warp": lambda: shared_rows("one_warp", 32),
    "groups_of_a_warp": lambda: shared_rows("groups_of_a_warp", 8, 3),
    "two_warps": lambda: shared_rows("two_warps", 64, 2),
    "halves": lambda: shared_rows("halves", 32, dtype="float16"),
    "bytes": lambda: shared_rows("bytes", 16, dtype="int8"),
    "truth_values": lambda: any_of_a_row("truth_values"),
    "three_warps": lambda: shared_rows("three_warps", 96),
    "results_of_all_threads": lambda: shared_rows("results_of_all_threads", 64, 2, local=True),
    "results_of_a_group": lambda: shared_rows("results_of_a_group", 4, 3, local=True),
    "largest_in_a_warp": lambda: largest("largest_in_a_warp", 16),
    "largest_in_two_warps": lambda: largest("largest_in_two_warps", 64),
    "reversed_in_warps": reversed_in_warps,
}
"""Programs by name."""
