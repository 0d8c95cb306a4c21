"""Blocks that compute each element on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import BlockAccesses, accesses_of
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import (
    DoesNotFitError,
    attempt,
    block_of,
    is_complete,
    loops_by_iterator,
    parallelize,
    present,
    split_into,
)
from tilewright.tir.schedule import BlockRV, Schedule

SIDE: Final = 32
"""The side of a square tile of a transposition, which the first cache holds easily."""


def schedule_elementwise(
    sch: Schedule, block: BlockRV, outer: int, machine: Machine
) -> Schedule | None:
    """The schedule with vectors along what is contiguous; None for another block.

    Args:
        sch: the schedule.
        block: the block.
        outer: how many of the loops around it are fixed already.
        machine: the machine.
    """
    return attempt(sch, lambda s: vectorize_elements(s, block, outer, machine))


def vectorize_elements(sch: Schedule, block: BlockRV, outer: int, machine: Machine) -> None:
    """`schedule_elementwise` as a step of a rule.

    Raises:
        DoesNotFitError: for another block.
    """
    if not is_complete(sch, block):
        raise DoesNotFitError("the block does not compute each element on its own")
    accesses = accesses_of(block_of(sch, block))
    stores = accesses.stores
    vector = next((v for v in accesses.spatial if all(s.stride(v) == 1 for s in stores)), None)
    if vector is None or len(stores) != 1:
        raise DoesNotFitError("there are no neighbours in one result")
    across = transposed_along(accesses, vector)
    if across is not None:
        _transpose(sch, block, vector, across, outer, machine)
    else:
        _vectors(sch, block, accesses, vector, outer, machine)


def transposed_along(accesses: BlockAccesses, vector: Var) -> Var | None:
    """The iterator over neighbours in an operand that is transposed, if there is one."""
    for load in accesses.loads:
        if load.stride(vector) in (0, 1):
            continue
        for var in accesses.spatial:
            if var is not vector and load.stride(var) == 1 and accesses.extents[var] != 1:
                return var
    return None


def _transpose(
    sch: Schedule, block: BlockRV, vector: Var, across: Var, outer: int, machine: Machine
) -> None:
    """Square tiles: each cache line is used as a whole while it is there."""
    loops = loops_by_iterator(sch, block, outer)
    (row_tile,), row = split_into(sch, loops[across], [SIDE])
    (column_tile,), column = split_into(sch, loops[vector], [SIDE])
    others = [loop for var, loop in loops.items() if var is not vector and var is not across]
    around = [*others, *present(row_tile, column_tile)]
    sch.reorder(*around, *present(row, column))
    if outer == 0:
        parallelize(sch, around, machine)


def _vectors(
    sch: Schedule,
    block: BlockRV,
    accesses: BlockAccesses,
    vector: Var,
    outer: int,
    machine: Machine,
) -> None:
    """Vectors along `vector`, and along iterators of which each step is a whole row of it."""
    loops = loops_by_iterator(sch, block, outer)
    if vector not in loops:  # one element for each iteration of the loops around
        return
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    joined = joined_with(vector, accesses, [v for v in accesses.spatial if v in loops])
    others = [loop for var, loop in loops.items() if not any(var is item for item in joined)]
    inner = [loops[var] for var in joined]
    if others:
        sch.reorder(*others, *inner)
    loop = inner[0] if len(inner) == 1 else sch.fuse(*inner)
    (piece,), lane = split_into(sch, loop, [lanes], vector=True)
    sch.vectorize(lane)
    if outer == 0:
        parallelize(sch, [*others, *present(piece)], machine)


def joined_with(vector: Var, accesses: BlockAccesses, candidates: Sequence[Var]) -> list[Var]:
    """The iterators that run over one contiguous stretch of every operand, the last is `vector`.

    Args:
        vector: the iterator over neighbours.
        accesses: the block.
        candidates: the iterators in the order of their loops.
    """
    joined = [vector]
    before = list(candidates[: next(n for n, v in enumerate(candidates) if v is vector)])
    while before and accesses.continues(before[-1], joined[0]):
        joined.insert(0, before.pop())
    return joined
