"""Sums (and other reductions) that read most of their operands once: of rows, of columns, and
products of a matrix and a vector."""

from __future__ import annotations

from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import BlockAccesses, accesses_of
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import (
    attempt,
    block_of,
    loops_by_iterator,
    parallelize,
    present,
    split_into,
)
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule

VECTORS: Final = 8
"""How many vectors of results are computed at a time, so that sums do not wait for each other."""

ROWS: Final = 8
"""How many rows are added at a time to results that do not fit into registers."""


def schedule_reduction(
    sch: Schedule, block: BlockRV, outer: int, machine: Machine
) -> Schedule | None:
    """The schedule with loops along what is contiguous in the largest operand.

    Args:
        sch: the schedule.
        block: the block.
        outer: how many of the loops around it are fixed already.
        machine: the machine.

    Returns:
        The schedule; None for a block that is no reduction, or has no contiguous operand.
    """
    accesses = accesses_of(block_of(sch, block))
    if accesses.reduces is None or not accesses.loads:
        return None
    largest = max(accesses.loads, key=accesses.size)
    contiguous = [v for v in accesses.extents if largest.stride(v) == 1]
    contiguous = [v for v in contiguous if accesses.extents[v] != 1]
    if not contiguous:
        return None
    inner = contiguous[-1]
    if any(inner is var for var in accesses.reduction):
        column = _column_of_windows(accesses, inner, machine)
        if column is not None:
            return attempt(sch, lambda s: _in_registers(s, block, accesses, column, outer, machine))
        return attempt(sch, lambda s: _along_rows(s, block, accesses, inner, outer, machine))
    if any(store.stride(inner) != 1 for store in accesses.stores):
        return None
    several = any(accesses.extents[var] != 1 for var in accesses.reduction)
    if several and accesses.size(largest) > machine.own_cache:
        return attempt(sch, lambda s: _row_by_row(s, block, accesses, inner, outer, machine))
    return attempt(sch, lambda s: _in_registers(s, block, accesses, inner, outer, machine))


def _column_of_windows(accesses: BlockAccesses, inner: Var, machine: Machine) -> Var | None:
    """The iterator over neighbours in the results, if what is reduced are short pieces of rows."""
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    rows = joined_rows(accesses, inner)
    if None in (accesses.extents[v] for v in rows) or accesses.count(rows) >= lanes:
        return None
    columns = [v for v in accesses.spatial if all(s.stride(v) == 1 for s in accesses.stores)]
    return next((v for v in columns if accesses.extent(v) >= lanes // 2), None)


def joined_rows(accesses: BlockAccesses, inner: Var) -> list[Var]:
    """The reduction iterators that run over one stretch of all operands, the last is `inner`."""
    joined = [inner]
    before = accesses.reduction
    before = before[: next(n for n, var in enumerate(before) if var is inner)]
    while before and accesses.continues(before[-1], joined[0]):
        joined.insert(0, before.pop())
    return joined


def _along_rows(
    sch: Schedule,
    block: BlockRV,
    accesses: BlockAccesses,
    inner: Var,
    outer: int,
    machine: Machine,
) -> None:
    """The innermost loop runs along a row, into a few vectors that are added at the end."""
    loops = loops_by_iterator(sch, block, outer)
    spatial = [loops[var] for var in accesses.spatial if var in loops]
    joined = [var for var in joined_rows(accesses, inner) if var in loops]
    rest = [
        loops[v] for v in accesses.reduction if v in loops and not any(v is item for item in joined)
    ]
    reduced = [*rest, *(loops[var] for var in joined)]
    sch.reorder(*spatial, *reduced)
    if len(joined) > 1:
        # One long loop has no start of its own that the initialisation could wait for.
        sch.decompose_reduction(block, reduced[0])
        sch.fuse(*reduced[len(rest) :])
    if outer == 0:
        parallelize(sch, spatial, machine)


def _in_registers(
    sch: Schedule,
    block: BlockRV,
    accesses: BlockAccesses,
    inner: Var,
    outer: int,
    machine: Machine,
) -> None:
    """A few vectors of results stay in registers while the reduction runs."""
    loops = loops_by_iterator(sch, block, outer)
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    (strip, vector), lane = split_into(sch, loops[inner], [VECTORS, lanes], vector=True)
    spatial = [loops[v] for v in accesses.spatial if v is not inner and v in loops]
    reduced = [loops[var] for var in accesses.reduction if var in loops]
    around = [*spatial, *present(strip)]
    sch.reorder(*around, *reduced, *present(vector, lane))
    for loop in present(vector):
        sch.unroll(loop)
    sch.vectorize(lane)
    if outer == 0:
        parallelize(sch, around, machine)


def _row_by_row(
    sch: Schedule,
    block: BlockRV,
    accesses: BlockAccesses,
    inner: Var,
    outer: int,
    machine: Machine,
) -> None:
    """A few rows at a time are added to results that stay in the first cache."""
    loops = loops_by_iterator(sch, block, outer)
    dtype = accesses.stores[0].buffer.dtype
    lanes = machine.lanes(dtype)
    strip = machine.first_cache // 2 // dtype.itemsize // lanes
    shares_columns = outer == 0 and machine.cores > 1
    if shares_columns:
        strip = max(4, min(strip, accesses.extent(inner) // lanes // machine.cores))
    block_column: LoopRV | None = None
    if accesses.extents[inner] is None and not shares_columns:
        # There may be far fewer columns than the cache holds, and seldom many more.
        (piece,), lane = split_into(sch, loops[inner], [lanes], vector=True)
    else:
        (block_column, piece), lane = split_into(sch, loops[inner], [strip, lanes], vector=True)
    spatial = [loops[v] for v in accesses.spatial if v is not inner and v in loops]
    reduced = [loops[var] for var in accesses.reduction if var in loops]
    (last,), row = split_into(sch, reduced[-1], [ROWS])
    around = [*spatial, *present(block_column)]
    sch.reorder(*around, *reduced[:-1], *present(last, piece, row, lane))
    sch.unroll(row)
    sch.vectorize(lane)
    if outer == 0:
        parallelize(sch, around, machine)
