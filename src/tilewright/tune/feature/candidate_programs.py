"""The loop nests of candidates, each read once for all who look at it."""

from __future__ import annotations

from typing import Any

from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.tune.candidate import lifted
from tilewright.tune.feature.nest import Program
from tilewright.tune.feature.read_program import read_program

_FACT = "loop nests"


def programs_of(schedule: Any) -> list[Program]:
    """The loop nests of each function of a schedule.

    They are remembered as long as the schedule keeps this version of the program.
    """
    found = []
    state = schedule.state
    for variable in state.functions:
        tree = state.tree(variable.name_hint)
        program = tree.facts.get(_FACT)
        if program is None:
            # What is copied of constants is copied before the program is called.
            func, _ = lifted(tree.func) if CONSTANT_PARAMS in tree.func.attrs else (tree.func, {})
            program = tree.facts[_FACT] = read_program(func)
        found.append(program)
    return found
