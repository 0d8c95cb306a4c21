"""Two matrix products, exp(A @ B) @ E, from a naive program to register tiles.

Each step is the same computation under another schedule: written as a tensor expression, as a
script (chain_scripts.py), or transformed by the primitives of `tir.Schedule`
(chain_schedules.py). All run on one core, are checked against numpy, and are timed beside it.

    python examples/matmul_ladder.py [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import NamedTuple

import chain_schedules
import chain_scripts
import numpy as np
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.syntax import Syntax
from rich.table import Table
from threadpoolctl import threadpool_limits

import tilewright as tvm
from tilewright import te

M, K, L, N = 1024, 2048, 1024, 3072
FLOP = 2 * M * L * (K + N)
TARGET = "llvm -num-cores=1"

AS_WRITTEN = tvm.transform.PassContext(config={"tir.default_schedule": False})
"""Without it, a schedule on which no primitive was applied would get the default schedule."""


class Step(NamedTuple):
    """One program of the ladder."""

    title: str
    build: Callable[[], tvm.runtime.Module]
    part: int = 1
    """For a slow one: it is timed once, on one of so many parts of the rows."""


class Tensors(NamedTuple):
    """The tensor expressions of the computation."""

    A: te.Tensor
    B: te.Tensor
    C: te.Tensor
    D: te.Tensor
    E: te.Tensor
    F: te.Tensor


def chain(m: int = M) -> Tensors:
    """C = A @ B, D = exp(C), F = D @ E, for `m` rows of A."""
    A = te.placeholder((m, K), name="A")
    B = te.placeholder((K, L), name="B")
    E = te.placeholder((L, N), name="E")
    k = te.reduce_axis((0, K), name="k")
    C = te.compute((m, L), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((m, L), lambda i, j: te.exp(C[i, j]), name="D")
    r = te.reduce_axis((0, L), name="r")
    F = te.compute((m, N), lambda i, j: te.sum(D[i, r] * E[r, j], axis=r), name="F")
    return Tensors(A, B, C, D, E, F)


def build_te(schedule: Callable[[te.Schedule, te.Tensor], None], m: int = M) -> tvm.runtime.Module:
    """Build the chain for `m` rows with `schedule` applied to both products."""
    t = chain(m)
    s = te.create_schedule(t.F.op)
    schedule(s, t.C)
    schedule(s, t.F)
    with AS_WRITTEN:
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


def scheduled(title: str, schedule: Callable[[tvm.tir.Schedule], None]) -> Step:
    """A step that transforms the tensor program by the primitives of a schedule."""

    def build() -> tvm.runtime.Module:
        sch = tvm.tir.Schedule(chain_schedules.program(M, K, L, N))
        schedule(sch)
        return tvm.build(sch.mod, target=TARGET)

    return Step(title, build)


def build_without_schedule() -> tvm.runtime.Module:
    """What `tvm.build` does with a program without a schedule of its own."""
    return tvm.build(chain_schedules.program(M, K, L, N), target=TARGET)


def steps() -> list[Step]:
    """The ladder, bottom first."""
    return [
        Step("TE: naive (a quarter, times 4)", lambda: build_te(naive, M // 4), part=4),
        Step("TE: reordered", lambda: build_te(reordered)),
        Step("TE: reduction tiled", lambda: build_te(k_tiled)),
        Step("TE: tiled three ways", lambda: build_te(tiled)),
        Step("script: tiled, exp fused", lambda: tvm.build(chain_scripts.tiled, target=TARGET)),
        scheduled("schedule: tiled", chain_schedules.tile),
        scheduled("schedule: exp merged into tiles", chain_schedules.merge_exp),
        scheduled("schedule: products merged", chain_schedules.merge_products),
        scheduled("schedule: and vectorised", chain_schedules.vectorise),
        Step("TE: register tiles", lambda: build_te(register_tiled)),
        Step("script: packed panels", lambda: tvm.build(chain_scripts.packed, target=TARGET)),
        scheduled("schedule: packed panels", chain_schedules.pack),
        Step("no schedule: the default one", build_without_schedule),
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
            kept = M // step.part
            parts = arrays
            if step.part > 1:
                parts = [tvm.nd.array(a[:kept]), *arrays[1:3], tvm.nd.empty((kept, N), "float32")]
            start = time.perf_counter()
            module(*parts)
            seconds = (time.perf_counter() - start) * step.part
            if step.part == 1:
                # About two seconds per step, however slow the machine is.
                count = max(3, min(repeat, int(2 / seconds)))
                timer = module.time_evaluator("__tvm_main__", tvm.cpu(), number=1, repeat=count)
                seconds = timer(*parts).median
            error = float(np.abs(parts[3].numpy() - expected[:kept]).max() / scale)
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
    show_refusal(console)
    if not all(row[3] < 1e-4 for row in rows):
        raise SystemExit("A result is wrong: see the last column.")


def show_refusal(console: Console) -> None:
    """What a schedule says to a step that would compute something else."""
    sch = tvm.tir.Schedule(chain_schedules.program(M, K, L, N), error_render_level="detail")
    chain_schedules.tile(sch)
    try:
        sch.merge(sch.get_loops("C")[0], sch.get_loops("F")[0])
    except tvm.tir.ScheduleError as error:
        console.print("\nMerging the rows of both products with exp left between them is refused:")
        console.print("\n".join(str(error).splitlines()[:2]), style="yellow", highlight=False)


def speed(seconds: float) -> tuple[str, str]:
    """Time and rate as the table shows them."""
    return f"{seconds * 1e3:.1f} ms", f"{FLOP / seconds / 1e9:.1f}"


if __name__ == "__main__":
    main()
