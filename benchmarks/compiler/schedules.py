"""Transforming programs: what each schedule primitive costs with its proof, and replaying traces.

Each measured call is the next step of a schedule that is made anew for every repetition, so that
nothing is known yet about the program that it transforms. Times are of the processor.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from benchmarks.compiler.measure import Figure
from benchmarks.compiler.programs import chain
from benchmarks.compiler.schedule_calls import CALLS, REFUSED, Call, register
from benchmarks.compiler.schedule_programs import PROGRAMS, conv2d
from tilewright import te
from tilewright.tir import PrimFunc, Schedule, ScheduleError
from tilewright.tir.analysis.dependence import analyze, carried_by, check_order

AIM = 1.0
"""Milliseconds of a primitive with its proof."""


def measure(repeat: int) -> list[Figure]:
    register()
    gc.collect()
    gc.freeze()
    try:
        return [
            *_primitives("", CALLS, repeat, AIM),
            *_primitives(", refused", REFUSED, repeat, None),
            *_replays(repeat),
            *_copies(repeat),
            *_proofs(repeat),
        ]
    finally:
        gc.unfreeze()


def milliseconds(function: Callable[[], object]) -> float:
    """Of the processor, for one call."""
    start = time.thread_time()
    function()
    return (time.thread_time() - start) * 1e3


@contextmanager
def _no_collection() -> Iterator[None]:
    """Nothing is collected in the scope: what is left over from the preparation is not counted."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# --- primitives ---------------------------------------------------------------------------------


def _primitives(what: str, calls: list[Call], repeat: int, aim: float | None) -> list[Figure]:
    by_name: dict[str, dict[Call, list[float]]] = {}
    for call in calls:
        times = [_one_call(call, refused=bool(what)) for _ in range(repeat + 1)]
        by_name.setdefault(call.primitive, {})[call] = times[1:]
    figures = []
    for name, measured in by_name.items():
        slowest = max(measured, key=lambda call: median(measured[call]))
        values = [value for times in measured.values() for value in times]
        best = median(min(times) for times in measured.values())
        note = f"best {best:.2f} ms"
        if len(measured) > 1:
            note += f"; slowest: {slowest.program}, {median(measured[slowest]):.2f} ms"
        figures.append(Figure(name + what, values, "ms", aim, note))
    return sorted(figures, key=lambda figure: -figure.median)


def _one_call(call: Call, *, refused: bool) -> float:
    sch = PROGRAMS[call.program]()
    arguments = call.prepare(sch)
    method = getattr(sch, call.primitive)

    def apply() -> None:
        try:
            method(*arguments)
        except ScheduleError:
            if not refused:
                raise
        else:
            assert not refused, f"{call.primitive} on {call.program} is not refused"

    with _no_collection():
        return milliseconds(apply)


# --- traces -------------------------------------------------------------------------------------


def _replays(repeat: int) -> list[Figure]:
    trace = scheduled_conv2d().trace
    figures = []
    for checked, aim in ((False, 10.0), (True, None)):

        def replay(checked: bool = checked) -> float:
            sch = Schedule(conv2d, enable_check=checked)
            with _no_collection():
                return milliseconds(lambda: trace.apply_to_schedule(sch))

        name = f"replay {len(trace)} steps, {'with' if checked else 'without'} proofs"
        figures.append(Figure(name, [replay() for _ in range(repeat + 1)][1:], "ms", aim))
    return figures


def scheduled_conv2d() -> Schedule:
    """A schedule for a processor, of 30 steps."""
    sch = Schedule(conv2d)
    conv = sch.get_block("conv")
    sch.compute_inline("bias")
    o, h, w, c, r, s = sch.get_loops(conv)
    o0, o1, o2, o3 = sch.split(o, [None, 2, 2, 8])
    h0, h1, h2, h3 = sch.split(h, [None, 2, 2, 2])
    w0, w1, w2, w3 = sch.split(w, [None, 2, 1, 7])
    c0, c1 = sch.split(c, [None, 8])
    r0, r1 = sch.split(r, [None, 3])
    s0, s1 = sch.split(s, [None, 1])
    sch.reorder(o0, h0, w0, o1, h1, w1, c0, r0, s0, o2, h2, w2, c1, r1, s1, h3, w3, o3)
    local = sch.cache_write(conv, 0, "local")
    sch.reverse_compute_at(local, w1)
    sch.reverse_compute_at("relu", w1)
    sch.compute_at("pad", h1)
    sch.transform_layout(conv, ("read", 1), lambda o, c, r, s: (o // 8, c, r, s, o % 8))
    outer = sch.fuse(o0, h0, w0)
    sch.parallel(outer)
    sch.annotate(outer, "pragma_auto_unroll_max_step", 64)
    init = sch.decompose_reduction(conv, c0)
    sch.vectorize(o3)
    sch.unroll(w3)
    sch.unroll(h3)
    sch.vectorize(sch.get_loops(init)[-1])
    *_, ax0, ax1 = sch.get_loops(local)
    sch.vectorize(sch.fuse(ax0, ax1))
    return sch


def _copies(repeat: int) -> list[Figure]:
    figures = []
    for steps in (10, 1000):
        sch = Schedule(conv2d)
        for step in range(steps):
            sch.annotate("conv", "step", step)
        times = [milliseconds(lambda sch=sch: [sch.copy() for _ in range(100)]) * 10
                 for _ in range(repeat)]  # fmt: skip
        figures.append(Figure(f"copy after {steps} steps", times, "us"))
    return figures


# --- proofs -------------------------------------------------------------------------------------


def _proofs(repeat: int) -> list[Figure]:
    """Questions that isl answers, about a program that nothing is known about yet."""

    def fresh() -> PrimFunc:
        return te.create_prim_func(list(chain().arguments))

    def order() -> float:
        sch = Schedule(fresh(), enable_check=False)
        before = sch.mod["main"]
        sch.merge(sch.get_loops("C")[0], sch.get_loops("D")[0])
        after = sch.mod["main"]
        return milliseconds(lambda: check_order(before, after))

    def iterations() -> float:
        sch = Schedule(fresh())
        loop = sch.get(sch.get_loops("F")[2])
        program = analyze(sch.mod["main"])
        return milliseconds(lambda: carried_by(program, loop))

    return [
        Figure("isl: order of merged loops", [order() for _ in range(repeat)], "ms", 40.0),
        Figure("isl: iterations of a reduction", [iterations() for _ in range(repeat)], "ms", 40.0),
    ]
