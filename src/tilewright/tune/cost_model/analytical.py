"""A cost model without measurements: it estimates times from the structure of programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from tilewright.target import Target
from tilewright.target.gpu import figures_of
from tilewright.tir.stmt import ForKind
from tilewright.tir.transform.machine import Machine
from tilewright.tune.cost_model import accelerator
from tilewright.tune.cost_model import processor as cpu
from tilewright.tune.cost_model.cost_model import CostModel
from tilewright.tune.cost_model.instructions import cycles
from tilewright.tune.cost_model.memory_traffic import MemoryTraffic
from tilewright.tune.cost_model.processor import caches_of
from tilewright.tune.feature.nest import Nest, Part, Program, Statement
from tilewright.tune.feature.read_program import programs_of

OVERLAP: Final = 0.35
"""Which part of the shorter of computing and waiting for memory does not overlap the longer."""


class AnalyticalModel(CostModel, kind="analytical"):
    """Scores from an estimate of the time: arithmetic, registers, caches, threads.

    It learns nothing, and ranks candidates before the first one is measured. The scores are
    logarithms of runs per cycle: a candidate that is estimated to be e times as fast has one more.
    """

    def load(self, path: str) -> None:
        """Do nothing: there is nothing to remember."""

    def save(self, path: str) -> None:
        """Write an empty file."""
        Path(path).write_text("{}")

    def update(self, context: Any, candidates: Sequence[Any], results: Sequence[Any]) -> None:
        pass

    def predict(self, context: Any, candidates: Sequence[Any]) -> np.ndarray:
        estimate = estimate_on(context.target)
        scores = []
        for candidate in candidates:
            total = sum(map(estimate, programs_of(candidate.sch)))
            scores.append(-math.log(max(total, 1.0)))
        return np.array(scores)


def estimate_on(target: Target | None) -> Callable[[Program], float]:
    """The function that estimates the cycles of a program on `target`."""
    if target is not None and "gpu" in target.keys:
        return partial(accelerator.estimate, gpu=figures_of(target))
    machine = (target or Target("llvm")).machine
    return lambda program: estimate(program, machine)


def estimate(program: Program, machine: Machine) -> float:
    """Cycles that a program takes on a CPU."""
    traffic = MemoryTraffic(program, caches_of(machine))
    total = 0.0
    for statement in program.statements():
        computing = cycles(statement, machine, program.reassociates)
        waiting = traffic.cycles(statement)
        time = max(computing, waiting) + OVERLAP * min(computing, waiting)
        time += traffic.exposed_lines(statement) * cpu.EXPOSED
        total += time / _threads(statement, machine.cores)
    if machine.cores > 1:
        total += sum(_starts(part) for part in program.body) * cpu.STARTING_THREADS
    return total


def _threads(statement: Statement, cores: int) -> float:
    """How many times as fast a statement is because of its parallel loops."""
    if cores > 1:
        for loop in statement.loops:
            if loop.kind is ForKind.PARALLEL:
                return loop.extent / -(-loop.extent // cores)
    return 1.0


def _starts(part: Part) -> float:
    """How often parallel loops begin."""
    if not isinstance(part, Nest):
        return 0.0
    if part.loop.kind is ForKind.PARALLEL:
        return 1.0
    return part.loop.extent * sum(_starts(inner) for inner in part.body)
