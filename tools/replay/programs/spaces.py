"""What the tuner would try: the sketches with their own decisions, and a few random candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness.registry import entries
from tools.replay.program import Program, Texts

from tilewright import meta_schedule as ms
from tilewright.tir import PrimFunc

WORKS = (
    "batch_matmul", "chain", "conv2d", "depthwise", "gelu of", "float64", "1x784",
    "int8 matmul 128", "float16", "transpose", "row sums", "column sums", "softmax",
    "layer_norm", "triangle",
)  # fmt: skip
"""Parts of the names of works of the benchmark suite."""

CANDIDATES = 3


def space(make: Callable[[], PrimFunc]) -> Callable[[Any, Texts], None]:
    """For a `Program` that is not built: its design space and some candidates."""

    def record(target: Any, texts: Texts) -> None:
        context = ms.TuneContext(
            make(), target=target, space_generator="post-order-apply",
            search_strategy="replay-trace", rand_state=1, num_threads=1,
        )  # fmt: skip
        sketches = context.generate_design_space()
        texts["trace.py"] = "".join(f"# sketch\n{sketch.trace}\n" for sketch in sketches)
        texts["schedule.py"] = "\n".join(sketch.mod.script() for sketch in sketches)
        context.pre_tuning(CANDIDATES, CANDIDATES, sketches)
        candidates = context.generate_measure_candidates() or []
        texts["trace.py"] += "".join(f"# candidate\n{item.sch.trace}\n" for item in candidates)
        texts["schedule.py"] += "\n".join(item.sch.mod.script() for item in candidates)

    return record


PROGRAMS = tuple(
    Program(f"space/{entry.work.name}", space(entry.work.program), ("avx2",))
    for entry in entries()
    if any(part in entry.work.name for part in WORKS)
)
