"""Products of a vector and a large matrix that is the same in all calls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from tilewright.ir.expr import Expr, Var
from tilewright.schedule_rules.accesses import StridedAccess
from tilewright.schedule_rules.decisions import choose, powers_of_two, without
from tilewright.schedule_rules.nest import Nest, parallelize
from tilewright.schedule_rules.operands import constants_of, function_of
from tilewright.schedule_rules.structures import Structure
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule import Schedule
from tilewright.tir.stmt import BlockRealize
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.machine import LINE_BYTES, RESERVED_REGISTERS, Machine

STREAMS: Final = 4
"""Places of memory that are read in turns: hardware asks ahead for each, up to the end of its
page, and several requests are under way where one stream has reached such an end."""


def stream_constant_matrix(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Multiplies a vector by a constant matrix that no cache of a core holds.

    The matrix is packed when the program is compiled: panels of the results that a cache line
    holds, in each the steps of the sum. Several panels are read in turns, each from its beginning
    to its end, and nothing else is read from memory::

        for results:                         # of some panels
            for step:
                for panel, vector:           # unrolled
                    results += element of the vector * vector of the panel

    Left to the search: how many panels are read in turns.
    """
    column = nest.neighbours()
    matrix = None if column is None else _constant_matrix(sch, nest, column, machine)
    if column is None or matrix is None:
        return []
    return [partial(_in_panels, matrix=matrix, column=column, machine=machine)]


def _constant_matrix(
    sch: Schedule, nest: Nest, column: Var, machine: Machine
) -> StridedAccess | None:
    """The operand that is the matrix, if the block is such a product with those columns."""
    accesses, matrix = nest.accesses, nest.largest()
    if accesses.reduces is None or matrix is None or len(accesses.loads) != 2 or nest.outer:
        return None
    iterators = [var for var, extent in accesses.extents.items() if extent != 1]
    steps = without(iterators, column)
    if None in accesses.extents.values() or len(steps) != 1 or not nest.reduces_along(steps[0]):
        return None
    (vector,) = (load for load in accesses.loads if load is not matrix)
    strides = {matrix.stride(var) for var in iterators}
    if vector.mentions(column) or None in strides or 1 not in strides:
        return None
    count = accesses.count(iterators)
    is_whole = accesses.size(matrix) == count * matrix.buffer.dtype.itemsize
    is_large = is_whole and accesses.size(matrix) > machine.own_cache
    return matrix if is_large and _is_read_once(sch, matrix) else None


def _is_read_once(sch: Schedule, matrix: StridedAccess) -> bool:
    """Whether it is a constant that one block reads, so that it may be packed for that block."""
    data, func = matrix.buffer.data, function_of(sch)
    if func is None or data not in constants_of(func):
        return False
    blocks = [stmt.block for stmt in statements(func.body) if isinstance(stmt, BlockRealize)]
    reads = [part for block in blocks if block.iter_vars for part in block.reads]
    return sum(part.buffer.data is data for part in reads) == 1


def _in_panels(
    sch: Schedule, nest: Nest, *, matrix: StridedAccess, column: Var, machine: Machine
) -> None:
    accesses = nest.accesses
    itemsize = accesses.stores[0].buffer.dtype.itemsize
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    width = max(lanes, LINE_BYTES // itemsize)
    panels = -(-accesses.extent(column) // width)
    fitting = (machine.vector_registers - RESERVED_REGISTERS) * lanes // width
    best = max(1, min(STREAMS, fitting, panels))
    streams = choose(sch, powers_of_two(1, min(2 * best, panels)), best)
    iterators = [item.var for item in accesses.block.iter_vars]
    (position,) = (n for n, var in enumerate(iterators) if var is column)
    steps = [n for n, var in enumerate(iterators) if matrix.mentions(var) and var is not column]

    def layout(*values: Expr) -> tuple[Any, ...]:
        flat = values[position]
        return (flat // width, *(values[n] for n in steps), flat % width)

    index_map = IndexMap.from_func(layout, len(iterators))
    sch.reindex_cache_read(nest.block, matrix.buffer.name, "global", index_map)
    tile, panel, vector, lane = sch.split(
        nest.loops[column], [None, streams, width // lanes, lanes]
    )
    around = [*nest.of(without(accesses.spatial, column)), tile]
    sch.reorder(*around, *nest.of(accesses.reduction), panel, vector, lane)
    sch.unroll(panel)
    sch.unroll(vector)
    sch.vectorize(lane)
    parallelize(sch, around, machine)
