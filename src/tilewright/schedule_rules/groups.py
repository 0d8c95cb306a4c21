"""Which blocks share their outer loops, so that what one computes is still near for the next."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import BlockAccesses, accesses_of
from tilewright.schedule_rules.alignment import aligned, is_elementwise
from tilewright.schedule_rules.balance import busy_share
from tilewright.schedule_rules.contraction import plans
from tilewright.schedule_rules.decisions import choose, powers_of_two
from tilewright.schedule_rules.inline import is_long
from tilewright.schedule_rules.nest import block_of, is_complete
from tilewright.schedule_rules.operands import (
    Contraction,
    constant_memory,
    contraction_in,
)
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.transform.machine import LINE_BYTES, Machine

MOST_ROWS: Final = 8
"""Maximum number of rows that are worked on at once."""

MOST_VECTORS: Final = 64
"""Maximum number of vectors in rows that are worked on at once by default."""

MIN_ROW_BYTES: Final = 4 * LINE_BYTES
"""Length of a row below which hardware knows as well what comes next."""

MOSTLY: Final = 0.9
"""The part of the time that cores should have something to do, so that stages may share loops."""


@dataclass(eq=False)
class Stage:
    """A block with what is known about it.

    Attributes:
        block: the block.
        accesses: its accesses.
        contraction: what it is as a contraction, if it is one.
        is_complete: whether it computes each element on its own.
        machine: the machine.
        constants: the memory of operands that are packed when the program is compiled.
        producers: the stages that write what it reads.
        consumers: the stages that read what it writes.
        epilogue: stages that are computed for each tile of it.
    """

    block: BlockRV
    accesses: BlockAccesses
    contraction: Contraction | None
    is_complete: bool
    machine: Machine
    constants: frozenset[Var]
    producers: list[Stage] = field(default_factory=list)
    consumers: list[Stage] = field(default_factory=list)
    epilogue: list[Stage] = field(default_factory=list)

    @functools.cached_property
    def own(self) -> frozenset[Var]:
        """The iterators whose loops a contraction does not share: all, if something is to be filled
        up with zeros, which is done outside of all loops; or those on which its matrix does not
        depend, if that is too large to stay packed in the cache."""
        found = self.contraction
        if found is None:
            return frozenset()
        best = next(iter(plans(found, self.machine, 0, self.constants)), None)
        if best is not None and not best.is_whole():
            return frozenset(self.accesses.spatial)
        matrix = self.accesses.count([found.column, *self.accesses.reduction])
        is_large = any(
            load.buffer.data not in self.constants
            and matrix * load.buffer.dtype.itemsize > self.machine.own_cache
            for load in found.moving
        )
        spatial = self.accesses.spatial
        others = (v for v in spatial if not any(load.mentions(v) for load in found.moving))
        return frozenset(others) if is_large else frozenset()


@dataclass(eq=False)
class Group:
    """Stages in the order of the program; the last one is the anchor.

    Attributes:
        stages: the stages.
        shared: how many outer loops they share; 0 for a group of one stage.
    """

    stages: list[Stage]
    shared: int = 0


def stages_of(sch: Schedule, blocks: Sequence[BlockRV], machine: Machine) -> list[Stage]:
    """Blocks with what is known about each, and about how they depend on each other."""
    sch = sch.copy()  # looking at it leaves no instructions in the trace
    constants = constant_memory(sch)
    stages = []
    by_block = {}
    for block in blocks:
        accesses = accesses_of(block_of(sch, block))
        found = contraction_in(sch, accesses)
        stage = Stage(block, accesses, found, is_complete(sch, block), machine, constants)
        stages.append(stage)
        by_block[sch.get(block).key] = stage
    for stage in stages:
        for consumer in sch.get_consumers(stage.block):
            other = by_block.get(sch.get(consumer).key)
            if other is not None:
                stage.consumers.append(other)
                other.producers.append(stage)
    return stages


def share_loops(sch: Schedule, group: Group) -> list[LoopRV]:
    """Compute what the stages of a group have of some rows in the same iteration.

    What one stage computes of a row is then still in the nearest cache when the next one reads it.
    How many rows are worked on at once is left to the search.

    Returns:
        The shared loops; inside of them each stage has a loop over the rows that are worked on.
    """
    *producers, anchor = group.stages
    variables = anchor.accesses.spatial[: group.shared]
    loops = sch.get_loops(anchor.block)[: group.shared]
    counts = powers_of_two(1, min(MOST_ROWS, anchor.accesses.extent(variables[-1])))
    best = next(n for n in reversed(counts) if n == 1 or _gains_by(n, group))
    loops[-1], _ = sch.split(loops[-1], [None, choose(sch, counts, best)])
    for item in anchor.epilogue:
        if any(producer in producers for producer in item.producers):
            sch.reverse_compute_at(item.block, loops[-1], preserve_unit_loops=True)
    for stage in reversed(producers):
        for item in (*stage.epilogue, stage):
            sch.compute_at(item.block, loops[-1], preserve_unit_loops=True)
    return loops


def _gains_by(rows: int, group: Group) -> bool:
    """Whether to work on some rows at once: short ones with long calculations, such as `exp`, more
    of which run at the same time then. What is computed once for each row fills vectors.

    Each core still has about as many rows as others, and the next row is asked for one by one.
    """
    accesses, machine = group.stages[-1].accesses, group.stages[-1].machine
    row = accesses.known_count(accesses.spatial[group.shared :])
    others = accesses.count(accesses.spatial[: group.shared])
    if row is None or any(s.contraction is not None or s.epilogue for s in group.stages):
        return False
    turns = -(-others // (rows * machine.cores))  # those of a core
    store = accesses.stores[0]
    dtype = store.buffer.dtype
    if accesses.size(store) > machine.own_cache and row * dtype.itemsize >= MIN_ROW_BYTES:
        return False
    return (
        rows * -(-row // machine.lanes(dtype)) <= MOST_VECTORS
        and any(is_long(stage.accesses.block) for stage in group.stages)
        and (machine.cores == 1 or others >= MOSTLY * rows * machine.cores * turns)
    )


def append_epilogues(stages: Sequence[Stage]) -> list[Stage]:
    """Give contractions their element-wise consumers; what is left are stages of their own.

    Long calculations are stages of their own, too; see `is_long`.
    """
    taken: set[Stage] = set()
    for stage in stages:
        if stage.contraction is None:
            continue
        for consumer in stage.consumers:
            others = [p for p in consumer.producers if p is not stage]
            if (
                consumer.is_complete
                and consumer not in taken
                and not is_long(consumer.accesses.block)
                and not any(p.contraction is not None or depends_on(p, stage) for p in others)
                and is_elementwise(consumer.accesses, stage.accesses)
            ):
                stage.epilogue.append(consumer)
                taken.add(consumer)
    return [stage for stage in stages if stage not in taken]


def depends_on(stage: Stage, producer: Stage) -> bool:
    """Whether a stage needs results of another one, which are complete only when all its tiles are:
    the maximum of a row, for example."""
    seen, waiting = set(), [stage]
    while waiting:
        for earlier in waiting.pop().producers:
            if earlier is producer:
                return True
            if earlier not in seen:
                seen.add(earlier)
                waiting.append(earlier)
    return False


def groups_of(stages: Sequence[Stage], machine: Machine) -> list[Group]:
    """Stages that share outer loops, together; the consumers first."""
    grouped: set[Stage] = set()
    found: list[Group] = []
    for position in range(len(stages) - 1, -1, -1):
        anchor = stages[position]
        if anchor in grouped:
            continue
        group = Group([anchor])
        shared = _most_shared(anchor, anchor) if position else 0  # there is nothing to share with
        for stage in reversed(stages[:position]):
            if stage in grouped or shared == 0:
                continue
            common = _shared_by(stage, group, shared)
            if common < shared and _is_only_packed(stage):
                continue
            if _is_worthwhile(stage, group, common, machine):
                group.stages.insert(0, stage)
                group.shared = shared = common
        grouped.update(group.stages)
        if group.shared:
            group.shared = _fewest_shared(group, machine)
        found.append(group)
    return found


def _shared_by(stage: Stage, group: Group, most: int) -> int:
    """How many outer loops a stage can share with a group that has all of its consumers."""
    last = stage
    if stage.epilogue:
        last = stage.epilogue[0]
        if len(stage.consumers) > 1:
            return 0
    members = [item for member in group.stages for item in (member, *member.epilogue)]
    readers = [consumer for consumer in last.consumers if consumer in members]
    if not readers or len(readers) != len(last.consumers):
        return 0
    common = min(aligned(reader.accesses, last.accesses) for reader in readers)
    return min(common, most, _most_shared(stage, group.stages[-1]))


def _is_worthwhile(stage: Stage, group: Group, common: int, machine: Machine) -> bool:
    """Whether a group gains by a stage with which it shares its outer `common` loops.

    What all stages compute in an iteration must still be in a cache when it is read: if a group
    would have to give up loops, so that it no longer is, the stage stays outside. So it does if
    too few iterations are left for all cores.
    """
    if not _are_enough(group, common, machine) or _may_be_one(stage, group, common, machine):
        return False
    fits = _bytes_inside([stage, *group.stages], common) <= machine.own_cache // 2
    return common >= group.shared or fits


def _is_only_packed(stage: Stage) -> bool:
    """Whether a stage computes what products read as their columns: those pack it, and fewer loops
    around them would be for nothing."""
    buffer = stage.accesses.stores[0].buffer
    return all(
        reader.contraction is not None
        and all(load.buffer is not buffer for load in reader.contraction.fixed)
        for reader in stage.consumers
    )


def _are_enough(group: Group, shared: int, machine: Machine) -> bool:
    """Whether outer loops of a group have several iterations, and nearly as many for each core, as
    far as there is enough to do: what the first cache holds is soon computed."""
    anchor = group.stages[-1].accesses
    count = anchor.count(anchor.spatial[:shared])
    is_little = _bytes_inside(group.stages, 0) <= machine.first_cache
    return count > 1 and (is_little or busy_share(count, machine) >= MOSTLY)


def _may_be_one(stage: Stage, group: Group, shared: int, machine: Machine) -> bool:
    """Whether outer loops may have a single iteration, where cores can share products instead: of a
    batch whose size is known only in the call, for example."""
    anchor = group.stages[-1].accesses
    return (
        machine.cores > 1
        and any(item.contraction is not None for item in (stage, *group.stages))
        and all(anchor.extents[var] is None for var in anchor.spatial[:shared])
    )


def _bytes_inside(stages: Sequence[Stage], shared: int) -> int:
    """Bytes that stages compute in an iteration of their outer loops."""
    return sum(
        item.accesses.count(item.accesses.spatial[shared:])
        * item.accesses.stores[0].buffer.dtype.itemsize
        for stage in stages
        for item in (stage, *stage.epilogue)
    )


def _most_shared(stage: Stage, anchor: Stage) -> int:
    """How many outer loops of a stage may be shared: what is worth a vector or a tile stays.

    A stage that computes less than the anchor may share all of its loops.
    """
    accesses = stage.accesses
    spatial = accesses.spatial
    if stage.is_complete and len(spatial) < len(anchor.accesses.spatial):
        return len(spatial)
    count = len(spatial) if accesses.reduction else len(spatial) - 1
    if stage.contraction is not None:
        inner = {*stage.contraction.mergeable(), stage.contraction.row, *stage.own}
        count = next((n for n, var in enumerate(spatial) if var in inner), len(spatial))
        return count if accesses.count(spatial[:count]) > 1 else 0
    largest = max(accesses.loads, key=accesses.size, default=None)
    main = largest if accesses.reduction else accesses.stores[0] if accesses.stores else None
    if main is None:
        return 0
    along = [n for n, var in enumerate(spatial) if main.stride(var) == 1]
    count = min([count, *along])
    return count if accesses.count(spatial[:count]) > 1 else 0


def _fewest_shared(group: Group, machine: Machine) -> int:
    """As few shared loops as leave intermediate results in the first cache, and cores busy."""
    for shared in range(1, group.shared):
        is_near = _bytes_inside(group.stages, shared) <= machine.first_cache // 2
        if is_near and _are_enough(group, shared, machine):
            return shared
    return group.shared
