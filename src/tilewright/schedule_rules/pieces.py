"""Blocks that read something else in each of a few pieces of a dimension.

Concatenations, padded images and shifted rows choose by a condition on one iterator. Where its loop
is cut at the values at which a condition changes, each piece has one source, which is copied in
whole vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from tilewright.ir.expr import GE, GT, LE, LT, Call, Var
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.decisions import without
from tilewright.schedule_rules.elementwise import IF_THEN_ELSE, joined_with
from tilewright.schedule_rules.nest import Nest, extent_of, fused, is_complete, parallelize
from tilewright.schedule_rules.structures import Structure
from tilewright.tir.schedule import LoopRV, Schedule
from tilewright.tir.transform.analysis.affine import difference
from tilewright.tir.transform.analysis.ranges import conjuncts
from tilewright.tir.transform.machine import Machine

VECTORS: Final = 4
"""Vectors of an iteration, which hide the cost of the loop."""

MOST_PIECES: Final = 16
"""Each piece has loops of its own; more of them would make the code long."""


def copy_pieces(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """Runs along one piece after the other, in vectors.

    Pieces of an outer dimension are one stretch of memory each, in all operands. They are left
    alone where each of their rows is some whole vectors.
    """
    vector = nest.neighbours()
    if vector not in nest.own or nest.outer or not is_complete(sch, nest.block):
        return []
    assert vector is not None
    lanes = machine.lanes(nest.accesses.stores[0].buffer.dtype)
    is_whole = nest.accesses.extent(vector) % lanes == 0
    for var in [vector] if is_whole else reversed(nest.own):
        starts = _starts(nest, var)
        if not starts or len(starts) >= MOST_PIECES:
            continue
        sizes = [after - before for before, after in pairwise([0, *starts])]
        joined = [var] if var is vector else _stretch(nest, var, vector, 1 in sizes)
        if joined:
            return [partial(_in_pieces, joined=joined, sizes=sizes, machine=machine)]
    return []


def _stretch(nest: Nest, var: Var, vector: Var, has_single: bool) -> list[Var]:
    """The iterators from `var` to `vector`, if they run over one stretch of memory; else none.

    Args:
        has_single: whether there is a piece with one value of `var`, so that what does not depend
            on `var` may be for that one.
    """
    joined = joined_with(vector, nest.accesses, nest.own, var if has_single else None)
    return joined[joined.index(var) :] if var in joined else []


def _starts(nest: Nest, var: Var) -> list[int]:
    """The values of an iterator at which a condition on it alone changes, without the first."""
    extent = nest.accesses.extents[var]
    if extent is None:
        return []
    conditions = (
        condition
        for node in walk(nest.accesses.block.body)
        if isinstance(node, Call) and node.op is IF_THEN_ELSE
        for condition in conjuncts(node.args[0])
    )
    starts = {start for condition in conditions for start in _changes(condition, var)}
    return sorted(start for start in starts if 0 < start < extent)


def _changes(condition: object, var: Var) -> Iterator[int]:
    """The first value of `var` for which a comparison is another than for the one before."""
    if not isinstance(condition, (LT, LE, GT, GE)):
        return
    form = difference(condition.a, condition.b)
    if set(form.terms) != {var} or form.terms[var] not in (1, -1):
        return
    # The difference is 0 here: the comparison changes here or at the next value.
    zero = -form.constant * form.terms[var]
    rises = form.terms[var] == 1
    yield zero if isinstance(condition, (LT, GE)) is rises else zero + 1


def _in_pieces(
    sch: Schedule, nest: Nest, *, joined: Sequence[Var], sizes: Sequence[int], machine: Machine
) -> None:
    around = nest.of(without(nest.accesses.spatial, *joined))
    sch.reorder(*around, *nest.of(joined))
    lanes = machine.lanes(nest.accesses.stores[0].buffer.dtype)
    for piece in sch.loop_partition(nest.loops[joined[0]], [*sizes, None]):
        (block,) = sch.get_child_blocks(piece)
        outermost = _whole_vectors(sch, fused(sch, sch.get_loops(block)), VECTORS * lanes)
        if not around:
            parallelize(sch, outermost, machine)
    parallelize(sch, around, machine)


def _whole_vectors(sch: Schedule, loop: LoopRV, width: int) -> list[LoopRV]:
    """Run a loop in vectors without conditions, and what is left over after them; the loops that
    are not vectors."""
    extent = extent_of(sch, loop)
    assert extent is not None
    rest = extent % width
    if extent < width:
        sch.vectorize(loop)
        return []
    if rest:
        loop, last = sch.loop_partition(loop, [extent - rest, None])
        sch.vectorize(last)
    outer, inner = sch.split(loop, [None, width])
    sch.vectorize(inner)
    return [outer]
