"""Blocks whose neighbouring results come from different places, in turn.

Of ``out[i] = if_then_else(i % 3 < 2, a[i % 3, i // 3], b[i // 3])``, the results 3 apart are
neighbours in one operand: they are a vector, and which operand it is from is known when the program
is compiled.
"""

from __future__ import annotations

from typing import Final

from tilewright.arith import Analyzer
from tilewright.ir.expr import FloorMod, IntImm, Var
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.accesses import UNKNOWN, Access, BlockAccesses, access_to
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import parallelize
from tilewright.schedule_rules.plain_nest import Nest
from tilewright.schedule_rules.vectors import lanes_for, without
from tilewright.tir.schedule import Schedule
from tilewright.tir.substitute import substitute, variables_of

MOST_PHASES: Final = 8
"""So many phases are worth a vector each, and unrolled."""


def interleaving_period(accesses: BlockAccesses, vector: Var) -> int | None:
    """How far apart along `vector` the elements are that are neighbours in all operands.

    None if neighbours along `vector` are such elements themselves, or there is no such distance.
    """
    scattered = [load for load in accesses.loads if load.stride(vector) is UNKNOWN]
    if not scattered or any(
        load.mentions(vector) and load not in scattered for load in accesses.loads
    ):
        return None
    periods = {
        int(node.b.value)
        for node in walk(accesses.block.body)
        if isinstance(node, FloorMod)
        and isinstance(node.b, IntImm)
        and vector in variables_of(node.a)
    }
    if len(periods) != 1:
        return None
    (period,) = periods
    if period > MOST_PHASES or not all(_are_neighbours(x, vector, period) for x in scattered):
        return None
    return period


def _are_neighbours(load: Access, vector: Var, period: int) -> bool:
    """Whether what is loaded `period` apart along `vector` is next to each other."""
    place, analyzer = Var(vector.name, vector.dtype), Analyzer()
    for phase in range(period):
        here = {vector: place * period + phase}
        indices = tuple(analyzer.simplify(substitute(index, here)) for index in load.indices)
        if access_to(load.buffer, indices, [place]).stride(place) != 1:
            return False
    return True


def interleave(sch: Schedule, nest: Nest, *, vector: Var, period: int, machine: Machine) -> None:
    """Runs in vectors of elements that are `period` apart; all phases follow each other."""
    accesses = nest.accesses
    extent = accesses.extents[vector]
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    lanes = lanes_for(None if extent is None else -(-extent // period), lanes)
    others = nest.of(without(accesses.spatial, vector))
    part, column, phase = sch.split(nest.loops[vector], [None, lanes, period])
    sch.reorder(*others, part, phase, column)
    sch.unroll(phase)
    sch.vectorize(column)
    if nest.outer == 0:
        parallelize(sch, [*others, part], machine)
