"""Whether cores that share iterations have about as much to do as each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from tilewright.schedule_rules.nest import extent_of
from tilewright.tir.schedule import LoopRV, Schedule
from tilewright.tir.transform.machine import Machine

EVENLY: Final = 0.98
"""The part of the time that all cores should have something to do."""


def busy_share(iterations: int, machine: Machine) -> float:
    """The part of the time that cores have something to do that share equally long iterations."""
    return iterations / (machine.cores * -(-iterations // machine.cores))


def divides_evenly(
    sch: Schedule, loops: Sequence[LoopRV], machine: Machine, filled: float = 1.0
) -> bool:
    """Whether cores have about as much to do as each other in the iterations of nested loops, or
    may have, where the number of those is symbolic.

    Args:
        filled: how much there is to do, as a part of what there would be if all iterations were as
            long as the longest.
    """
    extents = [extent_of(sch, loop) for loop in loops]
    known = [extent for extent in extents if extent is not None]
    if machine.cores == 1 or len(known) < len(extents):
        return True
    return filled * busy_share(math.prod(known), machine) >= EVENLY
