"""Tiles that lie wholly inside of their bounds run without conditions.

Where a tile does not divide its dimension, each element is guarded: `m0 * 6 + m1 < M`. Most tiles
are full, and for those the guard holds for all `m1`. So the tile is doubled where that can be asked
once, outside of it::

    for m0:                                  for m0:
        for k, m1:                               if m0 * 6 + 5 < M:
            if m0 * 6 + m1 < M: S       ->           for k, m1: S
                                                 else:
                                                     for k, m1: if m0 * 6 + m1 < M: S

It is asked as far inside as is cheap, so that as few tiles as possible keep their guards. Tiles
that are full in one of two dimensions are doubled for the other as well.

Where only the last tile of a loop is not full, it comes after the loop. Vectors whose lanes choose
between two values, such as an image and the zeros around it, are doubled as well, once for each
value.

Before, guards lose the loops that make no difference: ``m0 * 8 + m1 < 1000`` with ``m1 < 8`` is
``m0 < 125``, a guard of whole tiles.

A guard of a reduction loop (`k0 * 4 + k1 < K`) would have to be asked in each of its iterations;
there the loop is cut in two instead: the iterations in which the guard always holds, and the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Final

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import GE, GT, LE, LT, Call, Expr, Var, is_const_int
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BufferStore, For, ForKind, IfThenElse, SeqStmt, Stmt, seq
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.ranges import Ranges, conjuncts
from tilewright.tir.transform.analysis.tile_guards import (
    Guard,
    always_holds,
    guards_in,
    is_local,
    is_reduction,
)
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.last_tiles import parted
from tilewright.tir.transform.building.short_guards import shorten_guards
from tilewright.tir.transform.building.statements import (
    StatementRewriter,
    statement_count,
    statements,
)
from tilewright.tir.transform.building.unguarded import (
    MAX_STATEMENTS,
    cut_in_two,
    without_guards,
)

_IF_THEN_ELSE = Op.get("tir.if_then_else")
_OPPOSITES: Final[dict[type, type]] = {LT: GE, LE: GT, GT: LE, GE: LT}


def split_full_tiles(func: PrimFunc) -> PrimFunc:
    """`func` with nests of guarded loops doubled: once without guards, for where they all hold."""
    if not _asks(func.body):
        return func
    return func.with_body(_Splitting()(shorten_guards(func.body)))


def _asks(nest: Stmt) -> bool:
    """Whether there are guards in `nest`, or choices between two values."""
    return any(isinstance(s, IfThenElse) or choice_of(s) is not None for s in statements(nest))


def choice_of(stmt: Stmt) -> Call | None:
    """The choice between two values, on a condition, that a statement stores, if it does that."""
    value = stmt.value if isinstance(stmt, BufferStore) else None
    return value if isinstance(value, Call) and value.op is _IF_THEN_ELSE else None


class _Splitting(StatementRewriter):
    def __init__(self) -> None:
        self._ranges = Ranges()
        self._left: dict[int, Expr] = {}
        """The parts of conditions that stay, where the rewriter is in tiles that are not full."""
        self._changing: set[Var] | None = None
        """The variables of the innermost reduction around and of the loops in it; None outside of
        reductions."""

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        doubled = self._doubled(stmt)
        return seq(*merged([self(part) for part in stmt.seq])) if doubled is None else doubled

    def For(self, loop: For) -> Stmt:
        if not _asks(loop):
            return loop
        self._ranges.bind(loop.loop_var, loop.min, loop.extent)
        doubled = self._without_choice(loop) or self._doubled(loop)
        return parted(self._inside(loop)) if doubled is None else doubled

    def _without_choice(self, loop: For) -> Stmt | None:
        """A vector whose lanes choose between two values, such as those of a padding or of several
        arrays side by side, again for where all of them have the same one.

        Vectors that are written one after the other stay together: they may be stored as one.
        """
        loops = _unrolled_vectors(loop)
        choice = choice_of(loops[-1].body)
        if loops[-1].kind is not ForKind.VECTORIZED or choice is None:
            return None
        asked, first, second = choice.args
        parts = list(conjuncts(asked))
        same, others = _asked_of_each(parts, loops)
        if same and others:
            return self._without_those_of_each(loop, loops, choice, same, others)
        branches = [(self._in_all_lanes(parts, loops), first)]
        if len(parts) == 1 and type(parts[0]) in _OPPOSITES:
            opposite = _OPPOSITES[type(parts[0])](parts[0].a, parts[0].b)  # type: ignore[attr-defined]
            branches.append((self._in_all_lanes([opposite], loops), second))
        result: Stmt = loop
        for condition, value in reversed(branches):
            if condition is not None:
                result = IfThenElse(condition, self(_storing(loops, value)), result)
        return None if result is loop else result

    def _without_those_of_each(
        self, loop: For, loops: Sequence[For], choice: Call, same: list[Expr], others: list[Expr]
    ) -> Stmt | None:
        """Vectors written one after the other, of each of which something is asked that its lanes
        have in common, without asking that."""
        condition = self._in_all_lanes(same, loops)
        if condition is None:
            return None
        value = choice.replace(args=(reduce(logical_and, others), *choice.args[1:]))
        return IfThenElse(condition, self(_storing(loops, value)), loop)

    def _in_all_lanes(self, parts: Sequence[Expr], loops: Sequence[For]) -> Expr | None:
        """What has to be asked of vectors so that a condition holds in all of their lanes; None if
        that cannot be said, or is known."""
        condition: Expr = const(True, BOOL)
        for part in parts:
            always = None if is_local(part, set()) else always_holds(part, loops)
            holds = None if always is None else self._ranges.decide(always)
            if always is None or holds is False:
                return None
            if holds is None:
                condition = logical_and(condition, always)
        return None if is_const_int(condition) else condition

    def _doubled(self, nest: Stmt) -> Stmt | None:
        """`nest` with and without the guards that are best asked here; None if there are none."""
        guards = self._asked_here(nest)
        if not guards:
            return None
        condition = guards[0].always
        fast = self(without_guards(nest, guards))
        if _guards_everything(nest, guards):
            return IfThenElse(condition, fast)
        other = Iteration({})(nest)
        if not self._left:  # else it is rare by now
            self._left = {
                id(guard.part): guard.part
                for guard in guards_in(other)
                if structural_equal(guard.always, condition)
            }
            other = self(other)
            self._left = {}
        return IfThenElse(condition, fast, other)

    def _asked_here(self, nest: Stmt) -> list[Guard]:
        """Guards in `nest` to be asked in front of it, by the same condition."""
        if statement_count(nest) > MAX_STATEMENTS:
            return []
        groups: list[list[Guard]] = []
        for guard in guards_in(nest):
            if self._is_left(guard) or not self._changes(guard.always):
                continue
            group = _same(guard.always, groups)
            if group is not None:
                group.append(guard)
            elif self._ranges.decide(guard.always) is None:
                groups.append([guard])
        # Branches first: what is asked last is left in the fewest tiles, and masks are cheap.
        groups.sort(key=lambda group: any(guard.becomes_mask() for guard in group))
        for group in groups:
            if not any(guard.belongs_deeper() for guard in group):
                return group
        return []

    def _is_left(self, guard: Guard) -> bool:
        """Whether a guard stays in tiles that are not full: one that does not hold there, or one of
        the lanes of vectors along the same loops, which end where these do."""
        if not self._left:
            return False
        if id(guard.part) in self._left:
            return True
        failing = {var for part in self._left.values() for var in variables_of(part)}
        return guard.becomes_mask() and failing >= set(variables_of(guard.always))

    def _changes(self, condition: Expr) -> bool:
        """Whether it is not the same in all steps of the reduction around, if there is one."""
        return self._changing is None or any(
            var in self._changing for var in variables_of(condition)
        )

    def _inside(self, loop: For) -> Stmt:
        """`loop` with its body split, or cut in two if it is a reduction with a guard."""
        outer = self._changing
        if is_reduction(loop):
            self._changing = {loop.loop_var}
        elif outer is not None:
            self._changing = {*outer, loop.loop_var}
        result = self._in_reduction(loop)
        self._changing = outer
        return result

    def _in_reduction(self, loop: For) -> Stmt:
        cut = cut_in_two(loop) if is_reduction(loop) else None
        if cut is None:
            body = self(loop.body)
            return loop if body is loop.body else loop.replace(body=body)
        first, rest = cut
        # The last block of a sum has a loop over its steps, which is cut as well.
        is_block = is_const_int(loop.extent - first.extent, 1) and _has_serial_loop(rest)
        return seq(self(first), self(rest) if is_block else rest)


def _has_serial_loop(nest: Stmt) -> bool:
    return any(isinstance(s, For) and s.kind is ForKind.SERIAL for s in statements(nest))


def _unrolled_vectors(loop: For) -> list[For]:
    """`loop` and what is inside of it, as long as loops are unrolled: up to that over lanes."""
    loops = [loop]
    while loops[-1].kind is ForKind.UNROLLED and isinstance(loops[-1].body, For):
        loops.append(loops[-1].body)
    return loops


def _asked_of_each(parts: Sequence[Expr], loops: Sequence[For]) -> tuple[list[Expr], list[Expr]]:
    """What is asked of each vector, but not of its lanes; and what else is asked.

    Args:
        loops: those over vectors, and that over lanes.
    """
    *vectors, lanes = (loop.loop_var for loop in loops)
    same: list[Expr] = []
    others: list[Expr] = []
    for part in parts:
        used = variables_of(part)
        is_same = lanes not in used and any(var in used for var in vectors)
        (same if is_same else others).append(part)
    return same, others


def _storing(loops: Sequence[For], value: Expr) -> Stmt:
    """`loops` over a store, of another value."""
    result: Stmt = loops[-1].body.replace(value=value)
    for loop in reversed(loops):
        result = loop.replace(body=result)
    return Iteration({})(result)


def _same(condition: Expr, groups: Iterable[list[Guard]]) -> list[Guard] | None:
    for group in groups:
        if structural_equal(condition, group[0].always):
            return group
    return None


def merged(statements: Iterable[Stmt]) -> list[Stmt]:
    """`statements` with neighbouring branches on the same condition put together."""
    result: list[Stmt] = []
    for stmt in statements:
        last = result[-1] if result else None
        if (
            isinstance(stmt, IfThenElse)
            and isinstance(last, IfThenElse)
            and not any(isinstance(node, BufferLoad) for node in walk(stmt.condition))
            and structural_equal(stmt.condition, last.condition)
        ):
            other = None
            if stmt.else_case is not None or last.else_case is not None:
                other = seq(last.else_case, stmt.else_case)
            result[-1] = last.replace(
                then_case=seq(last.then_case, stmt.then_case), else_case=other
            )
        else:
            result.append(stmt)
    return result


def _guards_everything(nest: Stmt, guards: Sequence[Guard]) -> bool:
    """Whether nothing in `nest` runs if the guards do not hold, all of its iterations being one."""
    if any(guard.varying for guard in guards):
        return False
    parts = {id(guard.part) for guard in guards}
    while isinstance(nest, For):
        nest = nest.body
    return isinstance(nest, IfThenElse) and parts <= {id(p) for p in conjuncts(nest.condition)}
