"""Conditions are asked where they change, once for all statements under them.

A condition that does not change in a loop moves out of it::

    for i in range(8):                            for i in range(8):
        for j in range(16):                           if i * 3 < n:
            if i * 3 < n and j < m:      ->               for j in range(16):
                S(i, j)                                       if j < m:
                                                                  S(i, j)

Predicates of tiles that stick out, and guards that let a part of a loop run once, then cost one
test instead of one per iteration. Later, such a tile is straight code with a branch per row or per
vector. The branches alternate as the rows of the tile do; put together they cost little::

    if n < 32: C[0] += A[0] * B[0]              if n < 32:
    if n < 48: C[1] += A[0] * B[1]       ->         C[0] += A[0] * B[0]
    if n < 32: C[2] += A[1] * B[0]                  C[2] += A[1] * B[0]
    if n < 48: C[3] += A[1] * B[1]              if n < 48:
                                                    C[1] += A[0] * B[1]
                                                    C[3] += A[1] * B[1]

Only stores that access nothing that stores of another group write change places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from tilewright.arith.linear import mentions
from tilewright.ir.expr import (
    And,
    Call,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mod,
    Var,
    is_const_int,
)
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BufferStore, For, IfThenElse, SeqStmt, Stmt, seq
from tilewright.tir.transform.analysis.accesses import Location, MemoryReferences, is_opaque
from tilewright.tir.transform.analysis.affine import Key
from tilewright.tir.transform.analysis.memory_uses import Aliases
from tilewright.tir.transform.analysis.ranges import EnclosingScope, conjuncts
from tilewright.tir.transform.building.statements import (
    Conditions,
    StatementRewriter,
    guarded_stores,
    keys_of,
    resequenced,
    statements,
)


def hoist_conditions(func: PrimFunc) -> PrimFunc:
    """`func`, without blocks, with each condition as far outside as its variables allow."""
    return func.with_body(_Hoisting()(func.body))


class _Hoisting(StatementRewriter):
    def For(self, loop: For) -> Stmt:
        loop = loop.map_children(self)
        branch = loop.body
        # A vectorised loop wants its masks; threads must all reach a barrier.
        if not loop.kind.is_in_order:
            return loop
        if not isinstance(branch, IfThenElse) or branch.else_case is not None:
            return loop
        outside: list[Expr] = []
        inside: list[Expr] = []
        for condition in conjuncts(branch.condition):
            is_fixed = not mentions(condition, [loop.loop_var]) and is_simple(condition)
            (outside if is_fixed else inside).append(condition)
        if not outside:
            return loop
        body = branch.then_case
        if inside:
            body = branch.replace(condition=reduce(And, inside))
        return IfThenElse(reduce(And, outside), loop.replace(body=body), span=branch.span)


def is_simple(expr: Node) -> bool:
    """Whether evaluating it earlier, or where it was not evaluated at all, makes no difference."""
    if isinstance(expr, (Var, IntImm)):
        return True
    if isinstance(expr, (BufferLoad, Call)):
        return False
    return not may_divide_by_zero(expr) and all(map(is_simple, expr.children()))


def may_divide_by_zero(expr: Node) -> bool:
    """Whether `expr` itself is a division by something that is not a constant, or zero."""
    if not isinstance(expr, (Div, Mod, FloorDiv, FloorMod)):
        return False
    return not isinstance(expr.b, IntImm) or is_const_int(expr.b, 0)


def group_branches(func: PrimFunc) -> PrimFunc:
    """`func` with neighbouring stores under equal conditions in one branch."""
    if not any(isinstance(stmt, IfThenElse) for stmt in statements(func.body)):
        return func
    return func.with_body(_Grouping(func)(func.body))


class _Group(NamedTuple):
    """Stores that run under equal conditions."""

    conditions: Conditions
    stores: list[BufferStore]

    def statement(self) -> Stmt:
        stmt = seq(*self.stores)
        for condition in reversed(self.conditions):
            stmt = IfThenElse(condition, stmt)
        return stmt


class _Grouping(StatementRewriter):
    def __init__(self, func: PrimFunc) -> None:
        self._aliases = Aliases(func)
        self._scope = EnclosingScope(func)
        self._accesses = MemoryReferences()

    def For(self, loop: For) -> Stmt:
        self._scope.enter(loop)
        return loop.map_children(self)

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        return self._scope.in_branches(stmt, self)

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        result: list[Stmt] = []
        run: list[Stmt] = []
        for part in stmt.seq:
            if guarded_stores(part) is None:
                result += self._grouped(run)
                run = []
                result.append(self(part))
            else:
                run.append(part)
        result += self._grouped(run)
        return resequenced(stmt, result)

    def _grouped(self, run: Sequence[Stmt]) -> Sequence[Stmt]:
        if not any(isinstance(stmt, IfThenElse) for stmt in run):
            return run
        groups: dict[tuple[Key, ...], _Group] = {}
        for stmt in run:
            for conditions, store in guarded_stores(stmt) or ():
                group = groups.setdefault(keys_of(conditions), _Group(conditions, []))
                group.stores.append(store)
        if len(groups) >= len(run) or not self._independent(groups.values()):
            return run
        return [group.statement() for group in groups.values()]

    def _independent(self, groups: Iterable[_Group]) -> bool:
        """Whether no group accesses what another one writes."""
        written: set[Var] = set()
        accessed: dict[Var, dict[Location | None, set[int]]] = {}
        for number, group in enumerate(groups):
            for node in _effects(group):
                if isinstance(node, Call):
                    return False
                data = node.buffer.data
                if isinstance(node, BufferStore):
                    written.add(data)
                places = accessed.setdefault(data, {})
                places.setdefault(self._accesses(node).location, set()).add(number)
        return all(
            self._are_apart(accessed[data])
            and not any(self._aliases.may_overlap(data, o) for o in accessed if o is not data)
            for data in written
        )

    def _are_apart(self, places: Mapping[Location | None, set[int]]) -> bool:
        """Whether different groups access different elements of a memory."""
        if len(set().union(*places.values())) == 1:
            return True
        known = [place for place in places if place is not None]
        return (
            len(known) == len(places)
            and all(len(numbers) == 1 for numbers in places.values())
            and self._accesses.are_apart(known, self._scope)
        )


def _effects(group: _Group) -> Iterator[BufferLoad | BufferStore | Call]:
    """What reads or writes memory in a group."""
    for root in (*group.conditions, *group.stores):
        for node in walk(root):
            if isinstance(node, (BufferLoad, BufferStore)) or (
                isinstance(node, Call) and is_opaque(node)
            ):
                yield node
