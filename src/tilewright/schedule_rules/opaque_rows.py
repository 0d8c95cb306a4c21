"""Programs by hand, such as sorts, scans and factorizations: cores share their rows."""

from __future__ import annotations

from tilewright.schedule_rules.nest import attempt, parallelize
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.transform.machine import Machine


def share_rows(sch: Schedule, block: BlockRV, machine: Machine) -> Schedule:
    """The schedule in which the loops around the blocks in an opaque one run on all cores, where
    their iterations are proved not to depend on each other."""
    if machine.cores == 1:
        return sch
    for number in range(len(sch.copy().get_child_blocks(block))):

        def share(view: Schedule, number: int = number) -> None:
            row = view.get_child_blocks(block)[number]
            parallelize(view, view.get_loops(row), machine)

        sch = attempt(sch, share) or sch
    return sch
