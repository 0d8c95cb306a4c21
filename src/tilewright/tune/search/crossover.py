"""`crossover`: from two candidates to one that has decisions of both."""

from __future__ import annotations

import random
from typing import Any

from tilewright.tir.schedule import Instruction, Trace


def crossover(one: Trace, other: Trace, rng: random.Random) -> Trace | None:
    """A trace with each decision from one of two traces of the same sketch.

    None for traces of which no mixture can be applied: those of different length, or with
    instructions that return something else.
    """
    if len(one) != len(other):
        return None
    insts: list[Instruction] = []
    decisions: dict[Instruction, Any] = {}
    for mine, theirs in zip(one, other, strict=True):
        if not _is_like(mine, theirs):
            return None
        inst, trace = (mine, one) if rng.random() < 0.5 else (theirs, other)
        insts.append(inst)
        decision = trace.get_decision(inst)
        if decision is not None:
            decisions[inst] = decision
    return Trace(insts, decisions)


def _is_like(mine: Instruction, theirs: Instruction) -> bool:
    """Whether two instructions can stand for each other."""
    return mine is theirs or (
        mine.kind is theirs.kind
        and len(mine.outputs) == len(theirs.outputs)
        and all(a is b for a, b in zip(mine.outputs, theirs.outputs, strict=True))
    )
