"""What building and measuring on a cluster of Ray costs more than without it, on one machine."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tune.candidate import ArgInfo
from tilewright.tune.measure import (
    BuilderInput,
    EvaluatorConfig,
    LocalBuilder,
    LocalRunner,
    RayBuilder,
    RayRunner,
    RunnerInput,
)

CANDIDATES, ROUNDS = 20, 15
TARGET = tvm.target.Target("llvm -num-cores=1")


@T.prim_func
def add_one(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0


def measure() -> None:
    """Print milliseconds per candidate, and the memory of Ray."""
    mod = tvm.IRModule.from_expr(add_one.with_attr("global_symbol", "main"))
    config = EvaluatorConfig(1, 1, 1)
    start = time.monotonic()
    builders: dict[str, Any] = {"ray": RayBuilder(processes=1)}
    runners: dict[str, Any] = {"ray": RayRunner(evaluator_config=config)}
    started = time.monotonic() - start
    builders["local"] = LocalBuilder(max_workers=1)
    runners["local"] = LocalRunner(evaluator_config=config)
    inputs = [BuilderInput(mod, TARGET)] * CANDIDATES
    (path,) = {builders["local"].build(inputs[:1])[0].artifact_path}
    items = [RunnerInput(path, "cpu", ArgInfo.from_prim_func(add_one), "add", 1)] * CANDIDATES
    for name in ("local", "ray"):  # processes start
        builders[name].build(inputs[:1])
        start = time.monotonic()
        runners[name].run(items[:1])[0].result()
        print(f"first candidate, {name:5}: {time.monotonic() - start:6.2f} s")
    print(f"start of the cluster  : {started:6.2f} s")
    print(f"memory of the cluster : {_cluster_megabytes():6.0f} MB")
    for what, parts, run in (
        ("build", builders, lambda part: part.build(inputs)),
        ("run", runners, lambda part: [future.result() for future in part.run(items)]),
        ("run, one by one", runners, lambda part: [part.run([i])[0].result() for i in items]),
    ):
        local, ray = _milliseconds(run, parts["local"], parts["ray"])
        print(f"{what:16}: local {local:6.2f} ms, ray {ray:6.2f} ms, more {ray - local:6.2f} ms")
    for part in (*builders.values(), *runners.values()):
        part.close()


def _milliseconds(run: Callable[[Any], object], *parts: Any) -> list[float]:
    """Per candidate, of each part; in the round in which the machine did the least besides."""
    found: list[list[float]] = [[] for _ in parts]
    for _ in range(ROUNDS):
        for part, times in zip(parts, found, strict=True):
            start = time.perf_counter()
            run(part)
            times.append((time.perf_counter() - start) / CANDIDATES * 1e3)
    return [min(times) for times in found]


def _cluster_megabytes() -> float:
    """The memory of all processes of Ray; what several share counts once."""
    total = 0
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            command = (directory / "cmdline").read_bytes()
            if re.search(rb"ray::|/ray/(core|_private|dashboard|autoscaler)/", command):
                text = (directory / "smaps_rollup").read_text()
                total += int(re.findall(r"^Pss: +(\d+)", text, re.MULTILINE)[0])
        except (OSError, IndexError):  # it has ended
            continue
    return total / 1024
