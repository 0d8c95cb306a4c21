"""Windows that move by several columns at once, over data in which the columns that such windows
have at the same place are next to each other::

    pad[y, x] = A[y - 1, x - 1] inside of the image, 0 around it
    C[y, x] += pad[2 * y + i, 2 * x + j] * B[i, j]

    ->  pad[y, p, x] = A[y - 1, 2 * x + p - 1] inside of the image, 0 around it
        C[y, x] += pad[2 * y + i, j % 2, x + j // 2] * B[i, j]

A vector of columns is then one load for each element of the window. Otherwise each is two loads,
and one or two shuffles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from tilewright.ir.expr import Expr, Var, const_int_value
from tilewright.schedule_rules.accesses import StridedAccess, accesses_of
from tilewright.schedule_rules.contraction import plans
from tilewright.schedule_rules.nest import Nest, attempt, block_of, nest_of
from tilewright.schedule_rules.operands import constant_memory, contraction_in
from tilewright.schedule_rules.phases import MOST_PHASES
from tilewright.schedule_rules.windows import is_producer, window_of
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.transform.analysis.affine import affine, stride_along
from tilewright.tir.transform.machine import Machine


class _Phases(NamedTuple):
    """Data to be stored phase by phase: the position of the block that makes it among the producers
    of the windows, and by how many columns these move, which is the number of phases."""

    position: int
    step: int


def separate_phases(sch: Schedule, blocks: Sequence[BlockRV], machine: Machine) -> Schedule:
    """Store what windows read, and other blocks make for them alone, phase by phase."""
    view = sch.copy()  # looking at it leaves no instructions in the trace
    for block in blocks:
        found = _phases_of(view, nest_of(view, block), machine)
        if found is not None:
            sch = attempt(sch, partial(_separate, block=block, phases=found)) or sch
            view = sch.copy()
    return sch


def _phases_of(sch: Schedule, nest: Nest, machine: Machine) -> _Phases | None:
    column = nest.neighbours()
    if nest.accesses.reduces is None or column is None:
        return None
    for load in nest.accesses.loads:
        count, extent = load.stride(column), const_int_value(load.buffer.shape[-1])
        if count is None or not 1 < count <= MOST_PHASES or extent is None or extent % count:
            continue
        if not _shares_columns(nest, load, column, count):
            continue
        for position, producer in enumerate(sch.get_producers(nest.block)):
            if is_producer(sch, producer, nest) and _fills(sch, producer, load):
                found = _Phases(position, count)
                return found if _has_vectors_of_columns(sch, nest, machine) else None
    return None


def _has_vectors_of_columns(sch: Schedule, nest: Nest, machine: Machine) -> bool:
    """Whether windows are computed in vectors of columns, instead of filters for example."""
    if window_of(nest) is not None:
        return True
    found = contraction_in(sch, nest.accesses)
    if found is None or len(found.moving) != 1:
        return False
    best = next(iter(plans(found, machine, nest.outer, constant_memory(sch))), None)
    return best is not None and best.dot is None and not best.transposed


def _shares_columns(nest: Nest, load: StridedAccess, column: Var, count: int) -> bool:
    """Whether neighbouring windows have columns in common, which are elements of rows."""
    index = affine(load.indices[-1])
    steps = [stride_along(index, var) for var in nest.accesses.reduction]
    if stride_along(index, column) != count or None in steps:
        return False
    return any(
        step and nest.accesses.extent(var) > count
        for step, var in zip(steps, nest.accesses.reduction, strict=True)
    )


def _fills(sch: Schedule, producer: BlockRV, load: StridedAccess) -> bool:
    """Whether the iterators of a block are the indices of what it stores, which is loaded."""
    accesses = accesses_of(block_of(sch, producer))
    (store,) = accesses.stores
    places = zip(store.indices, accesses.spatial, strict=False)
    is_each = len(store.indices) == len(accesses.spatial) and all(a is b for a, b in places)
    return is_each and store.buffer is load.buffer


def _separate(sch: Schedule, *, block: BlockRV, phases: _Phases) -> None:
    def separated(*indices: Expr) -> tuple[Any, ...]:
        *rows, column = indices
        return (*rows, column % phases.step, column // phases.step)

    producer = sch.get_producers(block)[phases.position]
    sch.transform_layout(producer, ("write", 0), separated)
    sch.transform_block_layout(producer, separated)
