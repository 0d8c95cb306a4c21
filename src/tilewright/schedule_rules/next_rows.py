"""Prefetches of the next rows of what the stages of a group work on."""

from __future__ import annotations

from typing import Final

from tilewright.schedule_rules.decisions import choose
from tilewright.schedule_rules.groups import Group
from tilewright.tir.schedule import LoopRV, Schedule
from tilewright.tir.transform.branches import is_simple
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH
from tilewright.tir.transform.machine import LINE_BYTES, Machine

MIN_ROW_BYTES: Final = 4 * LINE_BYTES
"""Length of a row below which hardware knows as well what comes next."""


def fetch_next_rows(sch: Schedule, loop: LoopRV, group: Group, machine: Machine) -> None:
    """Leave it to the search whether the next row of what no cache of a core holds is asked for
    while the stages work on this one.

    Args:
        loop: the innermost loop that the stages of the group share.
    """
    if any(stage.contraction is not None or stage.epilogue for stage in group.stages):
        return
    made = {stage.accesses.stores[0].buffer for stage in group.stages[:-1]}
    far: list[str] = []
    for accesses in (stage.accesses for stage in group.stages):
        row = accesses.spatial[group.shared - 1]
        inner = [*accesses.spatial[group.shared :], *accesses.reduction]
        for access in (*accesses.loads, *accesses.stores):
            length = accesses.count(inner) * access.buffer.dtype.itemsize
            is_row = MIN_ROW_BYTES <= length <= machine.first_cache // 4
            is_contiguous = any(access.stride(var) == 1 for var in inner)
            is_far = accesses.size(access) > machine.own_cache and access.buffer not in made
            is_known = access.mentions(row) and all(map(is_simple, access.indices))
            if is_row and is_contiguous and is_far and is_known:
                far.append(access.buffer.name)
    if far:
        sch.annotate(loop, SOFTWARE_PREFETCH, dict.fromkeys(far, choose(sch, (0, 1), 1)))
