"""Rewriting what loop variables bind: only bindings and bounds mention them, never block bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import And, Expr, IntImm, Var, is_const_int
from tilewright.tir.stmt import BlockRealize, For, IfThenElse, SeqStmt, Stmt
from tilewright.tir.substitute import substitute, variables_of

TRUE = IntImm(BOOL, 1)


def rebind(stmt: Stmt, values: Mapping[Var, Expr], analyzer: Analyzer) -> Stmt:
    """`stmt` with loop variables replaced by expressions over new ones.

    Args:
        stmt: the body of the loops that disappear.
        values: what stands for each of their variables.
        analyzer: what is known about the new variables; loops inside of `stmt` are added to it.
    """

    def renewed(expr: Expr) -> Expr:
        if not any(var in values for var in variables_of(expr)):
            return expr
        return analyzer.simplify(substitute(expr, values))

    def visit(node: Any) -> Any:
        kind = node.__class__
        if kind is BlockRealize:
            return _rebound_block(node, renewed)
        if kind is For:
            low, size = renewed(node.min), renewed(node.extent)
            analyzer.bind_range(node.loop_var, low, size)
            body = visit(node.body)
            if low is node.min and size is node.extent and body is node.body:
                return node
            return node.replace(min=low, extent=size, body=body)
        if kind is SeqStmt:
            return node.map_children(visit)
        return substitute(node, values)

    return visit(stmt)


def _rebound_block(realize: BlockRealize, renewed: Callable[[Expr], Expr]) -> BlockRealize:
    values = tuple(map(renewed, realize.iter_values))
    predicate = renewed(realize.predicate)
    return realize.replace(iter_values=values, predicate=predicate)


def guarded(stmt: Stmt, condition: Expr) -> Stmt:
    """`stmt` whose blocks run where `condition` holds: it becomes a part of their predicates."""
    if isinstance(stmt, BlockRealize):
        return stmt.replace(predicate=conjunction(stmt.predicate, condition))
    if isinstance(stmt, (For, SeqStmt)):
        return stmt.map_children(
            lambda child: guarded(child, condition) if isinstance(child, Stmt) else child
        )
    return IfThenElse(condition, stmt)


def conjunction(*conditions: Expr) -> Expr:
    """All conditions joined, those left out that are the constant True."""
    result: Expr = TRUE
    for condition in conditions:
        if is_const_int(condition, 1):
            continue
        result = condition if is_const_int(result, 1) else And(result, condition)
    return result


def bind_loops(analyzer: Analyzer, loops: Mapping[Var, Expr], keep_unit: bool) -> None:
    """Make known that each variable counts from 0 to its extent.

    With `keep_unit`, loops of one iteration stay in bindings instead of being replaced by 0.
    """
    for var, extent in loops.items():
        if not (keep_unit and is_const_int(extent, 1)):
            analyzer.bind_range(var, 0, extent)
