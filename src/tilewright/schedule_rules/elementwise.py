"""Blocks that compute each element on its own.

Neighbouring results may come from different places, in turn. Of
``out[i] = if_then_else(i % 3 < 2, a[i % 3, i // 3], b[i // 3])``, the results 3 apart are
neighbours in one operand: they are a vector, and which operand it is from is known when the program
is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from tilewright.arith import Analyzer
from tilewright.ir.expr import Call, FloorDiv, FloorMod, IntImm, Var
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.accesses import (
    UNKNOWN,
    BlockAccesses,
    StridedAccess,
    access_to,
    computed_with,
)
from tilewright.schedule_rules.decisions import (
    MOST_VECTORS,
    USUAL_VECTORS,
    choose,
    lanes_for,
    vectorized,
    without,
)
from tilewright.schedule_rules.far_memory import ask_ahead, may_stream, stream_stores
from tilewright.schedule_rules.inline import bytes_of_long
from tilewright.schedule_rules.nest import Nest, fused, is_complete, parallelize
from tilewright.schedule_rules.structures import Structure
from tilewright.tir.schedule import LoopRV, Schedule
from tilewright.tir.stmt import Block
from tilewright.tir.substitute import substitute, variables_of
from tilewright.tir.transform.machine import Machine

IF_THEN_ELSE: Final = Op.get("tir.if_then_else")

MOST_PHASES: Final = 8
"""Maximum number of phases that get a vector each, and are unrolled."""


def interleaving_period(accesses: BlockAccesses, vector: Var) -> int | None:
    """How far apart along `vector` the elements are that are neighbours in all operands.

    None if neighbours along `vector` are such elements themselves, or there is no such distance.
    """
    scattered = [load for load in accesses.loads if load.stride(vector) is UNKNOWN]
    if not scattered or any(
        load.mentions(vector) and load not in scattered for load in accesses.loads
    ):
        return None
    period = _divisor(accesses.block, vector)
    if (
        period is None
        or period > MOST_PHASES
        or not all(_are_neighbours(x, vector, period) for x in scattered)
    ):
        return None
    return period


def _divisor(block: Block, vector: Var) -> int | None:
    """The number by which a block divides its iterator `vector`; None for several, or none."""
    divisors = {
        int(node.b.value)
        for node in walk(block.body)
        if isinstance(node, (FloorDiv, FloorMod))
        and isinstance(node.b, IntImm)
        and vector in variables_of(node.a)
    }
    return divisors.pop() if len(divisors) == 1 else None


def _are_neighbours(load: StridedAccess, vector: Var, period: int) -> bool:
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


MANY_REGISTERS: Final = 32
"""Number of vector registers from which on as many vectors as may be of a long calculation, in
which each operation waits for the one before, are best written side by side: with fewer, they would
go to memory and back."""

PIECES: Final = 4
"""Pieces of the work for each core from which on they come out even."""


def vectorize_elements(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Runs along what is contiguous, in vectors.

    Iterators that continue each other in memory become one loop. Left to the search: how many
    vectors an iteration works on, in how many pieces the work is cut for several cores, and whether
    large results are written past the caches.
    """
    vector = nest.neighbours()
    if vector not in nest.own or not is_complete(sch, nest.block):
        return []
    assert vector is not None
    if transposed_along(nest.accesses, vector) is not None:
        return []
    vectors = partial(_vectors, machine=machine, streams=_may_stream_rows(sch, nest, machine))
    period = interleaving_period(nest.accesses, vector)
    if period is not None:
        return [partial(interleave, vector=vector, period=period, machine=machine), vectors]
    rows = _repeating_rows(nest, vector, machine)
    if rows is not None:
        return [partial(_repeat, rows=rows, vector=vector, machine=machine), vectors]
    return [vectors]


def _repeating_rows(nest: Nest, vector: Var, machine: Machine) -> Var | None:
    """The iterator over short rows that are one stretch of memory, if some operands are the same in
    all rows.

    Vectors then run over the ends of rows. After as many vectors as a row has elements, the same
    elements of these operands are needed again.
    """
    accesses, extent = nest.accesses, nest.accesses.extents[vector]
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    if extent is None or extent > MOST_PHASES or extent >= lanes or nest.outer:
        return None
    *_, rows, last = [None, None, *nest.own]
    if rows is None or last is not vector or accesses.extents[rows] == 1:
        return None
    moving = [load for load in accesses.loads if load.mentions(rows)]
    if not all(access.stride(rows) == extent for access in (*moving, *accesses.stores)):
        return None
    repeats = any(load.mentions(vector) for load in accesses.loads if load not in moving)
    return rows if repeats and all(load.stride(vector) == 1 for load in moving) else None


def _repeat(sch: Schedule, nest: Nest, *, rows: Var, vector: Var, machine: Machine) -> None:
    """Runs over all rows as one, as many vectors at once as a row has elements."""
    accesses = nest.accesses
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    others = nest.of(without(accesses.spatial, rows, vector))
    sch.reorder(*others, nest.loops[rows], nest.loops[vector])
    loop = sch.fuse(nest.loops[rows], nest.loops[vector])
    part, phase, lane = sch.split(loop, [None, accesses.extent(vector), lanes])
    sch.unroll(phase)
    sch.vectorize(lane)
    parallelize(sch, [*others, part], machine)


def _vectors(sch: Schedule, nest: Nest, *, machine: Machine, streams: bool) -> None:
    accesses = nest.accesses
    lanes = machine.lanes(accesses.stores[0].buffer.dtype)
    joined = joined_loops(nest, lanes)
    others = nest.of(without(accesses.spatial, *joined))
    sch.reorder(*others, *nest.of(joined))
    loop = fused(sch, nest.of(joined))
    extent = accesses.known_count(joined)
    part = _part_of_row(nest, lanes)
    if part is not None:
        (repetition, loop), extent = sch.split(loop, [None, part]), part
        others.append(repetition)
    if nest.outer == 0 and machine.cores > 1 and extent is not None:
        rows = accesses.count(accesses.spatial) // extent
        piece, loop = _pieces(sch, loop, extent, rows, machine)
        parallelize(sch, [*others, piece], machine)
    outer, _ = vectorized(sch, loop, extent, lanes, _preferred_vectors(accesses, machine))
    if nest.outer == 0 and extent is None:
        parallelize(sch, [*others, outer], machine)
    if streams:
        stream_stores(sch, outer, nest, machine)
    ask_ahead(sch, outer, nest, machine)


def _preferred_vectors(accesses: BlockAccesses, machine: Machine) -> int:
    """How many vectors of results an iteration computes.

    Long calculations wait for each other less in more vectors, as long as there are registers for
    these, which may be wider than the results.
    """
    computed = bytes_of_long(accesses.block)
    if not computed:
        return USUAL_VECTORS
    most = MOST_VECTORS if machine.vector_registers >= MANY_REGISTERS else USUAL_VECTORS
    wider = -(-computed // accesses.stores[0].buffer.dtype.itemsize)
    return max(1, most // wider)


def joined_loops(nest: Nest, lanes: int) -> list[Var]:
    """The iterators that run over one contiguous stretch, as far as they have loops.

    Only `vector` for a part of a block, in which there is a gap after each row. Nor is it joined
    with others where all its lanes have one condition, such as the channels of a pixel in a padded
    image, or where long rows compute with iterators, which would have to be divided in each lane.
    """
    vector = nest.neighbours()
    assert vector is not None
    body = nest.accesses.block.body
    if nest.outer != nest.shared or _part_of_row(nest, lanes) is not None:
        return [vector]
    if nest.accesses.extent(vector) >= lanes:
        computed = set(computed_with(body))
        own = [vector] if vector in computed else without(nest.own, *computed)
        return joined_with(vector, nest.accesses, own)
    asked = {
        var
        for node in walk(body)
        if isinstance(node, Call) and node.op is IF_THEN_ELSE
        for var in variables_of(node.args[0])
    }
    own = nest.own if vector in asked else without(nest.own, *asked)
    return joined_with(vector, nest.accesses, own)


def _part_of_row(nest: Nest, lanes: int) -> int | None:
    """How long the parts of a row are that come from the same row of an operand, if vectors would
    run over their ends: of ``out[i] = a[i % 1000]``, 1000."""
    vector = nest.neighbours()
    assert vector is not None
    length, extent = _divisor(nest.accesses.block, vector), nest.accesses.extents[vector]
    if length is None or length < lanes or extent is None or extent % length or extent == length:
        return None
    return length


def _pieces(sch: Schedule, loop: LoopRV, extent: int, rows: int, machine: Machine) -> list[LoopRV]:
    """Cut each of some rows into pieces for the cores."""
    counts = [n for n in (1, machine.cores, PIECES * machine.cores) if n <= extent]
    preferred = 1 if rows >= PIECES * machine.cores else counts[min(1, len(counts) - 1)]
    return sch.split(loop, [choose(sch, counts, preferred), None])


def _may_stream_rows(sch: Schedule, nest: Nest, machine: Machine) -> bool:
    """Rows must be so long that some vectors are whole, whatever is decided."""
    lanes = machine.lanes(nest.accesses.stores[0].buffer.dtype)
    elements = _part_of_row(nest, lanes) or nest.accesses.known_count(joined_loops(nest, lanes))
    least = PIECES * MOST_VECTORS * machine.cores * lanes
    return elements is not None and elements >= least and may_stream(sch, nest, machine)


def transposed_along(accesses: BlockAccesses, vector: Var) -> Var | None:
    """The iterator over neighbours in an operand that is transposed, if there is one."""
    for load in accesses.loads:
        if load.stride(vector) in (0, 1):
            continue
        for var in accesses.spatial:
            if var is not vector and load.stride(var) == 1 and accesses.extents[var] != 1:
                return var
    return None


def joined_with(
    vector: Var, accesses: BlockAccesses, candidates: Sequence[Var], single: Var | None = None
) -> list[Var]:
    """The iterators that run over one contiguous stretch of every operand, the last is `vector`.

    Args:
        vector: the iterator over neighbours.
        accesses: the block.
        candidates: the iterators in the order of their loops.
        single: one of them that operands need not depend on.
    """
    joined = [vector]
    before = list(candidates[: next(n for n, v in enumerate(candidates) if v is vector)])
    while before and accesses.continues(before[-1], joined[0], before[-1] is single):
        joined.insert(0, before.pop())
    return joined
