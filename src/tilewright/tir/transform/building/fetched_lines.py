"""Cache lines of accesses that follow each other, and prefetches of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, IntImm, Ramp, Var, is_const_int
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.op.memory import prefetch_address
from tilewright.tir.stmt import BufferStore, Evaluate, For, Stmt
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.analysis.affine import Key, affine, occurs
from tilewright.tir.transform.branches import is_simple
from tilewright.tir.transform.building.spread_fetches import number_of, times_of
from tilewright.tir.transform.machine import LINE_BYTES


class Run(NamedTuple):
    """Cache lines that follow each other.

    Attributes:
        access: one of the accesses to the first line.
        place: an element of the first line.
        lines: how many there are.
        per_line: elements of a line.
    """

    access: BufferLoad | BufferStore
    place: Expr
    lines: int
    per_line: int

    def ahead(self, var: Var, distance: int, inner: Sequence[For]) -> list[Stmt]:
        """Prefetches of the lines about `distance` iterations later.

        Args:
            inner: the loops inside of that of `var`. If several of their iterations read the same,
                each asks for some of the lines; for a single line, in a part of its steps.
        """
        place, count = self.place, self.lines
        later = {var: as_expr(var + distance)}
        if found := _moving_and_still(place, inner):
            steps, still = found
            times = math.prod(map(times_of, still))
            if count > 1:
                first = floordiv(number_of(still, place.dtype) * count, times)
                place, count = as_expr(place + first * self.per_line), -(-count // times)
            else:
                part = floordiv(number_of(inner, steps.loop_var.dtype), times)
                later[steps.loop_var] = as_expr(steps.min + part)
        place = substitute(place, later)
        places = [as_expr(place + line * self.per_line) for line in range(count)]
        loads = [BufferLoad(self.access.buffer, (place,)) for place in places]
        mode = int(isinstance(self.access, BufferStore))
        return [Evaluate(prefetch_address(load, mode)) for load in loads]


def runs_of(
    accesses: Sequence[BufferLoad | BufferStore], var: Var, done: set[Key]
) -> list[Run] | None:
    """The lines of `accesses` to one buffer that move with `var`, except for those in `done`, to
    which they are added; None if no access moves, or can be told ahead."""
    runs: dict[tuple[object, ...], Run] = {}
    is_known = False
    for access in accesses:
        index, lanes = _span(access.indices[0])
        if index.dtype.lanes > 1 or not occurs(var, index) or not is_simple(index):
            continue  # the same place, or one that must not be computed for a later iteration
        is_known = True
        form = affine(index)
        terms = frozenset(form.terms.items())
        per_line = max(LINE_BYTES * 8 // access.buffer.dtype.bits, 1)
        first = form.constant // per_line
        for line in range(first, max((form.constant + lanes - 1) // per_line, first) + 1):
            key = (access.buffer.data, var, terms, line)
            if key in done:
                continue
            done.add(key)
            before = runs.pop((access.buffer.data, terms, line), None)
            if before is None:
                offset = max(line * per_line - form.constant, 0)
                before = Run(access, as_expr(index + offset), 0, per_line)
            runs[access.buffer.data, terms, line + 1] = before._replace(lines=before.lines + 1)
    return list(runs.values()) if is_known else None


def _span(index: Expr) -> tuple[Expr, int]:
    """The first of the places of a vector of elements, and how far they reach from there."""
    if isinstance(index, Ramp) and isinstance(index.stride, IntImm) and index.stride.value > 0:
        return index.base, (index.lanes - 1) * index.stride.value + 1
    return index, 1


def _moving_and_still(index: Expr, loops: Sequence[For]) -> tuple[For, Sequence[For]] | None:
    """The only one of `loops` on which `index` depends, and the others, each of whose iterations
    reads the same; None if no loop or several tell the place, or there is no other."""
    loops = [loop for loop in loops if not is_const_int(loop.extent, 1)]
    moving = [loop for loop in loops if occurs(loop.loop_var, index)]
    still = [loop for loop in loops if loop not in moving]
    return (moving[0], still) if len(moving) == 1 and still else None
