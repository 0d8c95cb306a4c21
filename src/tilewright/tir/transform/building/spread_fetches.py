"""Prefetches of what a copy will read, spread over the iterations of other work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import (
    Allocate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.analysis.affine import affine
from tilewright.tir.transform.machine import LINE_BYTES

UNKNOWN: Final = 2
"""The number of iterations that a symbolic one counts as: most loops over tiles run as often."""


def spread(body: Stmt, fetch: For, work: For) -> Stmt:
    """`body`, with the iterations of `fetch`, a nest of loops over prefetches, in those of `work`.

    So many of its loops are taken apart that each iteration of the work fetches about as much.
    """
    path = path_of(work)
    if not path:
        return body
    times = iterations_of(work)
    loops, statement = _outer_loops(fetch, times)
    total = math.prod(int(loop.extent) for loop in loops)  # type: ignore[call-overload]
    number, count = number_of(path, fetch.loop_var.dtype), -(-total // times)
    fetches: list[Stmt] = []
    for which in range(count):
        position = as_expr(number * count + which)
        part = substitute(statement, _places(position, loops))
        is_certain = times * count <= total
        fetches.append(part if is_certain else IfThenElse(as_expr(position < total), part))
    return _InFront(path[-1], seq(*fetches))(body)


def _outer_loops(fetch: For, least: int) -> tuple[list[For], Stmt]:
    """Loops from the outermost on with at least so many iterations, or all; and what is inside."""
    loops, body, total = [fetch], fetch.body, int(fetch.extent)  # type: ignore[call-overload]
    while (
        total < least
        and isinstance(body, For)
        and body.kind is ForKind.SERIAL
        and isinstance(body.extent, IntImm)
    ):
        loops.append(body)
        total *= body.extent.value
        body = body.body
    return loops, body


def _places(number: Expr, loops: Sequence[For]) -> dict[Var, Expr]:
    """The iterations of nested loops that have a number, counted from 0."""
    places: dict[Var, Expr] = {}
    for loop in reversed(loops):
        digit = number if loop is loops[0] else as_expr(floormod(number, loop.extent))
        places[loop.loop_var] = as_expr(loop.min + digit.astype(loop.loop_var.dtype))
        number = as_expr(floordiv(number, loop.extent))
    return places


def number_of(loops: Sequence[For], dtype: DType) -> Expr:
    """The number of an iteration of nested loops, counted from 0; where an extent is symbolic, of
    the first or the second of two iterations in turn."""
    number: Expr = const(0, dtype)
    for loop in loops:
        own = (loop.loop_var - loop.min).astype(dtype)
        own = own if isinstance(loop.extent, IntImm) else as_expr(floormod(own, UNKNOWN))
        number = number * times_of(loop) + own
    return number


def times_of(loop: For) -> int:
    """How often a loop runs; at least so often if that is symbolic."""
    return loop.extent.value if isinstance(loop.extent, IntImm) else UNKNOWN


def by_lines(loop: For) -> Stmt:
    """`loop` over prefetches of neighbours, once per cache line where rows begin with a line."""
    step = _iterations_per_line(loop)
    if step == 1:
        return loop
    assert isinstance(loop.extent, IntImm)
    lines = -(-loop.extent.value // step)
    first = as_expr(loop.loop_var * step if lines > 1 else const(0, loop.loop_var.dtype))
    body = substitute(loop.body, {loop.loop_var: first})
    return loop.replace(extent=const(lines, loop.extent.dtype), body=body) if lines > 1 else body


def _iterations_per_line(loop: For) -> int:
    """How many iterations ask for the same cache line; 1 if that is not known."""
    if not (isinstance(loop.extent, IntImm) and is_const_int(loop.min, 0)):
        return 1
    steps: set[int] = set()
    for load in (node for node in walk(loop.body) if isinstance(node, BufferLoad)):
        terms = dict(affine(load.indices[0]).terms)
        own = terms.pop(loop.loop_var, 0)
        line = LINE_BYTES * 8 // load.buffer.dtype.bits
        is_aligned = all(coefficient % line == 0 for coefficient in terms.values())
        steps.add(line // own if own > 0 and line % own == 0 and is_aligned else 1)
    return steps.pop() if len(steps) == 1 else 1


def parts_of(stmt: Stmt, *, with_definitions: bool = False) -> Iterator[Stmt]:
    """The statements of a sequence, also inside of allocations and definitions.

    Args:
        with_definitions: whether definitions are among them, each in front of its body.
    """
    if isinstance(stmt, SeqStmt):
        for part in stmt.seq:
            yield from parts_of(part, with_definitions=with_definitions)
    elif isinstance(stmt, (Allocate, LetStmt)):
        if with_definitions and isinstance(stmt, LetStmt):
            yield stmt
        yield from parts_of(stmt.body, with_definitions=with_definitions)
    else:
        yield stmt


def parts_of_cases(stmt: Stmt) -> Iterator[Stmt]:
    """The same, also of both cases of conditions, as of whole tiles and those that are cut off."""
    for part in parts_of(stmt):
        if isinstance(part, IfThenElse):
            for case in (part.then_case, part.else_case):
                yield from () if case is None else parts_of_cases(case)
        else:
            yield part


def iterations_of(loop: For) -> int:
    """How often the innermost loop of `path_of` runs."""
    return _iterations(path_of(loop))


def path_of(
    loop: For, parts: Callable[[Stmt], Iterable[Stmt]] = parts_of, *, symbolic: bool = False
) -> list[For]:
    """The loops of constant extent from `loop` on inwards, of several those with most iterations.

    Args:
        parts: the statements of the body of a loop that may be such loops.
        symbolic: whether extents may be symbolic, too.
    """
    if loop.kind is not ForKind.SERIAL or not (symbolic or isinstance(loop.extent, IntImm)):
        return []
    loops = [part for part in parts(loop.body) if isinstance(part, For)]
    inside = [path_of(part, parts, symbolic=symbolic) for part in loops]
    most = max(inside, key=_iterations, default=[])
    return [loop, *most]


def _iterations(path: Sequence[For]) -> int:
    return math.prod(map(times_of, path))


class _InFront(Rewriter):
    """Puts a statement at the start of the body of a loop."""

    def __init__(self, place: For, statement: Stmt) -> None:
        self._place, self._statement = place, statement

    def For(self, loop: For) -> Stmt:
        if loop is self._place:
            return loop.replace(body=seq(self._statement, loop.body))
        return loop.map_children(self)
