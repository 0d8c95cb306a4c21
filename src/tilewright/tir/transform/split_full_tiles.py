"""Tiles that lie wholly inside of their bounds run without conditions.

Where a tile does not divide its dimension, each element is guarded: `m0 * 6 + m1 < M`. Most tiles
are full, and for those the guard holds for all `m1`. So a nest of loops is doubled where that can
be asked once, outside of it::

    for m0:                                  for m0:
        for k, m1:                               if m0 * 6 + 5 < M:
            if m0 * 6 + m1 < M: S       ->           for k, m1: S
                                                 else:
                                                     for k, m1: if m0 * 6 + m1 < M: S

A guard of a reduction loop (`k0 * 4 + k1 < K`) would have to be asked in each of its iterations;
there the loop is cut in two instead: the iterations in which the guard always holds, and the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import (
    GE,
    GT,
    LE,
    LT,
    Call,
    CompareExpr,
    Expr,
    IntImm,
    Let,
    Var,
    is_const_int,
)
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.affine import Affine, Term, affine, difference, split, to_expr
from tilewright.tir.transform.iteration import Iteration
from tilewright.tir.transform.ranges import Ranges, conjuncts, without_likely
from tilewright.tir.transform.statements import statement_count, statements

MAX_STATEMENTS = 64
"""Nests with more statements than this are not doubled."""


def split_full_tiles(func: PrimFunc) -> PrimFunc:
    """`func` with nests of guarded loops doubled: once without guards, for where they all hold."""
    if not any(isinstance(stmt, IfThenElse) for stmt in statements(func.body)):
        return func
    body = _Splitting()(func.body)
    return func if body is func.body else func.with_body(body)


class Guard(NamedTuple):
    """A part of a condition inside a nest, and when it holds for all iterations of the nest."""

    part: Expr
    always: Expr
    fixed: bool
    """Whether it is the same in all iterations of the nest."""


class _Splitting(Rewriter):
    def __init__(self) -> None:
        self._ranges = Ranges()

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        return seq(*merged([self(part) for part in stmt.seq]))

    def For(self, loop: For) -> Stmt:
        self._ranges.bind(loop.loop_var, loop.min, loop.extent)
        guards = self._guards(loop)
        if not guards:
            return self._inside(loop)
        condition = conjunction(guard.always for guard in guards)
        unguarded = without_guards(loop, guards)
        fast = self(unguarded) if isinstance(unguarded, For) else unguarded
        if all(guard.fixed for guard in guards) and _guards_everything(loop, guards):
            return IfThenElse(condition, fast)
        return IfThenElse(condition, fast, Iteration({})(loop))

    def _guards(self, nest: For) -> list[Guard]:
        """The guards in `nest` that are worth asking in front of it."""
        if statement_count(nest) > MAX_STATEMENTS:
            return []
        found: dict[int, Guard] = {}
        inner, lets = _bindings(nest)
        for node in statements(nest):
            if isinstance(node, IfThenElse) and node.else_case is None:
                for part in conjuncts(node.condition):
                    guard = None if _is_local(part, lets) else always_holds(part, inner)
                    if guard is not None and self._ranges.decide(guard.always) is None:
                        found[id(part)] = guard
        return list(found.values())

    def _inside(self, loop: For) -> Stmt:
        """`loop` with its body split, or cut in two if it is a reduction with a guard."""
        cut = self._cut(loop)
        if cut is None:
            body = self(loop.body)
            return loop if body is loop.body else loop.replace(body=body)
        count, guards = cut
        first = loop.replace(
            extent=const(count, loop.extent.dtype), body=without_guards(loop.body, guards)
        )
        start, left = as_expr(loop.min + count), as_expr(loop.extent - count)
        if is_const_int(left, 1):
            return seq(self(first), Iteration({loop.loop_var: start})(loop.body))
        return seq(self(first), Iteration({})(loop.replace(min=start, extent=left)))

    def _cut(self, loop: For) -> tuple[int, list[Guard]] | None:
        """How many iterations of a serial reduction loop have no need of which guards."""
        if loop.kind is not ForKind.SERIAL or not isinstance(loop.extent, IntImm):
            return None
        if not is_const_int(loop.min) or _stores_along(loop):
            return None
        if statement_count(loop) > MAX_STATEMENTS:
            return None
        inner, lets = _bindings(loop.body)
        count, guards = loop.extent.value, []
        for node in statements(loop.body):
            if isinstance(node, IfThenElse) and node.else_case is None:
                for part in conjuncts(node.condition):
                    guard = None if _is_local(part, lets) else always_holds(part, inner)
                    holds = None if guard is None else _iterations(guard.always, loop)
                    if guard is not None and holds is not None:
                        count = min(count, holds)
                        guards.append(guard)
        return (count, guards) if guards and 0 < count < loop.extent.value else None


def _bindings(stmt: Stmt) -> tuple[dict[Var, For], set[Var]]:
    """The loops in `stmt` by their variables, and the variables of its lets."""
    nodes = list(statements(stmt))
    loops = {node.loop_var: node for node in nodes if isinstance(node, For)}
    return loops, {node.var for node in nodes if isinstance(node, LetStmt)}


def _is_local(part: Expr, lets: set[Var]) -> bool:
    """Whether `part` cannot be asked outside: it reads memory, or a variable bound inside."""
    return any(
        isinstance(node, (BufferLoad, Let))
        or (isinstance(node, Call) and node is not part)
        or (isinstance(node, Var) and node in lets)
        for node in walk(part)
    )


def conjunction(conditions: Iterable[Expr]) -> Expr:
    """That all of `conditions` hold, each asked once."""
    kept: list[Expr] = []
    for condition in conditions:
        if not any(structural_equal(condition, other) for other in kept):
            kept.append(condition)
    result: Expr = const(True, BOOL)
    for condition in kept:
        result = logical_and(result, condition)
    return result


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


def always_holds(part: Expr, inner: dict[Var, For]) -> Guard | None:
    """When the comparison `part` holds for all values of the inner loop variables.

    None if that cannot be said: it is no linear comparison of integers, or an inner loop has a
    variable extent.
    """
    condition = without_likely(part)
    if not isinstance(condition, (LT, LE, GT, GE)) or not condition.a.dtype.is_int:
        return None
    form = difference(condition.a, condition.b)
    largest = isinstance(condition, (LT, LE))
    fixed = True
    for var, loop in inner.items():
        parts = split(form, var)
        if parts is None or not parts[0].is_constant():
            return None
        coefficient = parts[0].constant
        if not coefficient:
            continue
        fixed = False
        if not isinstance(loop.extent, IntImm) or loop.extent.value < 1:
            return None
        end: Expr = loop.min
        if (coefficient > 0) is largest:
            end = as_expr(loop.min + (loop.extent.value - 1))
        if any(v in inner for v in variables_of(end)):
            return None
        form = _plus(parts[1], affine(as_expr(end * coefficient)))
    return Guard(part, _comparison(condition, form), fixed)


def _plus(a: Affine, b: Affine) -> Affine:
    terms = dict(a.terms)
    for key, term in b.terms.items():
        known = terms.get(key)
        total = term.coefficient + (known.coefficient if known else 0)
        terms[key] = Term(total, term.factors)
    return Affine({k: t for k, t in terms.items() if t.coefficient}, a.constant + b.constant)


def _comparison(like: CompareExpr, form: Affine) -> Expr:
    """`form ? 0`, with what is subtracted on the other side."""
    dtype = like.a.dtype
    left = {k: t for k, t in form.terms.items() if t.coefficient > 0}
    right = {
        k: t._replace(coefficient=-t.coefficient)
        for k, t in form.terms.items()
        if t.coefficient < 0
    }
    up, down = max(form.constant, 0), max(-form.constant, 0)
    a, b = to_expr(Affine(left, up), dtype), to_expr(Affine(right, down), dtype)
    return like.replace(a=a, b=b)


def _iterations(condition: Expr, loop: For) -> int | None:
    """For how many first iterations of `loop` the condition, on its variable alone, holds."""
    if not isinstance(condition, (LT, LE)):
        return None
    form = difference(condition.a, condition.b)
    parts = split(form, loop.loop_var)
    if parts is None or not parts[0].is_constant() or not parts[1].is_constant():
        return None
    step, start = parts[0].constant, parts[1].constant
    if step <= 0:
        return None
    room = -start - (1 if isinstance(condition, LT) else 0)
    assert isinstance(loop.min, IntImm)
    return max(room // step + 1 - loop.min.value, 0)


def _stores_along(loop: For) -> bool:
    """Whether iterations of `loop` store to different places."""
    return any(
        var is loop.loop_var
        for node in statements(loop.body)
        if isinstance(node, BufferStore)
        for var in variables_of(node.indices[0])
    )


def _guards_everything(nest: For, guards: Sequence[Guard]) -> bool:
    """Whether nothing in `nest` runs if the guards do not hold."""
    parts = {id(guard.part) for guard in guards}
    stmt: Stmt = nest
    while isinstance(stmt, For):
        stmt = stmt.body
    return isinstance(stmt, IfThenElse) and parts <= {id(p) for p in conjuncts(stmt.condition)}


def without_guards(stmt: Stmt, guards: Sequence[Guard]) -> Stmt:
    """`stmt` in which the given parts of conditions are taken to hold."""
    return _Without({id(guard.part) for guard in guards})(stmt)


class _Without(Rewriter):
    def __init__(self, parts: set[int]) -> None:
        self._parts = parts

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        parts = conjuncts(stmt.condition)
        kept = [part for part in parts if id(part) not in self._parts]
        if len(kept) == len(parts) or stmt.else_case is not None:
            return stmt.map_children(self)
        condition: Expr = const(True, BOOL)
        for part in kept:
            condition = logical_and(condition, part)
        body = self(stmt.then_case)
        return stmt.replace(condition=condition, then_case=body) if kept else body
