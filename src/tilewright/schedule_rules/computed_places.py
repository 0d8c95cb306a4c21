"""Blocks that read several planes at the same places, which take long to compute.

An image that is sampled at the points of a grid has many channels, all read at the same places and
mixed by the same weights. These are computed once for a vector of points, if the loop over the
channels comes inside of that over the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from tilewright.ir.expr import Var
from tilewright.ir.rewrite import count_nodes, walk
from tilewright.schedule_rules.accesses import UNKNOWN, StridedAccess
from tilewright.schedule_rules.decisions import vectorized, without
from tilewright.schedule_rules.elementwise import joined_loops
from tilewright.schedule_rules.nest import Nest, fused, is_complete, parallelize
from tilewright.schedule_rules.structures import Structure
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.schedule import Schedule
from tilewright.tir.transform.machine import LINE_BYTES, Machine

LONG_PLACE: Final = 16
"""Nodes of an index from which on it takes longer to compute than elements take to load from
planes that are far apart."""


def share_places(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Runs over the planes for each vector of points. How many vectors is left to the search."""
    vector = nest.neighbours()
    if vector not in nest.own or not is_complete(sch, nest.block):
        return []
    lanes = machine.lanes(nest.accesses.stores[0].buffer.dtype)
    points = joined_loops(nest, lanes)
    planes = _planes(nest, points)
    if not planes:
        return []
    return [partial(_points_first, points=points, planes=planes, machine=machine)]


def _planes(nest: Nest, points: Sequence[Var]) -> list[Var]:
    """The iterators that move all elements which are at computed places by a fixed distance."""
    loads = nest.accesses.loads
    scattered = [load for load in loads if any(load.stride(var) is UNKNOWN for var in points)]
    if not any(map(_is_long, scattered)):
        return []
    candidates = without(nest.own, *points)
    return [v for v in candidates if all(x.stride(v) not in (UNKNOWN, 0) for x in scattered)]


def _is_long(load: StridedAccess) -> bool:
    """Whether a place is computed from other elements, in more than a few steps."""
    return any(
        count_nodes(index, LONG_PLACE) >= LONG_PLACE
        and any(isinstance(node, BufferLoad) for node in walk(index))
        for index in load.indices
    )


def _points_first(
    sch: Schedule, nest: Nest, *, points: Sequence[Var], planes: Sequence[Var], machine: Machine
) -> None:
    accesses = nest.accesses
    others = nest.of(without(accesses.spatial, *points, *planes))
    channels = nest.of(planes)
    sch.reorder(*others, *nest.of(points), *channels)
    loop = fused(sch, nest.of(points))
    dtype = accesses.stores[0].buffer.dtype
    lanes = machine.lanes(dtype)
    in_a_line = max(1, LINE_BYTES // (lanes * dtype.itemsize))
    outer, inner = vectorized(sch, loop, accesses.known_count(points), lanes, in_a_line)
    sch.reorder(outer, *channels, inner)
    if nest.outer == 0:
        parallelize(sch, [*others, outer], machine)
