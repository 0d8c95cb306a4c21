"""`ReduceAlongColumns`: reductions into results next to each other, as of the columns of a matrix,
and products of a vector and a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.decisions import choose, powers_of_two
from tilewright.schedule_rules.nest import parallelize
from tilewright.schedule_rules.operands import find_contraction
from tilewright.schedule_rules.plain_nest import Nest
from tilewright.schedule_rules.structures import Structure
from tilewright.schedule_rules.vectors import lanes_for, without
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.nest_rule import NestRule
from tilewright.tune.rule.reduce_along_rows import prefetch

MOST_VECTORS: Final = 16
"""So many vectors of results are in registers at once at the most."""

MOST_ROWS: Final = 32
"""So many rows are added at once at the most."""

STEPS: Final = (1, 2, 4, 8)
"""So many steps of a reduction may be unrolled."""


class ReduceAlongColumns(NestRule):
    """Reduces into vectors of neighbouring results.

    One sketch keeps some vectors of results in registers while the reduction runs: how many, and
    how many steps are unrolled, is left to the search. For an operand that is too large for the
    cache of a core, another sketch reads a few rows at a time as far as a strip goes, into results
    that stay in the first cache: how many rows, how wide the strip is, and how far ahead it is
    asked for, is left to the search.
    """

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """Reductions whose result and largest operand are contiguous along the same iterator."""
        column, largest = nest.neighbours(), nest.largest()
        accesses = nest.accesses
        if column is None or largest is None or accesses.reduces is None:
            return []
        if not accesses.reduction or largest.stride(column) != 1:
            return []
        if find_contraction(accesses) is not None:
            return []
        if accesses.size(largest) > self.machine.own_cache:
            return [self._row_by_row, self._in_registers]
        return [self._in_registers]

    def _in_registers(self, sch: Schedule, nest: Nest) -> Sequence[BlockRV]:
        accesses = nest.accesses
        column, lanes = self._column(nest)
        whole = -(-accesses.extent(column) // lanes)
        counts = powers_of_two(1, min(MOST_VECTORS, whole))
        vectors = choose(sch, counts, min(8, counts[-1]))
        strip, vector, lane = sch.split(nest.loops[column], [None, vectors, lanes])
        *reduced, last = nest.of(accesses.reduction)
        steps = [n for n in STEPS if n <= accesses.extent(accesses.reduction[-1])]
        last, step = sch.split(last, [None, choose(sch, steps, min(4, steps[-1]))])
        around = [*nest.of(without(accesses.spatial, column)), strip]
        sch.reorder(*around, *reduced, last, step, vector, lane)
        sch.unroll(step)
        sch.unroll(vector)
        sch.vectorize(lane)
        parallelize(sch, around, self.machine)
        if accesses.extent(accesses.reduction[-1]) >= 4 * STEPS[-1]:
            prefetch(sch, last, nest, self.machine, 0)
        return ()

    def _row_by_row(self, sch: Schedule, nest: Nest) -> Sequence[BlockRV]:
        accesses, machine = nest.accesses, self.machine
        column, lanes = self._column(nest)
        whole = -(-accesses.extent(column) // lanes)
        fitting = machine.first_cache // 2 // accesses.stores[0].buffer.dtype.itemsize // lanes
        strips = max(machine.cores, -(-whole // fitting))
        widths = [-(-whole // n) for n in (strips, 2 * strips, 4 * strips)]
        preferred = max(4, widths[0])
        strip, piece, lane = sch.split(
            nest.loops[column], [None, choose(sch, widths, preferred), lanes]
        )
        *reduced, last = nest.of(accesses.reduction)
        counts = powers_of_two(1, min(MOST_ROWS, accesses.extent(accesses.reduction[-1])))
        last, row = sch.split(last, [None, choose(sch, counts, min(8, counts[-1]))])
        around = [*nest.of(without(accesses.spatial, column)), strip]
        sch.reorder(*around, *reduced, last, piece, row, lane)
        sch.unroll(row)
        sch.vectorize(lane)
        parallelize(sch, around, machine)
        if whole >= 2 * MOST_ROWS:
            prefetch(sch, piece, nest, machine, 8)
        return ()

    def _column(self, nest: Nest) -> tuple[Var, int]:
        column = nest.neighbours()
        assert column is not None
        lanes = self.machine.lanes(nest.accesses.stores[0].buffer.dtype)
        return column, lanes_for(nest.accesses.extents[column], lanes)
