"""Boxes of elements that loops access, exactly: all elements of the box, and no others.

The indices ``[i * 4 + j, k]`` over loops ``i < 4, j < 4, k < n`` reach the whole box
``[0..15, 0..n-1]``. That they reach every element is what makes a store the definition of a box.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.fused_loops import as_fused_loops
from tilewright.arith.itermap import IterMapResult, detect_iter_map
from tilewright.arith.linear import LinearForm, mentions
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    And,
    Broadcast,
    CompareExpr,
    Expr,
    IntImm,
    Ramp,
    Var,
)
from tilewright.ir.range import Range
from tilewright.ir.structural import structural_equal
from tilewright.tir.transform.analysis.affine import affine, expand, split, to_expr
from tilewright.tir.transform.analysis.affine import mentions as form_mentions
from tilewright.tir.transform.analysis.symbolic_min_max import at_most
from tilewright.tir.transform.building.scoped_visitor import Loop


class Side(NamedTuple):
    """The values of one index: those that are at least all of `lows`, at most all of `highs`."""

    lows: tuple[Expr, ...]
    highs: tuple[Expr, ...]


Box = tuple[Side, ...]


def scalar_indices(indices: Iterable[Expr], lane: Var) -> tuple[tuple[Expr, ...], int] | None:
    """The indices of lane number `lane` of an access, and how many lanes there are."""
    found: list[Expr] = []
    lanes = 1
    for index in indices:
        if isinstance(index, Ramp):
            lanes = index.lanes
            index = as_expr(index.base + lane * index.stride)
        elif isinstance(index, Broadcast):
            index = index.value
        if index.dtype.lanes != 1:
            return None
        found.append(index)
    return tuple(found), lanes


def exact_box(
    indices: Sequence[Expr],
    loops: Sequence[Loop],
    conditions: Sequence[Expr],
    analyzer: Analyzer,
) -> Box | None:
    """The box that `indices` reach while `loops` run, or None if it is none that is known.

    Args:
        indices: the indices of one element.
        loops: the loops that run.
        conditions: the element is accessed where they hold; each mentions variables of `loops`.
        analyzer: knows the other variables.
    """
    running = [loop.var for loop in loops]
    if any(mentions(end, running) for loop in loops for end in (loop.minimum, loop.extent)):
        return None
    used: list[Loop] = []
    for loop in loops:
        if any(mentions(index, (loop.var,)) for index in indices):
            used.append(loop)
        elif not analyzer.can_prove(loop.extent >= 1):
            return None
    sides = _separate_sides(indices, used, analyzer) or _fused_sides(indices, used, analyzer)
    clipped = None if sides is None else _clipped(sides, indices, conditions, running, analyzer)
    return clipped or _cut_short(indices, used, conditions, analyzer)


def _clipped(
    sides: list[Side],
    indices: Sequence[Expr],
    conditions: Sequence[Expr],
    running: Sequence[Var],
    analyzer: Analyzer,
) -> Box | None:
    """The part of a box in which conditions hold, each of which bounds an index."""
    for condition in conditions:
        position = _clipped_position(indices, condition, running)
        if position is None:
            return None
        lows, highs = bounds_by_condition(indices[position], condition, running)
        # Of ends that are known to be in order, as of a tile that is cut off, the last one is left.
        side = sides[position]
        old_lows = (e for e in side.lows if not any(at_most(e, low, analyzer) for low in lows))
        old_highs = (e for e in side.highs if not any(at_most(h, e, analyzer) for h in highs))
        sides[position] = Side((*old_lows, *lows), (*old_highs, *highs))
    return tuple(sides)


def join_boxes(boxes: Iterable[Box], analyzer: Analyzer) -> list[Box]:
    """The boxes that result from joining those of `boxes` that are next to each other."""
    found: list[Box] = []
    for box in boxes:
        position = 0
        while position < len(found):
            joined = _joined(box, found[position], analyzer)
            if joined is None:
                position += 1
            else:
                del found[position]
                box, position = joined, 0
        found.append(box)
    return found


def _joined(a: Box, b: Box, analyzer: Analyzer) -> Box | None:
    """The box of all elements of two boxes that differ in one dimension and leave no gap in it."""
    differing = [k for k, sides in enumerate(zip(a, b, strict=True)) if not _same_side(*sides)]
    if len(differing) != 1:
        return None
    (k,) = differing
    for first, second in ((a, b), (b, a)):
        # What is beyond the first one is not before the second one.
        ordered = itertools.product(first[k].lows, second[k].lows)
        touching = itertools.product(second[k].lows, (as_expr(h + 1) for h in first[k].highs))
        if all(at_most(*pair, analyzer) for pair in (*ordered, *touching)):
            return (*a[:k], Side(first[k].lows, second[k].highs), *a[k + 1 :])
    return None


def _same_side(a: Side, b: Side) -> bool:
    return all(
        len(ends) == len(others) and all(map(structural_equal, ends, others))
        for ends, others in zip(a, b, strict=True)
    )


def _separate_sides(
    indices: Sequence[Expr], loops: Sequence[Loop], analyzer: Analyzer
) -> list[Side] | None:
    """Each loop moves one index only, and the steps of the loops leave no gaps."""
    left = {loop.var: loop for loop in loops}
    sides = []
    for index in indices:
        rest = affine(index)
        steps: list[tuple[int, Loop]] = []
        for loop in loops:
            parts = split(rest, loop.var)
            if parts is None or not parts[0].is_constant():
                return None
            if parts[0].constant:
                if left.pop(loop.var, None) is None:
                    return None
                steps.append((parts[0].constant, loop))
                rest = parts[1]
        side = _reach(rest, steps, index, analyzer)
        if side is None:
            return None
        sides.append(side)
    return sides


def _reach(
    rest: LinearForm, steps: list[tuple[int, Loop]], index: Expr, analyzer: Analyzer
) -> Side | None:
    """The values of ``rest + sum(step * variable)``, if there are no gaps between them."""
    low = high = to_expr(rest, index.dtype)
    reach: int | None = 1
    for step, loop in sorted(steps, key=lambda item: abs(item[0])):
        if reach is None or abs(step) > reach:
            return None
        extent = loop.extent
        if isinstance(extent, IntImm) and extent.value >= 1:
            reach += abs(step) * (extent.value - 1)
        elif abs(step) == reach or analyzer.can_prove(extent >= 1):
            reach = None
        else:
            return None
        first, last = step * loop.minimum, step * loop.last
        low, high = (low + first, high + last) if step > 0 else (low + last, high + first)
    return Side((expand(as_expr(low)),), (expand(as_expr(high)),))


def _fused_sides(
    indices: Sequence[Expr], loops: Sequence[Loop], analyzer: Analyzer
) -> list[Side] | None:
    """The indices are digits of fused loops, all of them."""
    found = detect_iter_map(indices, domains_of(loops), require_bijective=True, analyzer=analyzer)
    return _sides_of(found)


def _cut_short(
    indices: Sequence[Expr],
    loops: Sequence[Loop],
    conditions: Sequence[Expr],
    analyzer: Analyzer,
) -> Box | None:
    """The indices are digits of one loop that was split, and may be cut short by a condition."""
    predicate = functools.reduce(And, conditions) if conditions else const(True)
    fused = as_fused_loops(indices, domains_of(loops), predicate)
    if fused is None:
        return None
    sides = _sides_of(detect_iter_map(*fused, require_bijective=True, analyzer=analyzer))
    return None if sides is None else tuple(sides)


def domains_of(loops: Sequence[Loop]) -> dict[Var, Range]:
    """The domains of loops of which the outermost is the last; in the result it is the first."""
    return {loop.var: Range.from_min_extent(loop.minimum, loop.extent) for loop in reversed(loops)}


def _sides_of(found: IterMapResult) -> list[Side] | None:
    if not found.is_affine:
        return None
    return [
        Side((total.base,), (as_expr(total.base + extent - 1),))
        for total, extent in zip(found.indices, found.extents, strict=True)
    ]


def _clipped_position(
    indices: Sequence[Expr], condition: Expr, running: Sequence[Var]
) -> int | None:
    """The number of the index that `condition` bounds."""
    for position, index in enumerate(indices):
        lows, highs = bounds_by_condition(index, condition, running)
        if lows or highs:
            return position
    return None


def bounds_by_condition(
    index: Expr, condition: Expr, running: Sequence[Var]
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """What `condition` says about `index`: least and greatest values free of `running`.

    ``i * 4 + j < n`` says that ``i * 4 + j + 1`` is at most ``n``. Where there is an answer, it is
    all that the condition says.
    """
    if not isinstance(condition, CompareExpr) or not condition.a.dtype.is_index:
        return (), ()
    if condition.a.dtype.lanes != 1 or index.dtype.lanes != 1:
        return (), ()
    form = condition.a - condition.b
    for sign in (1, -1):
        # sign * index + rest ? 0
        rest = affine(as_expr(form - sign * index))
        if form_mentions(rest, running):
            continue
        limit = expand(as_expr(to_expr(rest, index.dtype) * -sign))
        return _bounds(type(condition), sign, limit)
    return (), ()


def _bounds(kind: type, sign: int, limit: Expr) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Bounds of an index with ``sign * (index - limit) ? 0``."""
    if sign < 0:
        kind = {LT: GT, LE: GE, GT: LT, GE: LE}.get(kind, kind)
    if kind is EQ:
        return (limit,), (limit,)
    if kind is LT or kind is LE:
        return (), (limit if kind is LE else expand(as_expr(limit - 1)),)
    if kind is GT or kind is GE:
        return (limit if kind is GE else expand(as_expr(limit + 1)),), ()
    return (), ()
