"""What block iterators are bound to, and rewriting it.

Only bindings and bounds mention loop variables, never the bodies of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import And, Expr, IntImm, Var, is_const_int
from tilewright.ir.node import Node
from tilewright.tir.buffer import BufferLoad, Range
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import BlockRealize, BufferStore, For, IfThenElse, SeqStmt, Stmt
from tilewright.tir.substitute import Substitution, substitute, variables_of

TRUE = IntImm(BOOL, 1)


def reads_memory(*exprs: Node) -> bool:
    """Whether any of the expressions depends on what is in a buffer."""
    stack = list(exprs)
    while stack:
        node = stack.pop()
        if isinstance(node, BufferLoad):
            return True
        stack += node.children()
    return False


def bindings_of(realize: BlockRealize) -> dict[Var, Expr]:
    """What each iterator of a block is bound to."""
    iterators = realize.block.iter_vars
    return {v.var: value for v, value in zip(iterators, realize.iter_values, strict=True)}


def bound_values(realize: BlockRealize, *, reduction: bool) -> list[Expr]:
    """What the reduction iterators of a block are bound to, or all others."""
    return [
        value
        for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if (item.iter_type is IterType.COMM_REDUCE) is reduction
    ]


def mentioned(exprs: Iterable[Expr]) -> set[Var]:
    """The variables that any of the expressions mention."""
    return {var for expr in exprs for var in variables_of(expr)}


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
    """`stmt` whose blocks run where `condition` holds: it becomes a part of their predicates.

    What is read to find out whether a block runs is read where `condition` holds, too.
    """
    if isinstance(stmt, BlockRealize) and not reads_memory(stmt.predicate, *stmt.iter_values):
        return stmt.replace(predicate=conjunction(stmt.predicate, condition))
    if isinstance(stmt, SeqStmt) or (
        isinstance(stmt, For) and not reads_memory(stmt.min, stmt.extent)
    ):
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


def reindexed(root: Any, variables: Mapping[Var, Expr], analyzer: Analyzer) -> Any:
    """`root` with variables replaced, and indices that change simplified."""
    return _Reindexing(variables, analyzer)(root)


class _Reindexing(Substitution):
    def __init__(self, variables: Mapping[Var, Expr], analyzer: Analyzer) -> None:
        super().__init__(variables)
        self._simplify = analyzer.simplify

    def _indexed(self, access: Any, changed: Any) -> Any:
        if changed is access:
            return access
        pairs = zip(changed.indices, access.indices, strict=True)
        return changed.replace(indices=tuple(n if n is o else self._simplify(n) for n, o in pairs))

    def BufferLoad(self, load: BufferLoad) -> Any:
        return self._indexed(load, self._use(load))

    def BufferStore(self, store: BufferStore) -> Any:
        return self._indexed(store, self._use(store))

    def Range(self, item: Range) -> Any:
        changed = item.map_children(self)
        if changed is item:
            return item
        return Range.from_min_extent(self._simplify(changed.min), self._simplify(changed.extent))
