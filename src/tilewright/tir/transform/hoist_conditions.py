"""Conditions that do not change in a loop move out of it.

Before::                                      After::

    for i in range(8):                            for i in range(8):
        for j in range(16):                           if i * 3 < n:
            if i * 3 < n and j < m:                       for j in range(16):
                S(i, j)                                       if j < m:
                                                                  S(i, j)

Predicates of tiles that stick out, and guards that let a part of a loop run once, then cost one
test instead of one per iteration.
"""

from __future__ import annotations

from functools import reduce

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
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For, IfThenElse, Stmt
from tilewright.tir.transform.analysis.ranges import conjuncts
from tilewright.tir.transform.building.statements import StatementRewriter


def hoist_conditions(func: PrimFunc) -> PrimFunc:
    """`func`, without blocks, with each condition as far outside as its variables allow."""
    body = _Hoisting()(func.body)
    return func if body is func.body else func.with_body(body)


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
