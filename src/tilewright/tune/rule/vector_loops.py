"""Loops that run in vectors, and blocks whose only loops are such."""

from __future__ import annotations

from tilewright.ir.expr import Var
from tilewright.schedule_rules.machine import Machine
from tilewright.tir.schedule import LoopRV, Schedule
from tilewright.tune.rule.decisions import choose, powers_of_two
from tilewright.tune.rule.plain_nest import Nest

MOST_VECTORS = 8
"""How many vectors an iteration works on at the most."""


def lanes_for(extent: int | None, lanes: int) -> int:
    """How many lanes a loop is worth: a power of two, not many more than its extent."""
    if extent is None or extent >= lanes:
        return lanes
    return 1 << (extent - 1).bit_length()


def vectorized(
    sch: Schedule, loop: LoopRV, extent: int | None, lanes: int, preferred: int = 4
) -> tuple[LoopRV, LoopRV]:
    """Split a loop into vectors, several in an iteration; how many is left to the search.

    Args:
        sch: the schedule.
        loop: the loop.
        extent: how often it runs; None if that is symbolic.
        lanes: elements of a vector register.
        preferred: the best number of vectors, as far as is known.

    Returns:
        The outer loop, and the vector.
    """
    lanes = lanes_for(extent, lanes)
    most = MOST_VECTORS if extent is None else min(MOST_VECTORS, -(-extent // lanes))
    counts = powers_of_two(1, most)
    width = choose(sch, [n * lanes for n in counts], min(preferred, counts[-1]) * lanes)
    outer, inner = sch.split(loop, [None, width])
    sch.vectorize(inner)
    return outer, inner


def vectorize_nest(sch: Schedule, nest: Nest, machine: Machine, preferred: int = 4) -> None:
    """Let a block that computes each element on its own run in vectors."""
    var = nest.neighbours()
    if var is None or var not in nest.loops:
        return
    lanes = machine.lanes(nest.accesses.stores[0].buffer.dtype)
    others = [loop for item, loop in nest.loops.items() if item is not var]
    sch.reorder(*others, nest.loops[var])
    vectorized(sch, nest.loops[var], nest.accesses.extents[var], lanes, preferred)


def without(variables: list[Var], *left_out: Var | None) -> list[Var]:
    """Some iterators, without others."""
    return [var for var in variables if not any(var is item for item in left_out)]
