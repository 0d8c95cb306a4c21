"""From a function to its statements: a walk through loops and blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tilewright.ir.cache import LRUCache
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.node import Node
from tilewright.ir.rewrite import NodeMethods
from tilewright.tir.access import Condition, start_conditions
from tilewright.tir.analysis.dependence.statements import (
    EnclosingBlocks,
    Memory,
    Statement,
    Step,
    View,
    view_of,
)
from tilewright.tir.buffer import Buffer, BufferLoad, Range
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    AttrStmt,
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)

_FOUND: Final[LRUCache[list[Statement]]] = LRUCache(1024)
"""The statements below what stands in the outermost block."""


def statements_of(func: PrimFunc, sizes: Mapping[Var, Var]) -> tuple[Statement, ...]:
    """The statements of a function, in the order of its text.

    `sizes` are variables that are other names of a size.
    """
    walker = _Walker(sizes)
    walker.visit(func.body)
    return tuple(walker.found)


class _Walker(NodeMethods):
    """Walks the tree of loops and blocks."""

    def __init__(self, sizes: Mapping[Var, Var]) -> None:
        self.found: list[Statement] = []
        self.path: list[Step] = []
        self.loops: list[For] = []
        """Those on the path."""
        self.iterators: list[tuple[Var, Range | None, Expr]] = []
        self.named_by = 0
        """Loops whose variables an enclosing block has bound to its iterators."""
        self.guards: list[Condition] = []
        self.scope: dict[Var, Any] = dict(sizes)
        self.versions: dict[Memory, int] = {}
        self.views: dict[Buffer, View] = {}
        self.control: list[Memory] = []
        self.problem: str | None = None
        self._has_blocks: dict[Stmt, bool] = {}

    def visit(self, stmt: Stmt) -> None:
        """Find the statements below `stmt`."""
        if not self._contains_block(stmt):
            if not (isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)):
                self._add_plain(stmt)
            return
        hook = self._hooks.get(stmt.__class__)
        if hook is not None:
            hook(self, stmt)
            return
        for branch, item in enumerate(stmt.children()):
            if isinstance(item, Stmt):
                with self._step(stmt, branch):
                    self.visit(item)

    def _contains_block(self, stmt: Stmt) -> bool:
        while isinstance(stmt, For):
            stmt = stmt.body
        if isinstance(stmt, BlockRealize):
            return True
        if isinstance(stmt, (BufferStore, Evaluate)):
            return False
        known = self._has_blocks.get(stmt)
        if known is None:
            known = any(
                isinstance(item, Stmt) and self._contains_block(item) for item in stmt.children()
            )
            self._has_blocks[stmt] = known
        return known

    @contextmanager
    def _step(self, node: Stmt, branch: int = 0) -> Iterator[None]:
        self.path.append(Step(node, branch))
        yield
        self.path.pop()

    @contextmanager
    def _bound(self, values: Mapping[Var, Any]) -> Iterator[None]:
        """Within the scope, variables are what `values` says."""
        before = self.scope
        self.scope = {**before, **values}
        yield
        self.scope = before

    @contextmanager
    def _where(self, *conditions: Condition) -> Iterator[None]:
        """Within the scope, statements run only where the conditions hold."""
        kept = [condition for condition in conditions if not _always_holds(condition)]
        for condition in kept:
            self._depend(condition.expr)
        self.guards += kept
        yield
        del self.guards[len(self.guards) - len(kept) :]

    @contextmanager
    def _unknown(self, problem: str) -> Iterator[None]:
        """Within the scope, nothing is known about the order."""
        before, self.problem = self.problem, self.problem or problem
        yield
        self.problem = before

    def _depend(self, expr: Node) -> None:
        """Note which memory `expr` reads: it decides what runs."""
        stack = [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, (IntImm, Var)):
                continue
            stack += node.children()
            if isinstance(node, BufferLoad):
                view = self.views.get(node.buffer)
                while view is not None and view.source in self.views:
                    view = self.views[view.source]
                self.control.append((node.buffer if view is None else view.source).data)

    # --- statements with blocks inside ------------------------------------------------------

    def For(self, loop: For) -> None:
        count, depth, above = len(self.control), len(self.loops), len(self.path)
        before = self.scope
        stmt: Any = loop
        scope = self.scope = dict(before)
        while stmt.__class__ is For:
            self._depend(stmt.min)
            self._depend(stmt.extent)
            scope[stmt.loop_var] = f"l{len(self.loops)}"
            self.loops.append(stmt)
            self.path.append(Step(stmt, 0))
            stmt = stmt.body
        self.visit(stmt)
        del self.path[above:], self.loops[depth:], self.control[count:]
        self.scope = before

    def SeqStmt(self, stmt: SeqStmt) -> None:
        is_outermost = self._is_outermost()
        for branch, item in enumerate(stmt.seq):
            self.path.append(Step(stmt, branch))
            if is_outermost:
                self._outermost(item)
            else:
                self.visit(item)
            self.path.pop()

    def _is_outermost(self) -> bool:
        """Whether nothing around the current place matters for the statements below it."""
        return not (
            self.scope or self.views or self.guards or self.control or self.problem
        ) and all(isinstance(step.node, (BlockRealize, Block)) for step in self.path)

    def _outermost(self, stmt: Stmt) -> None:
        """Find the statements below `stmt`, which are known if another program had it, too."""
        below = len(self.path)

        def find() -> list[Statement]:
            count = len(self.found)
            self.visit(stmt)
            found = self.found[count:]
            del self.found[count:]
            return found

        path = tuple(self.path)
        for statement in _FOUND.get((id(stmt), below), stmt, find):
            self.found.append(statement.moved((*path, *statement.path[below:]), len(self.found)))

    def IfThenElse(self, stmt: IfThenElse) -> None:
        count = len(self.control)
        with self._step(stmt), self._where(Condition(stmt.condition)):
            self.visit(stmt.then_case)
        if stmt.else_case is not None:
            with self._step(stmt, 1), self._where(Condition(stmt.condition, True)):
                self.visit(stmt.else_case)
        del self.control[count:]

    def LetStmt(self, stmt: LetStmt) -> None:
        count = len(self.control)
        self._depend(stmt.value)
        with self._bound({stmt.var: stmt.value}), self._step(stmt):
            self.visit(stmt.body)
        del self.control[count:]

    def While(self, stmt: While) -> None:
        with self._unknown("it is in a `while` loop"), self._step(stmt):
            self._depend(stmt.condition)
            self.visit(stmt.body)

    def AttrStmt(self, stmt: AttrStmt) -> None:
        if isinstance(stmt.node, IterVar):
            problem = f"it is run by threads, {stmt.node.var.name}"
            with self._bound({stmt.node.var: None}), self._unknown(problem), self._step(stmt):
                self.visit(stmt.body)
        else:
            with self._step(stmt):
                self.visit(stmt.body)

    def BlockRealize(self, realize: BlockRealize) -> None:
        count = len(self.control)
        for value in realize.iter_values:
            self._depend(value)
        if is_const_int(realize.predicate, 1):
            self._realized(realize)
        else:
            with self._where(Condition(realize.predicate)):
                self._realized(realize)
        del self.control[count:]

    def _realized(self, realize: BlockRealize) -> None:
        block, named = realize.block, len(self.iterators)
        before = self.scope
        self.scope = dict(before)
        for item, value in zip(block.iter_vars, realize.iter_values, strict=True):
            self.iterators.append((item.var, item.dom, value))
            self.scope[item.var] = value
        self.path.append(Step(realize, 0))
        self._enter(block)
        self.path.pop()
        self.scope = before
        del self.iterators[named:]

    def _enter(self, block: Block) -> None:
        parts = [part for part in (block.init, block.body) if part is not None]
        if not any(map(self._contains_block, parts)):
            self._add(block, block.name_hint, [])
            return
        before = self.named_by
        self.named_by = len(self.loops)
        for buffer in block.alloc_buffers:
            self.versions[buffer.data] = len(self.iterators)
        for match in block.match_buffers:
            self.views[match.buffer] = view_of(match.buffer, match.source)
        if block.init is not None:
            with self._step(block), self._where(*start_conditions(block.iter_vars)):
                self.visit(block.init)
        with self._step(block, 1):
            self.visit(block.body)
        self.named_by = before

    # --- leaves -----------------------------------------------------------------------------

    def _add_plain(self, stmt: Stmt) -> None:
        """Add what is outside of blocks; loop variables stand for iterators."""
        loops = self.loops[self.named_by :]
        named = [(x.loop_var, Range.from_min_extent(x.min, x.extent), x.loop_var) for x in loops]
        self._add(stmt, f"a statement outside of blocks ({type(stmt).__name__})", named)

    def _add(self, stmt: Stmt, name: str, more: Sequence[tuple[Var, Range | None, Expr]]) -> None:
        named = [*self.iterators, *more]
        around = EnclosingBlocks(tuple(n[0] for n in named), dict(self.versions), dict(self.views))
        self.found.append(
            Statement(
                stmt,
                name,
                len(self.found),
                tuple(self.path),
                tuple(self.loops),
                tuple(n[1] for n in named),
                tuple(n[2] for n in named),
                tuple(self.guards),
                self.scope,
                around,
                tuple(dict.fromkeys(self.control)),
                self.problem,
            )
        )


def _always_holds(condition: Condition) -> bool:
    expr = condition.expr
    return isinstance(expr, IntImm) and bool(expr.value) is not condition.negated
