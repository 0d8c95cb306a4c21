"""Rows of what no cache of a core holds, on which the stages of a group work: the next ones are
asked for, and those of long results go past the caches."""

from __future__ import annotations

from tilewright.schedule_rules.decisions import choose
from tilewright.schedule_rules.far_memory import has_large_cache, is_far
from tilewright.schedule_rules.groups import MIN_ROW_BYTES, Group
from tilewright.tir.schedule import LoopRV, Schedule
from tilewright.tir.stmt import ForKind
from tilewright.tir.transform.branches import is_simple
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH
from tilewright.tir.transform.machine import Machine
from tilewright.tir.transform.stream_stores import NONTEMPORAL_STORES


def fetch_next_rows(sch: Schedule, loop: LoopRV, group: Group, machine: Machine) -> None:
    """Leave it to the search whether the next row of what no cache of a core holds is asked for
    while the stages work on this one.

    Args:
        loop: the innermost loop that the stages of the group share.
    """
    if any(stage.contraction is not None or stage.epilogue for stage in group.stages):
        return
    made = {stage.accesses.stores[0].buffer for stage in group.stages[:-1]}
    if _streams_results(sch, group, machine):
        name = group.stages[-1].accesses.stores[0].buffer.name
        sch.annotate(loop, NONTEMPORAL_STORES, {name: choose(sch, (0, 1), 1)})
    far: list[str] = []
    for accesses in (stage.accesses for stage in group.stages):
        row = accesses.spatial[group.shared - 1]
        inner = [*accesses.spatial[group.shared :], *accesses.reduction]
        # A line that is asked for to read it is asked for again to write it, from a far cache.
        stores = () if has_large_cache(machine) else accesses.stores
        for access in (*accesses.loads, *stores):
            length = accesses.count(inner) * access.buffer.dtype.itemsize
            is_row = MIN_ROW_BYTES <= length <= machine.first_cache // 4
            is_contiguous = any(access.stride(var) == 1 for var in inner)
            is_large = accesses.size(access) > machine.own_cache and access.buffer not in made
            is_known = access.mentions(row) and all(map(is_simple, access.indices))
            if is_row and is_contiguous and is_large and is_known:
                far.append(access.buffer.name)
    if far:
        sch.annotate(loop, SOFTWARE_PREFETCH, dict.fromkeys(far, choose(sch, (0, 1), 1)))


def _streams_results(sch: Schedule, group: Group, machine: Machine) -> bool:
    """Whether the results of the last stage go past the caches, which one loop does for all rows.

    A loop whose iterations run on several cores cannot.
    """
    last = group.stages[-1]
    if not has_large_cache(machine) or machine.cores > 1 or last.consumers:
        return False
    row = last.accesses.known_count(last.accesses.spatial[group.shared :])
    if not last.is_complete or row is None or len(last.accesses.stores) != 1:
        return False
    (store,) = last.accesses.stores
    is_in_vectors = sch.get(sch.get_loops(last.block)[-1]).kind is ForKind.VECTORIZED
    is_aligned = row % machine.lanes(store.buffer.dtype) == 0
    return is_in_vectors and is_aligned and is_far(last.accesses.size(store), machine)
