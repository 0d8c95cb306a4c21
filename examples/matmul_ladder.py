"""Two matrix products, exp(A @ B) @ E, from a naive program to register tiles.

Each step is the same computation under another schedule, written as a tensor expression or as a
script. All run on one core, are checked against numpy, and are timed beside it.

    python examples/matmul_ladder.py [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.syntax import Syntax
from rich.table import Table
from threadpoolctl import threadpool_limits

import tilewright as tvm
from tilewright import te
from tilewright.script import tir as T

M, K, L, N = 1024, 2048, 1024, 3072
FLOP = 2 * M * L * (K + N)
TARGET = "llvm -num-cores=1"


class Step(NamedTuple):
    """One program of the ladder."""

    title: str
    build: Callable[[], tvm.runtime.Module]
    slow: bool = False
    """Takes seconds a call: timed once."""


class Tensors(NamedTuple):
    """The tensor expressions of the computation."""

    A: te.Tensor
    B: te.Tensor
    C: te.Tensor
    D: te.Tensor
    E: te.Tensor
    F: te.Tensor


def chain() -> Tensors:
    """C = A @ B, D = exp(C), F = D @ E."""
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, L), name="B")
    E = te.placeholder((L, N), name="E")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((M, L), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((M, L), lambda i, j: te.exp(C[i, j]), name="D")
    r = te.reduce_axis((0, L), name="r")
    F = te.compute((M, N), lambda i, j: te.sum(D[i, r] * E[r, j], axis=r), name="F")
    return Tensors(A, B, C, D, E, F)


def build_te(schedule: Callable[[te.Schedule, te.Tensor], None]) -> tvm.runtime.Module:
    """Build the chain with `schedule` applied to both products."""
    t = chain()
    s = te.create_schedule(t.F.op)
    schedule(s, t.C)
    schedule(s, t.F)
    return tvm.build(s, [t.A, t.B, t.E, t.F], target=TARGET)


def naive(s: te.Schedule, C: te.Tensor) -> None:
    """Rows, columns, then the reduction: B is read down its columns."""


def reordered(s: te.Schedule, C: te.Tensor) -> None:
    """The innermost loop runs along rows of B and C."""
    i, j = C.op.axis
    (k,) = C.op.reduce_axis
    s[C].reorder(i, k, j)


def k_tiled(s: te.Schedule, C: te.Tensor) -> None:
    """Eight rows of B are used for all rows of A before the next eight."""
    i, j = C.op.axis
    (k,) = C.op.reduce_axis
    ko, ki = s[C].split(k, 8)
    s[C].reorder(ko, i, ki, j)


def tiled(s: te.Schedule, C: te.Tensor) -> None:
    """Tiles in all three loops."""
    i, j = C.op.axis
    (k,) = C.op.reduce_axis
    io, ii = s[C].split(i, 16)
    ko, ki = s[C].split(k, 8)
    jo, ji = s[C].split(j, 8)
    s[C].reorder(io, jo, ko, ii, ki, ji)


def register_tiled(s: te.Schedule, C: te.Tensor) -> None:
    """A tile of 4 rows by 4 vectors of C stays in registers while the reduction runs over it."""
    i, j = C.op.axis
    (k,) = C.op.reduce_axis
    ko, ki = s[C].split(k, 256)
    io, ii = s[C].split(i, 4)
    jo, ji = s[C].split(j, 64)
    jv, lane = s[C].split(ji, 16)
    s[C].reorder(ko, jo, io, ki, ii, jv, lane)
    s[C].unroll(ii)
    s[C].unroll(jv)
    s[C].vectorize(lane)


@T.prim_func
def script_tiled(
    A: T.Buffer((M, K), "float32"),
    B: T.Buffer((K, L), "float32"),
    E: T.Buffer((L, N), "float32"),
    F: T.Buffer((M, N), "float32"),
):
    """The three-way tiling as blocks, with exp fused into the tiles of C."""
    T.func_attr({"tir.noalias": True})
    C = T.alloc_buffer((M, L))
    D = T.alloc_buffer((M, L))
    for io in T.serial(M // 16):
        for jo in T.serial(L // 8):
            for ko, ii, ki, ji in T.grid(K // 8, 16, 8, 8):
                with T.block("C"):
                    vi = T.axis.spatial(M, io * 16 + ii)
                    vj = T.axis.spatial(L, jo * 8 + ji)
                    vk = T.axis.reduce(K, ko * 8 + ki)
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] += A[vi, vk] * B[vk, vj]
            for ii, ji in T.grid(16, 8):
                with T.block("D"):
                    vi = T.axis.spatial(M, io * 16 + ii)
                    vj = T.axis.spatial(L, jo * 8 + ji)
                    D[vi, vj] = T.exp(C[vi, vj])
        for jo, ko, ii, ki, ji in T.grid(N // 8, L // 8, 16, 8, 8):
            with T.block("F"):
                vi = T.axis.spatial(M, io * 16 + ii)
                vj = T.axis.spatial(N, jo * 8 + ji)
                vk = T.axis.reduce(L, ko * 8 + ki)
                with T.init():
                    F[vi, vj] = T.float32(0)
                F[vi, vj] += D[vi, vk] * E[vk, vj]


@T.macro
def product(X, Y, Z, rows, depth, columns):
    """Z = X @ Y: panels of Y are packed side by side, and tiles of Z stay in registers."""
    for jo in T.serial(columns // 256):
        panel = T.alloc_buffer((4, depth, 64))
        for p, k in T.grid(4, depth):
            for j in T.vectorized(64):
                with T.block("pack"):
                    vo, vp, vk, vj = T.axis.remap("SSSS", [jo, p, k, j])
                    panel[vp, vk, vj] = Y[vk, vo * 256 + vp * 64 + vj]
        for io, p in T.grid(rows // 4, 4):
            for k in T.serial(depth):
                for i in T.unroll(4):
                    for v in T.unroll(4):
                        for lane in T.vectorized(16):
                            with T.block("tile"):
                                vi = T.axis.spatial(rows, io * 4 + i)
                                vo, vp = T.axis.remap("SS", [jo, p])
                                vj = T.axis.spatial(64, v * 16 + lane)
                                vk = T.axis.reduce(depth, k)
                                with T.init():
                                    Z[vi, vo * 256 + vp * 64 + vj] = T.float32(0)
                                Z[vi, vo * 256 + vp * 64 + vj] += X[vi, vk] * panel[vp, vk, vj]


@T.prim_func
def script_packed(
    A: T.Buffer((M, K), "float32"),
    B: T.Buffer((K, L), "float32"),
    E: T.Buffer((L, N), "float32"),
    F: T.Buffer((M, N), "float32"),
):
    """Both products with packed panels and register tiles."""
    T.func_attr({"tir.noalias": True})
    C = T.alloc_buffer((M, L))
    D = T.alloc_buffer((M, L))
    product(A, B, C, M, K, L)
    for i, j in T.grid(M, L):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.exp(C[vi, vj])
    product(D, E, F, M, L, N)


def steps() -> list[Step]:
    """The ladder, bottom first."""
    return [
        Step("TE: naive", lambda: build_te(naive), slow=True),
        Step("TE: reordered", lambda: build_te(reordered)),
        Step("TE: reduction tiled", lambda: build_te(k_tiled)),
        Step("TE: tiled three ways", lambda: build_te(tiled)),
        Step("script: tiled, exp fused", lambda: tvm.build(script_tiled, target=TARGET)),
        Step("TE: register tiles", lambda: build_te(register_tiled)),
        Step("script: packed panels", lambda: tvm.build(script_packed, target=TARGET)),
    ]


def reference(a: np.ndarray, b: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The result in float64."""
    return np.exp(a.astype("float64") @ b) @ e


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    console = Console()
    if not console.is_terminal:
        console = Console(width=110)
    rng = np.random.default_rng(0)
    # Scaled so that exp neither overflows nor hides errors.
    a, b, e = (
        (rng.standard_normal(shape) * scale).astype("float32")
        for shape, scale in (((M, K), 0.03), ((K, L), 0.03), ((L, N), 1.0))
    )
    f = np.empty((M, N), "float32")
    expected = reference(a, b, e)
    scale = np.abs(expected).max()
    repeat = 3 if options.quick else 7

    def numpy_chain() -> None:
        np.matmul(np.exp(np.matmul(a, b)), e, out=f)

    rows: list[tuple[str, float, float, float]] = []
    with (
        threadpool_limits(limits=1),
        Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(),
            console=console, transient=True,
        ) as progress,
    ):  # fmt: skip
        task = progress.add_task("numpy")
        numpy_seconds = median_time(numpy_chain, repeat)
        arrays = [tvm.nd.array(x) for x in (a, b, e)] + [tvm.nd.empty((M, N), "float32")]
        for step in steps():
            progress.update(task, description=step.title)
            start = time.perf_counter()
            module = step.build()
            compile_seconds = time.perf_counter() - start
            if step.slow:
                start = time.perf_counter()
                module(*arrays)
                seconds = time.perf_counter() - start
            else:
                timer = module.time_evaluator("__tvm_main__", tvm.cpu(), number=1, repeat=repeat)
                seconds = timer(*arrays).median
            error = float(np.abs(arrays[3].numpy() - expected).max() / scale)
            rows.append((step.title, compile_seconds, seconds, error))
    report(console, numpy_seconds, rows)


def median_time(function: Callable[[], None], repeat: int) -> float:
    """Median wall time of a call, in seconds, after one call to warm up."""
    function()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def report(
    console: Console, numpy_seconds: float, rows: list[tuple[str, float, float, float]]
) -> None:
    """Show the last schedule's lowered text, and the table."""
    t = chain()
    s = te.create_schedule(t.C.op)
    register_tiled(s, t.C)
    text = tvm.lower(s, [t.A, t.B, t.C]).script()
    console.print("\nThe product A @ B with register tiles, lowered:\n")
    console.print(Syntax(text, "python", theme="ansi_dark", background_color="default"))
    table = Table(title=f"exp(A @ B) @ E, M={M} K={K} L={L} N={N}, float32, one core")
    for name in ("program", "compiled in", "time", "GFLOP/s", "of numpy's speed", "error"):
        table.add_column(name, justify="left" if name == "program" else "right", no_wrap=True)
    table.add_row("numpy", "", *speed(numpy_seconds), "100 %", "")
    slowest = rows[0][2]
    for title, compile_seconds, seconds, error in rows:
        table.add_row(
            title, f"{compile_seconds * 1e3:.0f} ms", *speed(seconds),
            f"{numpy_seconds / seconds:.1%}", f"{error:.1e}",
        )  # fmt: skip
    console.print(table)
    best = min(row[2] for row in rows)
    console.print(f"The best is {slowest / best:.0f} times faster than the naive program.")
    if not all(row[3] < 1e-4 for row in rows):
        raise SystemExit("A result is wrong: see the last column.")


def speed(seconds: float) -> tuple[str, str]:
    """Time and rate as the table shows them."""
    return f"{seconds * 1e3:.1f} ms", f"{FLOP / seconds / 1e9:.1f}"


if __name__ == "__main__":
    main()
