"""Whether what a refusal names is what would go wrong.

The refused step is done without proofs, or its result is written by hand where the primitive cannot
do it at all, and run.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.tir.schedule.checking import results_of

from tilewright.error import InterpreterError
from tilewright.tir import PrimFunc, Schedule, ScheduleError


def counterexample(func, prepare):
    """What the refusal of a step says, on a single line."""
    with pytest.raises(ScheduleError) as caught:
        prepare(Schedule(func, debug_mask="all"))()
    (line,) = re.findall("^Counterexample: (.*)$", str(caught.value), re.MULTILINE)
    return line


def forced(func, prepare):
    """The program after a step that is not proved."""
    sch = Schedule(func, enable_check=False)
    prepare(sch)()
    return sch.mod["main"]


def element(results: list[np.ndarray], func: PrimFunc, text: str):
    """The value that a run has left in ``"C[1, 2]"``."""
    name, indices = re.fullmatch(r"(\w+)\[([\d, ]*)\]", text).groups()
    names = [func.buffer_map[param].name for param in func.params]
    return results[names.index(name)][tuple(map(int, indices.split(",")))]


def assert_differs(before, after, text):
    """Check that two programs compute something else for an element."""
    old, new = (element(results_of(func), before, text) for func in (before, after))
    assert old != new


def assert_unwritten(after, text):
    """Check that a program reads an element that it has not written."""
    name, _, rest = text.partition("[")
    place = re.escape(f"{name}[{rest}")
    with pytest.raises(InterpreterError, match=f"{place}.* is read before anything was written"):
        results_of(after)
