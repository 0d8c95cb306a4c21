"""Sums, maxima and the like of what is next to each other in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Var
from tilewright.schedule_rules.decisions import choose, powers_of_two, vectorized, without
from tilewright.schedule_rules.elementwise import joined_with
from tilewright.schedule_rules.nest import DoesNotFitError, Nest, fused, parallelize
from tilewright.schedule_rules.structures import Structure
from tilewright.tir.schedule import LoopRV, Schedule
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH
from tilewright.tir.transform.machine import LINE_BYTES, Machine

ENOUGH: Final = 4
"""Iterations of each core from which on data-parallel loops alone keep the cores busy."""

MOST_ROWS: Final = 8
"""Maximum number of rows that are reduced at once."""

FAR_ROWS: Final = 4
"""Number of rows of what no cache holds: as many streams as hardware follows best."""

FAR_BYTES: Final = 2 * LINE_BYTES
"""What an iteration reads of each of them: two lines, which often come together."""

MOST_FAR_VECTORS: Final = 4
"""Maximum number of vectors of that: the sums of all rows stay in registers."""

SHORT_ROW: Final = 4
"""Vectors of a row up to which several rows are best reduced at once."""

SHORT_PIECE: Final = 64
"""The same where a row consists of several such pieces, after each of which lanes are put together
otherwise."""

LONG_ROW: Final = 64
"""Vectors of a row from which on it may pay to ask for what comes later in it."""

LONG_USED_ROW: Final = 16
"""The same where several other rows are multiplied by it."""

MUCH: Final = 1 << 18
"""Elements for each core from which on it pays to share a row."""

MANY_CACHES: Final = 16
"""Multiple of the cache of a core from which on an operand comes from memory."""

DISTANCES: Final = (0, 4, 8, 16, 32)
"""Prefetch distances in iterations; 0 is none."""


def reduce_along_rows(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Reduces rows into the lanes of vectors.

    One structure takes several rows at once: short ones, or long ones that no cache holds, as
    hardware follows several streams at once. How many, how many vectors of each, and how far ahead
    it is asked for what is too large for a cache, is left to the search; several vectors are
    multiplied by the rows of a matrix while these are there. Another one runs
    along each row, which lowering does in vectors that are added at the end. If there are fewer
    rows than several cores need, a third one reduces parts of rows first.
    """
    accesses, inner = nest.accesses, nest.innermost()
    if inner is None or not nest.reduces_along(inner) or len(accesses.stores) != 1:
        return []
    is_far = _is_far(nest, inner, machine)
    together = partial(_rows_together, inner=inner, machine=machine, is_far=is_far)
    one_by_one = partial(_row_by_row, inner=inner, machine=machine)
    is_better = is_far or _is_short(nest, inner, machine)
    found = [together, one_by_one] if is_better else [one_by_one, together]
    is_few = accesses.count(accesses.spatial) < ENOUGH * machine.cores
    if machine.cores > 1 and nest.outer == 0 and is_few and None not in accesses.extents.values():
        is_much = accesses.count(accesses.extents) >= MUCH * machine.cores
        found.insert(0 if is_much else len(found), partial(_parts_of_rows, machine=machine))
    return found


def _is_short(nest: Nest, inner: Var, machine: Machine) -> bool:
    """Whether a row is a few whole vectors, or less."""
    accesses = nest.accesses
    row = joined_with(inner, accesses, accesses.reduction)
    if len(row) > 1 or accesses.extents[inner] is None or not nest.of(accesses.spatial):
        return False
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    extent = accesses.count(row)
    most = SHORT_ROW if extent % lanes == 0 else SHORT_ROW - 1
    if accesses.count(without(accesses.reduction, inner)) > 1:
        most = SHORT_PIECE
    return -(-extent // lanes) <= most


def _is_far(nest: Nest, inner: Var, machine: Machine) -> bool:
    """Whether rows are long, and parts of an operand that no cache of a core holds."""
    accesses, largest = nest.accesses, nest.largest()
    if largest is None or nest.outer != 0 or not nest.own or accesses.extents[inner] is None:
        return False
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    least = LONG_USED_ROW if nest.repeated(nest.own[-1]) else LONG_ROW
    is_long = accesses.extent(inner) >= least * lanes
    is_large = nest.size(largest) > machine.own_cache
    return is_long and is_large and largest.mentions(nest.own[-1])


def _rows_together(
    sch: Schedule, nest: Nest, *, inner: Var, machine: Machine, is_far: bool
) -> None:
    accesses = nest.accesses
    spatial = nest.of(accesses.spatial)
    if not spatial:
        loop = _vectors_of_row(sch, nest, inner, [], machine, 8)
        _prefetch_row(sch, loop, nest, machine, 16)
        return
    repeated: list[Var] = []
    if nest.own:
        counts = powers_of_two(1, min(MOST_ROWS, accesses.extent(nest.own[-1])))
        most = min(FAR_ROWS, counts[-1]) if is_far else counts[-1]
        block, row = sch.split(spatial[-1], [None, choose(sch, counts, most)])
        repeated = nest.repeated(nest.own[-1])
        around = [*nest.of(without(accesses.spatial, nest.own[-1], *repeated)), block]
    else:  # other blocks share the loops around the rows that are worked on
        *around, row = spatial
    sch.reorder(*around, *nest.of(repeated), row, *nest.of(accesses.reduction))
    vectors = _far_vectors(accesses.stores[0].buffer.dtype, machine) if is_far else 4
    loop = _vectors_of_row(sch, nest, inner, [row], machine, vectors)
    _prefetch_row(sch, loop, nest, machine, 0 if is_far else 16)
    if nest.outer == 0:
        parallelize(sch, around, machine)


def _far_vectors(dtype: DType, machine: Machine) -> int:
    """How many vectors an iteration reads of each of some rows that no cache holds."""
    return min(MOST_FAR_VECTORS, max(1, FAR_BYTES // (machine.lanes(dtype) * dtype.itemsize)))


def _vectors_of_row(
    sch: Schedule, nest: Nest, inner: Var, rows: list[LoopRV], machine: Machine, vectors: int
) -> LoopRV:
    """Let the reduction of a tile of rows run along them, in vectors.

    Returns:
        The loop over pieces of the rows.
    """
    accesses = nest.accesses
    if len(joined_with(inner, accesses, accesses.reduction)) > 1:
        raise DoesNotFitError("lanes of a vector cannot reduce several dimensions")
    rest = nest.of(without(accesses.reduction, inner))
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    sch.reorder(*rows, *rest, nest.loops[inner])
    extent = accesses.extents[inner]
    outer, vector = vectorized(sch, nest.loops[inner], extent, lanes, vectors)
    sch.reorder(*rest, outer, *rows, vector)
    for loop in rows:
        sch.unroll(loop)
    return outer


def _prefetch_row(
    sch: Schedule, loop: LoopRV, nest: Nest, machine: Machine, preferred: int
) -> None:
    """Only where rows are so long that something is left to ask for."""
    accesses = nest.accesses
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    if accesses.count(accesses.reduction) >= LONG_ROW * lanes:
        prefetch(sch, loop, nest, machine, preferred)


def prefetch(
    sch: Schedule,
    loop: LoopRV,
    nest: Nest,
    machine: Machine,
    preferred: int,
    most_bytes: float = math.inf,
) -> None:
    """Leave it to the search how far ahead it is asked for an operand that no cache holds.

    Args:
        loop: the loop whose later iterations read it.
        preferred: the best number of iterations for an operand of many times the cache of a core.
        most_bytes: maximum size of an operand for which that is the best number; for a larger one
            it is 0.
    """
    largest = nest.largest()
    size = 0 if largest is None else nest.size(largest)
    if largest is not None and size > machine.own_cache:
        is_far = MANY_CACHES * machine.own_cache <= size <= most_bytes
        distance = choose(sch, DISTANCES, preferred if is_far else 0)
        sch.annotate(loop, SOFTWARE_PREFETCH, {largest.buffer.name: distance})


def _row_by_row(sch: Schedule, nest: Nest, *, inner: Var, machine: Machine) -> None:
    """The innermost loop runs along a row, into a few vectors that are added at the end."""
    accesses = nest.accesses
    spatial = nest.of(accesses.spatial)
    joined = [v for v in joined_with(inner, accesses, accesses.reduction) if v in nest.loops]
    rest = nest.of(without(accesses.reduction, *joined))
    reduced = [*rest, *nest.of(joined)]
    sch.reorder(*spatial, *reduced)
    if len(joined) > 1:
        # One long loop has no start of its own that the initialisation could wait for.
        sch.decompose_reduction(nest.block, reduced[0])
        sch.fuse(*nest.of(joined))
    if nest.outer == 0:
        parallelize(sch, spatial, machine)


def _parts_of_rows(sch: Schedule, nest: Nest, *, machine: Machine) -> None:
    """Each core reduces a part of each row into results of its own."""
    accesses, inner = nest.accesses, nest.innermost()
    assert inner is not None
    reduced = nest.of([*without(accesses.reduction, inner), inner])
    sch.reorder(*nest.of(accesses.spatial), *reduced)
    loop = fused(sch, reduced)
    part, _ = sch.split(loop, [machine.cores, None])
    parts = sch.rfactor(part, 0)
    *around, part, rest = sch.get_loops(parts)
    sch.reorder(part, *around, rest)
    vectorized(sch, rest, None, machine.lanes(accesses.stores[0].buffer.dtype))
    sch.parallel(part)
