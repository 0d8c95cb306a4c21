"""Reductions into results next to each other, as of the columns of a matrix, and products of a
vector and a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import BlockAccesses
from tilewright.schedule_rules.decisions import choose, lanes_for, powers_of_two, without
from tilewright.schedule_rules.elementwise import joined_with
from tilewright.schedule_rules.nest import Nest, parallelize
from tilewright.schedule_rules.reduce_along_rows import prefetch
from tilewright.schedule_rules.structures import Structure
from tilewright.tir.schedule import LoopRV, Schedule
from tilewright.tir.transform.machine import Machine

VECTORS: Final = 8
"""Vectors of results that are computed at a time, so that sums do not wait for each other."""

MOST_VECTORS: Final = 16
"""Maximum number of vectors of results that are in registers at once."""

ROWS: Final = 8
"""Rows that are added at a time to results that do not fit into registers."""

MOST_ROWS: Final = 32
"""Maximum number of rows that are added at a time."""

AHEAD: Final = 8
"""Pieces of rows that a prefetch from the cache that cores share is ahead."""

FEW_ROWS: Final = 8
"""Number of rows that are added in registers, whatever their length."""

FEW: Final = 2
"""Vectors of results with which it pays to unroll steps, because a loop does little else."""

NEAR: Final = 6
"""Elements between windows up to which vectors of windows are faster than vectors in a window."""

STEPS: Final = (1, 2, 4, 8)
"""How many steps of a reduction may be unrolled."""


def reduce_along_columns(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Reduces into vectors of neighbouring results.

    One structure keeps some vectors of results in registers while the reduction runs: how many, and
    how many steps are unrolled, is left to the search. For an operand that is too large for the
    cache of a core, another one reads a few rows at a time as far as a strip goes, into results
    that stay in the first cache: how many rows, how wide the strip is, and how far ahead it is
    asked for, is left to the search. Several vectors are multiplied by the rows of a matrix while
    these are there.
    """
    accesses, inner = nest.accesses, nest.innermost()
    if accesses.reduces is None or not accesses.stores:
        return []
    is_window = inner is None or nest.reduces_along(inner)
    column = _column_of_windows(nest, inner, machine) if is_window else inner
    if column is None or column not in nest.own:
        return []
    if any(store.stride(column) != 1 for store in accesses.stores):
        return []
    in_registers = partial(_in_registers, column=column, machine=machine)
    largest = nest.largest()
    steps = [var for var in accesses.reduction if var in nest.loops and accesses.extents[var] != 1]
    if is_window or not steps or largest is None or nest.size(largest) <= machine.own_cache:
        return [in_registers]
    row_by_row = partial(_row_by_row, column=column, machine=machine)
    fits = accesses.extents[column] is not None and _whole(nest, column, machine) <= VECTORS
    if fits or _has_few_rows(accesses):
        return [in_registers, row_by_row]
    return [row_by_row, in_registers]


def _has_few_rows(accesses: BlockAccesses) -> bool:
    """Whether there are so few rows that hardware follows all of them."""
    return (accesses.known_count(accesses.reduction) or FEW_ROWS + 1) <= FEW_ROWS


def _column_of_windows(nest: Nest, inner: Var | None, machine: Machine) -> Var | None:
    """The iterator over neighbours in the results, if what is reduced are short pieces of rows, or
    elements that are not side by side."""
    accesses = nest.accesses
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    rows = [] if inner is None else joined_with(inner, accesses, accesses.reduction)
    if None in (accesses.extents[v] for v in rows) or accesses.count(rows) >= lanes:
        return None
    column, largest = nest.neighbours(), nest.largest()
    if column is None or largest is None or accesses.extent(column) < lanes // 2:
        return None
    distance = largest.stride(column)
    return column if distance is not None and distance <= NEAR else None


def _lanes(nest: Nest, column: Var, machine: Machine) -> int:
    lanes = machine.lanes(nest.accesses.stores[0].buffer.dtype)
    return lanes_for(nest.accesses.extents[column], lanes)


def _whole(nest: Nest, column: Var, machine: Machine) -> int:
    """Number of vectors that cover the columns."""
    return -(-nest.accesses.extent(column) // _lanes(nest, column, machine))


def _in_registers(sch: Schedule, nest: Nest, *, column: Var, machine: Machine) -> None:
    """A few vectors of results stay in registers while the reduction runs."""
    accesses = nest.accesses
    whole = _whole(nest, column, machine)
    counts = powers_of_two(1, min(MOST_VECTORS, whole))
    vectors = choose(sch, counts, min(VECTORS, whole))
    lanes = _lanes(nest, column, machine)
    strip, vector, lane = sch.split(nest.loops[column], [None, vectors, lanes])
    reduced, unrolled = nest.of(accesses.reduction), []
    steps = _steps(accesses.extents[accesses.reduction[-1]])
    if _has_few_rows(accesses):
        reduced, unrolled = [], reduced
    elif reduced and len(steps) > 1:
        preferred = steps[min(2, len(steps) - 1)] if whole <= FEW else 1
        reduced[-1], step = sch.split(reduced[-1], [None, choose(sch, steps, preferred)])
        unrolled = [step]
    around = [*nest.of(without(accesses.spatial, column)), strip]
    sch.reorder(*around, *reduced, *unrolled, vector, lane)
    for loop in (*unrolled, vector):
        sch.unroll(loop)
    sch.vectorize(lane)
    if reduced and accesses.extent(accesses.reduction[-1]) >= 4 * STEPS[-1]:
        prefetch(sch, reduced[-1], nest, machine, 0)
    if nest.outer == 0:
        parallelize(sch, around, machine)


def _steps(extent: int | None) -> list[int]:
    """How many steps may be unrolled, so that none sticks out."""
    return [1] if extent is None else [n for n in STEPS if extent % n == 0]


def _row_by_row(sch: Schedule, nest: Nest, *, column: Var, machine: Machine) -> None:
    """A few rows at a time are added to results that stay in the first cache."""
    accesses = nest.accesses
    strip, piece, lane = _strips(sch, nest, column, machine)
    *reduced, last = nest.of(accesses.reduction)
    counts = powers_of_two(1, min(MOST_ROWS, accesses.extent(accesses.reduction[-1])))
    last, row = sch.split(last, [None, choose(sch, counts, min(ROWS, counts[-1]))])
    repeated = nest.repeated(column)
    around = [*nest.of(without(accesses.spatial, column, *repeated)), *strip]
    sch.reorder(*around, *reduced, last, *nest.of(repeated), piece, row, lane)
    sch.unroll(row)
    sch.vectorize(lane)
    if _whole(nest, column, machine) >= 2 * MOST_ROWS:
        # Hardware that follows the rows already asks memory for all that it can deliver.
        prefetch(sch, piece, nest, machine, AHEAD, most_bytes=machine.shared_cache)
    if nest.outer == 0:
        parallelize(sch, around, machine)


def _strips(
    sch: Schedule, nest: Nest, column: Var, machine: Machine
) -> tuple[list[LoopRV], LoopRV, LoopRV]:
    """The loop over strips, if there are any; that over the vectors of one; and that over lanes."""
    lanes = _lanes(nest, column, machine)
    cores = machine.cores if nest.outer == 0 else 1
    repeated = nest.repeated(column)
    if nest.accesses.extents[column] is None and cores == 1 and not repeated:
        # There may be far fewer columns than the cache holds, and seldom many more.
        piece, lane = sch.split(nest.loops[column], [None, lanes])
        return [], piece, lane
    whole = _whole(nest, column, machine)
    itemsize = nest.accesses.stores[0].buffer.dtype.itemsize
    # The rows that are added at a time stay in the first cache as well, if they are used again.
    together = ROWS if repeated else 1
    fitting = max(1, machine.first_cache // 2 // itemsize // lanes // together)
    strips = max(cores, -(-whole // fitting))
    widths = [-(-whole // n) for n in (strips, 2 * strips, 4 * strips)]
    preferred = max(min(4, whole), widths[0])
    width = choose(sch, widths, preferred)
    strip, piece, lane = sch.split(nest.loops[column], [None, width, lanes])
    return [strip], piece, lane
