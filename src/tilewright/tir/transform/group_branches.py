"""Stores under the same condition run together, so that it is asked once.

A tile that sticks out of its bounds is straight code with a branch per row or per vector. The
branches alternate as the rows of the tile do; put together they cost little::

    if n < 32: C[0] += A[0] * B[0]              if n < 32:
    if n < 48: C[1] += A[0] * B[1]       ->         C[0] += A[0] * B[0]
    if n < 32: C[2] += A[1] * B[0]                  C[2] += A[1] * B[0]
    if n < 48: C[3] += A[1] * B[1]              if n < 48:
                                                    C[1] += A[0] * B[1]
                                                    C[3] += A[1] * B[1]

Only stores that touch nothing that stores of another group write change places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tilewright.ir.expr import Call, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BufferStore, For, IfThenElse, SeqStmt, Stmt, seq
from tilewright.tir.transform.analysis.affine import Key
from tilewright.tir.transform.analysis.alias import Aliases
from tilewright.tir.transform.analysis.enclosing_scope import Surroundings
from tilewright.tir.transform.analysis.guarded_stores import Conditions, guarded_stores, keys_of
from tilewright.tir.transform.analysis.locations import Location, Touches, is_opaque
from tilewright.tir.transform.building.statements import StatementRewriter, resequenced, statements


def group_branches(func: PrimFunc) -> PrimFunc:
    """`func` with neighbouring stores under equal conditions in one branch."""
    if not any(isinstance(stmt, IfThenElse) for stmt in statements(func.body)):
        return func
    body = _Grouping(func)(func.body)
    return func if body is func.body else func.with_body(body)


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
        self._surroundings = Surroundings(func)
        self._touches = Touches()

    def For(self, loop: For) -> Stmt:
        self._surroundings.enter(loop)
        return loop.map_children(self)

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        return self._surroundings.in_branches(stmt, self)

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
        """Whether no group touches what another one writes."""
        written: set[Var] = set()
        touched: dict[Var, dict[Location | None, set[int]]] = {}
        for number, group in enumerate(groups):
            for node in _effects(group):
                if isinstance(node, Call):
                    return False
                data = node.buffer.data
                if isinstance(node, BufferStore):
                    written.add(data)
                places = touched.setdefault(data, {})
                places.setdefault(self._touches(node).location, set()).add(number)
        return all(
            self._are_apart(touched[data])
            and not any(self._aliases.may_overlap(data, o) for o in touched if o is not data)
            for data in written
        )

    def _are_apart(self, places: Mapping[Location | None, set[int]]) -> bool:
        """Whether different groups touch different elements of a memory."""
        if len(set().union(*places.values())) == 1:
            return True
        known = [place for place in places if place is not None]
        return (
            len(known) == len(places)
            and all(len(numbers) == 1 for numbers in places.values())
            and self._touches.are_apart(known, self._surroundings)
        )


def _effects(group: _Group) -> Iterator[BufferLoad | BufferStore | Call]:
    """What reads or writes memory in a group."""
    for root in (*group.conditions, *group.stores):
        for node in walk(root):
            if isinstance(node, (BufferLoad, BufferStore)) or (
                isinstance(node, Call) and is_opaque(node)
            ):
                yield node
