"""Rewriting that folds what becomes constant: `0 * 16 + x` is `x` as soon as the 0 is put in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.ir import arithmetic
from tilewright.ir.convert import cast
from tilewright.ir.expr import (
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mod,
    Not,
    Ramp,
    Select,
    Var,
)
from tilewright.ir.node import map_tuple
from tilewright.ir.op import Op
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import Allocate, BufferStore, For, IfThenElse, LetStmt, Stmt, nop
from tilewright.tir.substitute import BufferRewriter
from tilewright.tir.transform.analysis.affine import expand

_IF = Op.get("tir.if_then_else")
_DIVISIONS = (FloorDiv, FloorMod, Div, Mod)


def fold_binary(node: Any, a: Expr, b: Expr) -> Expr:
    """`node` with the operands `a` and `b`, folded where that is constant or trivial."""
    kind = node.__class__
    division = kind in _DIVISIONS
    if division and (not a.dtype.is_integral or (b.__class__ is IntImm and not b.value)):  # type: ignore[attr-defined]
        return node.replace(a=a, b=b)
    return arithmetic.CONSTRUCTORS[kind](a, b)


class FoldingRewriter(BufferRewriter):
    """A rewriter that folds constants, and drops branches that are never taken."""

    def _binary(self, node: Any) -> Any:
        rewritten = self.__call__  # as a method, for sums of thousands of terms: see `map_children`
        a, b = rewritten(node.a), rewritten(node.b)
        return node if a is node.a and b is node.b else fold_binary(node, a, b)

    Add = Sub = Mul = Min = Max = EQ = NE = LT = LE = GT = GE = And = Or = _binary
    FloorDiv = FloorMod = Div = Mod = _binary

    def Not(self, node: Not) -> Any:
        a = self(node.a)
        return node if a is node.a else arithmetic.logical_not(a)

    def Cast(self, node: Cast) -> Any:
        value = self(node.value)
        return node if value is node.value else cast(node.dtype, value)

    def Select(self, node: Select) -> Any:
        node = node.map_children(self)
        if isinstance(node.condition, IntImm):
            return node.true_value if node.condition.value else node.false_value
        return node

    def Call(self, call: Call) -> Expr:
        if call.op is not _IF:
            return call.map_children(self)
        condition = self(call.args[0])
        if isinstance(condition, IntImm):
            return self(call.args[1] if condition.value else call.args[2])
        return call.map_children(self)

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        condition = self(stmt.condition)
        if isinstance(condition, IntImm):
            taken = stmt.then_case if condition.value else stmt.else_case
            return nop() if taken is None else self(taken)
        then_case = self.under(condition, stmt.then_case)
        else_case = None if stmt.else_case is None else self(stmt.else_case)
        if (
            condition is stmt.condition
            and then_case is stmt.then_case
            and else_case is stmt.else_case
        ):
            return stmt
        return stmt.replace(condition=condition, then_case=then_case, else_case=else_case)

    def under(self, condition: Expr, stmt: Stmt) -> Stmt:
        """A statement that runs only if `condition` holds."""
        del condition
        return self(stmt)


class Iteration(FoldingRewriter):
    """One iteration of a loop: values for variables, and variables of its own for what it binds.

    Index arithmetic stays multiplied out.
    """

    def __init__(self, values: Mapping[Var, Expr]) -> None:
        FoldingRewriter.__init__(self)
        self._values = dict(values)

    def Var(self, var: Var) -> Expr:
        return self._values.get(var, var)

    SizeVar = Var

    def map_buffer(self, buffer: Buffer) -> Buffer:
        return self.rebuilt(buffer)

    def For(self, loop: For) -> Stmt:
        minimum, extent = expand(self(loop.min)), expand(self(loop.extent))
        var = self._fresh(loop.loop_var)
        body = self(loop.body)
        if (
            var is loop.loop_var
            and body is loop.body
            and minimum is loop.min
            and extent is loop.extent
        ):
            return loop
        return loop.replace(loop_var=var, min=minimum, extent=extent, body=body)

    def LetStmt(self, stmt: LetStmt) -> Stmt:
        value = self(stmt.value)
        return stmt.replace(var=self._fresh(stmt.var), value=value, body=self(stmt.body))

    def Allocate(self, stmt: Allocate) -> Stmt:
        extents = tuple(map(self, stmt.extents))
        var = self._fresh(stmt.buffer_var)
        return stmt.replace(buffer_var=var, extents=extents, body=self(stmt.body))

    def _fresh(self, var: Var) -> Var:
        new = var.replace()
        self._values[var] = new
        return new

    def Ramp(self, ramp: Ramp) -> Expr:
        base, stride = self(ramp.base), self(ramp.stride)
        if base is ramp.base and stride is ramp.stride:
            return ramp
        return Ramp(expand(base), expand(stride), ramp.lanes)

    def BufferLoad(self, load: BufferLoad) -> BufferLoad:
        return self._access(load)

    def BufferStore(self, store: BufferStore) -> BufferStore:
        return self._access(store)

    def _access(self, access: Any) -> Any:
        changed = access.map_children(self)
        if changed is not access:
            indices = map_tuple(expand, changed.indices)
            if indices is not changed.indices:
                changed = changed.replace(indices=indices)
        buffer = self.buffer(access.buffer)
        return changed if buffer is access.buffer else changed.replace(buffer=buffer)
