"""`ReduceAlongRows`: sums, maxima and the like of what is next to each other in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.decisions import choose, powers_of_two
from tilewright.schedule_rules.elementwise import joined_with
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import parallelize
from tilewright.schedule_rules.operands import find_contraction
from tilewright.schedule_rules.plain_nest import Nest
from tilewright.schedule_rules.structures import Structure
from tilewright.schedule_rules.vectors import vectorized, without
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tune.rule.nest_rule import NestRule

LONG: Final = 4
"""Iterations of each core from which on data-parallel loops alone keep the cores busy."""

MOST_ROWS: Final = 8
"""So many rows are reduced at once at the most."""

LONG_ROWS: Final = 64
"""Vectors of a row from which on it may pay to ask for what comes later in it."""

DISTANCES: Final = (0, 4, 8, 16, 32)
"""So many iterations ahead may be asked for what will be read; 0 is not at all."""


class ReduceAlongRows(NestRule):
    """Reduces several rows at once, each into the lanes of vectors.

    Left to the search: how many rows, how many vectors of each, and how far ahead it is asked for
    what is too large for a cache. If there are fewer rows than several cores need, another sketch
    reduces parts of rows first.
    """

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """Reductions along what is contiguous in the largest operand."""
        if along_rows(nest) is None or find_contraction(nest.accesses) is not None:
            return []
        found: list[Structure] = [self._rows]
        accesses, cores = nest.accesses, self.machine.cores
        if cores > 1 and accesses.count(accesses.spatial) < LONG * cores:
            found.insert(0, self._parts_of_rows)
        return found

    def _rows(self, sch: Schedule, nest: Nest) -> Sequence[BlockRV]:
        accesses, machine = nest.accesses, self.machine
        spatial = nest.of(accesses.spatial)
        if not spatial:
            outer = reduce_rows(sch, nest, [], machine, vectors=8)
            self._prefetch(sch, outer, nest)
            return ()
        counts = powers_of_two(1, min(MOST_ROWS, accesses.extent(accesses.spatial[-1])))
        block, rows = sch.split(spatial[-1], [None, choose(sch, counts, counts[-1])])
        around = [*spatial[:-1], block]
        sch.reorder(*around, rows, *nest.of(accesses.reduction))
        piece = reduce_rows(sch, nest, [rows], machine, vectors=1)
        self._prefetch(sch, piece, nest)
        parallelize(sch, around, machine)
        return ()

    def _prefetch(self, sch: Schedule, loop: LoopRV, nest: Nest) -> None:
        """Only where rows are so long that something is left to ask for."""
        accesses = nest.accesses
        lanes = self.machine.lanes(accesses.stores[0].buffer.dtype)
        if accesses.count(accesses.reduction) >= LONG_ROWS * lanes:
            prefetch(sch, loop, nest, self.machine, 16)

    def _parts_of_rows(self, sch: Schedule, nest: Nest) -> Sequence[BlockRV]:
        """Each core reduces a part of each row into results of its own."""
        accesses, machine = nest.accesses, self.machine
        inner = along_rows(nest)
        assert inner is not None
        reduced = nest.of([*without(accesses.reduction, inner), inner])
        spatial = nest.of(accesses.spatial)
        sch.reorder(*spatial, *reduced)
        loop = sch.fuse(*reduced) if len(reduced) > 1 else reduced[0]
        part, _ = sch.split(loop, [machine.cores, None])
        parts = sch.rfactor(part, 0)
        *around, part, rest = sch.get_loops(parts)
        sch.reorder(part, *around, rest)
        vectorized(sch, rest, None, machine.lanes(accesses.stores[0].buffer.dtype))
        sch.parallel(part)
        return [parts]


def along_rows(nest: Nest) -> Var | None:
    """The reduction iterator over neighbours in the largest operand, if there is one."""
    accesses, largest = nest.accesses, nest.largest()
    if accesses.reduces is None or largest is None or len(accesses.stores) != 1:
        return None
    found = [v for v in accesses.extents if largest.stride(v) == 1 and accesses.extents[v] != 1]
    return found[-1] if found and any(found[-1] is v for v in accesses.reduction) else None


def reduce_rows(
    sch: Schedule, nest: Nest, rows: Sequence[LoopRV], machine: Machine, vectors: int
) -> LoopRV:
    """Let the reduction of a tile of rows run along them, in vectors.

    Args:
        sch: the schedule.
        nest: the block; its reduction loops are the innermost, in any order.
        rows: the loops over the rows; the last one is unrolled.
        machine: the machine.
        vectors: the best number of vectors of a row at once, as far as is known.

    Returns:
        The loop over pieces of the rows.
    """
    accesses = nest.accesses
    inner = along_rows(nest)
    assert inner is not None
    joined = joined_with(inner, accesses, accesses.reduction)
    rest = nest.of(without(accesses.reduction, *joined))
    sch.reorder(*rows, *rest, *nest.of(joined))
    loop = sch.fuse(*nest.of(joined)) if len(joined) > 1 else nest.loops[inner]
    extent = None if None in map(accesses.extents.get, joined) else accesses.count(joined)
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    outer, vector = vectorized(sch, loop, extent, lanes, vectors)
    if rows:
        sch.reorder(*rows[:-1], *rest, outer, rows[-1], vector)
        sch.unroll(rows[-1])
    return outer


def prefetch(sch: Schedule, loop: LoopRV, nest: Nest, machine: Machine, preferred: int) -> None:
    """Leave it to the search how far ahead it is asked for an operand that no cache holds."""
    largest = nest.largest()
    if largest is not None and nest.accesses.size(largest) > machine.own_cache:
        distance = choose(sch, DISTANCES, preferred)
        sch.annotate(loop, "software_prefetch", {largest.buffer.name: distance})
