"""Simpler expressions everywhere, under what the loops and branches around say."""

from __future__ import annotations

from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.arithmetic import logical_not
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import For, IfThenElse, Stmt, nop


def simplify(func: PrimFunc) -> PrimFunc:
    """`func` with simplified expressions, and without branches whose condition is constant then."""
    body = _Simplify()(func.body)
    return func if body is func.body else func.with_body(body)


class _Simplify(Rewriter):
    def __init__(self) -> None:
        self._analyzer = Analyzer()

    def __call__(self, node: Any) -> Any:
        return self._analyzer.simplify(node) if isinstance(node, Expr) else super().__call__(node)

    def For(self, loop: For) -> Stmt:
        self._analyzer.bind_range(loop.loop_var, loop.min, loop.extent)
        return loop.map_children(self)

    def IterVar(self, iterator: IterVar) -> IterVar:
        if iterator.dom is not None:
            self._analyzer.bind_range(iterator.var, iterator.dom.min, iterator.dom.extent)
        return iterator.map_children(self)

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        condition = self(stmt.condition)
        if isinstance(condition, IntImm):
            taken = stmt.then_case if condition.value else stmt.else_case
            return nop() if taken is None else self(taken)
        then_case = self._under(condition, stmt.then_case)
        else_case = stmt.else_case
        if else_case is not None:
            else_case = self._under(logical_not(condition), else_case)
        old = (stmt.condition, stmt.then_case, stmt.else_case)
        if all(a is b for a, b in zip(old, (condition, then_case, else_case), strict=True)):
            return stmt
        return stmt.replace(condition=condition, then_case=then_case, else_case=else_case)

    def _under(self, condition: Expr, stmt: Stmt) -> Stmt:
        """A statement that runs only if `condition` holds."""
        with self._analyzer.constraint(condition):
            return self(stmt)
