"""Checks of all indices while a program runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tilewright.ir.arithmetic import logical_and, logical_not, logical_or
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import (
    And,
    Broadcast,
    Call,
    Expr,
    IntImm,
    Let,
    Or,
    Ramp,
    Select,
    Shuffle,
    Var,
)
from tilewright.ir.node import Node
from tilewright.tir.analysis.expressions import has_effects
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BufferStore, IfThenElse, SeqStmt, Stmt, While, seq
from tilewright.tir.substitute import substitute

TRUE: Final = const(True)
NOTHING: Final[Mapping[Var, Expr]] = MappingProxyType({})


def instrument_bounds(func: PrimFunc) -> PrimFunc:
    """`func`, which raises an IndexError before it accesses what is outside of a buffer.

    Before::

        B[i] = A[I[i]]

    After, for an `A` of 8 elements::

        if I[i] < 0 or I[i] >= 8:
            raise_error("IndexError", "...", I[i])
        B[i] = A[I[i]]

    An access in a branch of `if_then_else` or `Select` is checked if the branch is taken. Indices
    and conditions that call functions with effects are not checked, as they cannot be evaluated
    twice.

    Args:
        func: a function without blocks, whose buffers have the shapes that the user gave them.
    """
    body = _Instrumentation(func.global_symbol or "a private function").statement(func.body)
    return func.with_body(body)


class _Instrumentation:
    """Writes checks before the statements of a function."""

    def __init__(self, name: str) -> None:
        self._name = name.replace("%", "%%")

    def statement(self, stmt: Stmt) -> Stmt:
        """A statement, and before it the checks of what it accesses."""
        if isinstance(stmt, SeqStmt):
            return seq(*map(self.statement, stmt.seq))
        children = stmt.children()
        checks = [
            check
            for part in children
            if isinstance(part, Expr)
            for check in self._checks(part, TRUE, NOTHING)
        ]
        if isinstance(stmt, BufferStore):
            enabled = stmt.predicate
            checks += self._access(stmt.buffer, stmt.indices, enabled, TRUE, NOTHING)
        changed = stmt.map_children(self._part)
        if isinstance(changed, While) and checks:
            changed = changed.replace(body=seq(changed.body, *checks))
        return seq(*checks, changed) if checks else changed

    def _part(self, node: Node) -> Node:
        return self.statement(node) if isinstance(node, Stmt) else node

    def _checks(self, expr: Node, when: Expr, values: Mapping[Var, Expr]) -> Iterator[Stmt]:
        """The checks of an expression that is evaluated if `when` holds."""
        if isinstance(expr, (And, Or)):
            yield from self._checks(expr.a, when, values)
            goes_on = logical_not(expr.a) if isinstance(expr, Or) else expr.a
            yield from self._checks(expr.b, _both(when, goes_on, values), values)
        elif isinstance(expr, Select):
            yield from self._choice(expr.condition, expr.true_value, expr.false_value, when, values)
        elif isinstance(expr, Let):
            yield from self._checks(expr.value, when, values)
            value = substitute(expr.value, values)
            yield from self._checks(expr.body, when, {**values, expr.var: value})
        elif isinstance(expr, Call):
            yield from self._call(expr, when, values)
        else:
            for part in expr.children():
                yield from self._checks(part, when, values)
            if isinstance(expr, BufferLoad):
                yield from self._access(expr.buffer, expr.indices, expr.predicate, when, values)

    def _call(self, call: Call, when: Expr, values: Mapping[Var, Expr]) -> Iterator[Stmt]:
        name = getattr(call.op, "name", "")
        if name == "tir.if_then_else":
            condition, yes, no = call.args
            yield from self._choice(condition, yes, no, when, values)
            return
        is_address = name == "tir.address_of"
        for part in call.args[0].children() if is_address else call.args:
            yield from self._checks(part, when, values)

    def _choice(
        self, condition: Expr, yes: Expr, no: Expr, when: Expr, values: Mapping[Var, Expr]
    ) -> Iterator[Stmt]:
        yield from self._checks(condition, when, values)
        if condition.dtype.is_vector:
            return  # each lane takes its own side
        yield from self._checks(yes, _both(when, condition, values), values)
        yield from self._checks(no, _both(when, logical_not(condition), values), values)

    def _access(
        self,
        buffer: Buffer,
        indices: tuple[Expr, ...],
        enabled: Expr | None,
        when: Expr,
        values: Mapping[Var, Expr],
    ) -> Iterator[Stmt]:
        """The checks of one load or store; `enabled` says which lanes of a vector are on."""
        if buffer.buffer_type or any(map(has_effects, (when, *indices))):
            return
        for axis, (index, extent) in enumerate(zip(indices, buffer.shape, strict=True)):
            index = substitute(index, values)
            for lane in _lanes(index, enabled):
                element = cast(INT64, _lane(index, lane))
                limit = cast(INT64, extent)
                outside = logical_or(element < 0, element >= limit)
                if enabled is not None:
                    outside = logical_and(_lane(enabled, lane), outside)
                outside = logical_and(when, outside)
                if not (isinstance(outside, IntImm) and not outside.value):
                    yield self._refusal(buffer, axis, outside, element, limit)

    def _refusal(self, buffer: Buffer, axis: int, outside: Expr, index: Expr, extent: Expr) -> Stmt:
        message = (
            f"{self._name}: index {axis} of {buffer.name.replace('%', '%%')} is %lld, outside of "
            "its extent %lld"
        )
        return IfThenElse(outside, abi.raise_error("IndexError", message, index, extent))


def _both(a: Expr, b: Expr, values: Mapping[Var, Expr]) -> Expr:
    return logical_and(a, substitute(b, values) if values else b)


def _lanes(index: Expr, enabled: Expr | None) -> range:
    """The lanes of an index that have to be looked at: the ends of what grows evenly."""
    count = index.dtype.lanes
    if enabled is None and isinstance(index, Ramp):
        return range(0, count, count - 1)
    if isinstance(index, Broadcast) and enabled is None:
        return range(1)
    return range(count if enabled is None else max(count, enabled.dtype.lanes))


def _lane(expr: Expr, lane: int) -> Expr:
    """One element of a vector."""
    if isinstance(expr, Ramp):
        return expr.base + expr.stride * lane
    if isinstance(expr, Broadcast):
        return expr.value
    if not expr.dtype.is_vector:
        return expr
    return Shuffle((expr,), (const(lane),))
