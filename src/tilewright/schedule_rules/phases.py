"""Blocks that store every other element of a row next to each other, phase by phase::

out[y, p, x] = f(a[y, 2 * x + p])
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Var
from tilewright.schedule_rules.decisions import lanes_for, without
from tilewright.schedule_rules.nest import Nest, is_complete, parallelize
from tilewright.schedule_rules.structures import Structure
from tilewright.tir.schedule import Schedule
from tilewright.tir.transform.machine import LINE_BYTES, Machine

MOST_PHASES: Final = 4
"""Maximum number of phases."""


def vectorize_phases(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Runs along the columns of a phase, in vectors, all phases of the same columns together."""
    column = nest.neighbours()
    if column not in nest.own or not is_complete(sch, nest.block):
        return []
    assert column is not None
    phase = next((v for v in nest.own if _is_phase(nest, v, column)), None)
    if phase is None:
        return []
    return [partial(_vectors_of_phases, phase=phase, column=column, machine=machine)]


def _is_phase(nest: Nest, phase: Var, column: Var) -> bool:
    """Whether neighbours in what is read have consecutive values of `phase`, and then the next
    value of `column`."""
    accesses = nest.accesses
    count = accesses.extents[phase]
    if count is None or not 1 < count <= MOST_PHASES:
        return False
    loads = [load for load in accesses.loads if load.mentions(column)]
    return bool(loads) and all(
        load.stride(phase) == 1 and load.stride(column) == count for load in loads
    )


def _vectors_of_phases(
    sch: Schedule, nest: Nest, *, phase: Var, column: Var, machine: Machine
) -> None:
    accesses = nest.accesses
    others = nest.of(without(accesses.spatial, phase, column))
    lanes = _lanes(accesses.extents[column], accesses.stores[0].buffer.dtype, machine)
    part, lane = sch.split(nest.loops[column], [None, lanes])
    sch.reorder(*others, part, nest.loops[phase], lane)
    sch.unroll(nest.loops[phase])
    sch.vectorize(lane)
    if nest.outer == 0:
        parallelize(sch, [*others, part], machine)


def _lanes(extent: int | None, dtype: DType, machine: Machine) -> int:
    """The columns of a phase that are stored at once: a line of the cache, of several."""
    lanes = machine.lanes(dtype)
    line = max(lanes, LINE_BYTES // dtype.itemsize)
    return line if extent is None or extent > line else lanes_for(extent, lanes)
