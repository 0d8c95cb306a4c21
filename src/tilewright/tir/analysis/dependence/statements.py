"""The statements of a program: their instances, and the loops that run them.

A statement is a block that contains no other block. An *instance* of it is the values of the
iterators of all blocks around it, outermost first, and of its own: these stay the same when loops
are transformed. What is outside of such blocks (a plain store) is named by its loops instead, so
nothing is known about it any more after they change.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.dependence.accesses import (
    Memory,
    Surroundings,
    View,
    start_conditions,
    view_of,
)
from tilewright.tir.buffer import Buffer, BufferLoad, Range
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    AttrStmt,
    Block,
    BlockRealize,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)


class Step(NamedTuple):
    """One step on the way from the root of a function to a statement."""

    node: Stmt
    branch: int
    """Which part of `node` the way goes through; parts run in the order of their numbers."""


@dataclass(frozen=True, eq=False)
class Statement:
    """A leaf of the tree of loops and blocks.

    Attributes:
        stmt: the block, or what is outside of blocks.
        name: for printing.
        position: its number in the text of the program.
        path: the way from the root.
        loops: the loops around it, outermost first.
        domains: the domain of each iterator.
        bindings: the value of each iterator, in terms of loop variables and outer iterators.
        guards: conditions under which it runs; a flag tells that the opposite must hold.
        scope: what the variables in bindings and guards are; loops are dimensions l0, l1, ...
        around: what enclosing blocks define, and the iterators that name an instance.
        control: memory that conditions and bounds of loops depend on.
        problem: why its order is not known, or None.
    """

    stmt: Stmt
    name: str
    position: int
    path: tuple[Step, ...]
    loops: tuple[For, ...]
    domains: tuple[Range | None, ...]
    bindings: tuple[Expr, ...]
    guards: tuple[tuple[Expr, bool], ...]
    scope: Mapping[Var, Any]
    around: Surroundings
    control: tuple[Memory, ...]
    problem: str | None

    @property
    def iterators(self) -> tuple[Var, ...]:
        """What names an instance: block iterators, outermost first."""
        return self.around.iterators

    @property
    def block(self) -> Block | None:
        """The block; None for what is outside of blocks."""
        return self.stmt if isinstance(self.stmt, Block) else None

    @functools.cached_property
    def signature(self) -> tuple[Any, ...]:
        """What decides when its instances run within the loops around it.

        Signatures of statements of two functions that both exist can be compared.
        """
        return (
            tuple((id(x.loop_var), _identity(x.min), _identity(x.extent)) for x in self.loops),
            tuple(map(_identity, self.bindings)),
            tuple((_identity(condition), negated) for condition, negated in self.guards),
            tuple(map(id, self.iterators)),
            self.problem,
        )

    @functools.cached_property
    def levels(self) -> tuple[Level, ...]:
        """The loops in terms of the blocks that they belong to, outermost first."""
        found: list[Level] = []
        named = list(zip(self.iterators, self.domains, self.bindings, strict=True))
        builder = _LevelBuilder()
        for step in self.path:
            if isinstance(step.node, BlockRealize):
                count = len(step.node.iter_values)
                found.append(builder.level(named[:count], step.node.predicate))
                named, builder = named[count:], _LevelBuilder()
            else:
                builder.add(step)
        if self.block is None:
            found.append(builder.level(named, const(True)))
        return tuple(found)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(v.name for v in self.iterators)})"


def _identity(expr: Expr) -> object:
    """Equal for the same expression, and for equal constants."""
    return expr.value if isinstance(expr, IntImm) else (id(expr),)


class Level(NamedTuple):
    """The loops between a block and the block around it, which decide its own iterators.

    Attributes:
        loops: outermost first.
        iterators: those of the inner block.
        domains: of the iterators.
        bindings: the values of the iterators.
        predicate: the conditions for running the block that are plain expressions.
        is_conditional: whether there is more that decides what runs.
        signature: equal for levels of two functions that run the same.
    """

    loops: tuple[For, ...]
    iterators: tuple[Var, ...]
    domains: tuple[Range | None, ...]
    bindings: tuple[Expr, ...]
    predicate: Expr
    is_conditional: bool
    signature: tuple[Any, ...]


class _LevelBuilder:
    """Gathers what is between two blocks."""

    def __init__(self) -> None:
        self.loops: list[For] = []
        self.conditions: list[Expr] = []
        self.more: list[object] = []

    def add(self, step: Step) -> None:
        node = step.node
        if isinstance(node, For):
            self.loops.append(node)
        elif isinstance(node, IfThenElse):
            if step.branch == 0:
                self.conditions.append(node.condition)
            else:
                self.more.append(("else", id(node.condition)))
        elif isinstance(node, Block):
            if step.branch == 0 and node.init is not None:
                self.more.append(("init", *map(id, node.iter_vars)))
        elif not isinstance(node, SeqStmt):
            self.more.append(id(node))

    def level(self, named: Sequence[tuple[Var, Range | None, Expr]], predicate: Expr) -> Level:
        """The level down to a block with these iterators."""
        conditions = [*self.conditions, predicate]
        bindings = tuple(value for _, _, value in named)
        iterators = tuple(var for var, _, _ in named)
        signature = (
            tuple((id(x.loop_var), _identity(x.min), _identity(x.extent)) for x in self.loops),
            tuple(map(id, iterators)),
            tuple(map(_identity, bindings)),
            tuple(map(_identity, conditions)),
            tuple(self.more),
        )
        domains = tuple(domain for _, domain, _ in named)
        whole = functools.reduce(logical_and, conditions)
        loops, more = tuple(self.loops), bool(self.more)
        return Level(loops, iterators, domains, bindings, whole, more, signature)


class Shared(NamedTuple):
    """How the ways to two statements of one function compare.

    Attributes:
        loops: how many loops are around both.
        order: -1 if the first comes first within one iteration of these loops, 1 if it comes
            second, 0 for a statement and itself.
    """

    loops: int
    order: int


def shared_way(first: Statement, second: Statement) -> Shared:
    """How far two statements of one function share their way from the root."""
    loops = 0
    for a, b in zip(first.path, second.path, strict=False):
        if a.branch != b.branch:
            return Shared(loops, -1 if a.branch < b.branch else 1)
        loops += isinstance(a.node, For)
    return Shared(loops, 0)


def statements_of(func: PrimFunc, sizes: Mapping[Var, Var]) -> tuple[Statement, ...]:
    """The statements of a function, in the order of its text.

    Args:
        func: the function.
        sizes: variables that are other names of a size.
    """
    walker = _Walker(sizes)
    walker.visit(func.body)
    return tuple(walker.found)


class _Walker:
    """Walks the tree of loops and blocks."""

    def __init__(self, sizes: Mapping[Var, Var]) -> None:
        self.found: list[Statement] = []
        self.path: list[Step] = []
        self.iterators: list[tuple[Var, Range | None, Expr]] = []
        self.named_by = 0
        """Loops whose variables an enclosing block has bound to its iterators."""
        self.guards: list[tuple[Expr, bool]] = []
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
        handler = _HANDLERS.get(stmt.__class__)
        if handler is not None:
            handler(self, stmt)
            return
        for branch, item in enumerate(stmt.children()):
            if isinstance(item, Stmt):
                with self._step(stmt, branch):
                    self.visit(item)

    def _contains_block(self, stmt: Stmt) -> bool:
        known = self._has_blocks.get(stmt)
        if known is None:
            known = isinstance(stmt, BlockRealize) or any(
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
    def _where(self, *conditions: tuple[Expr, bool]) -> Iterator[None]:
        """Within the scope, statements run only where the conditions hold."""
        kept = [c for c in conditions if not (isinstance(c[0], IntImm) and c[0].value and not c[1])]
        for condition, _ in kept:
            self._depend(condition)
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
        for node in walk(expr):
            if isinstance(node, BufferLoad):
                view = self.views.get(node.buffer)
                while view is not None and view.source in self.views:
                    view = self.views[view.source]
                self.control.append((node.buffer if view is None else view.source).data)

    # --- statements with blocks inside ------------------------------------------------------

    def loop(self, loop: For) -> None:
        count = len(self.control)
        self._depend(loop.min)
        self._depend(loop.extent)
        self.scope[loop.loop_var] = f"l{sum(isinstance(s.node, For) for s in self.path)}"
        with self._step(loop):
            self.visit(loop.body)
        del self.control[count:]

    def sequence(self, stmt: SeqStmt) -> None:
        for branch, item in enumerate(stmt.seq):
            with self._step(stmt, branch):
                self.visit(item)

    def branch(self, stmt: IfThenElse) -> None:
        count = len(self.control)
        with self._step(stmt), self._where((stmt.condition, False)):
            self.visit(stmt.then_case)
        if stmt.else_case is not None:
            with self._step(stmt, 1), self._where((stmt.condition, True)):
                self.visit(stmt.else_case)
        del self.control[count:]

    def let(self, stmt: LetStmt) -> None:
        count = len(self.control)
        self._depend(stmt.value)
        self.scope[stmt.var] = stmt.value
        with self._step(stmt):
            self.visit(stmt.body)
        del self.control[count:]

    def while_loop(self, stmt: While) -> None:
        with self._unknown("it is in a `while` loop"), self._step(stmt):
            self._depend(stmt.condition)
            self.visit(stmt.body)

    def attribute(self, stmt: AttrStmt) -> None:
        if isinstance(stmt.node, IterVar):
            self.scope[stmt.node.var] = None
            with self._unknown(f"it is run by threads, {stmt.node.var.name}"), self._step(stmt):
                self.visit(stmt.body)
        else:
            with self._step(stmt):
                self.visit(stmt.body)

    def realize(self, realize: BlockRealize) -> None:
        block, count = realize.block, len(self.control)
        for value in realize.iter_values:
            self._depend(value)
        with self._where((realize.predicate, False)):
            pairs = list(zip(block.iter_vars, realize.iter_values, strict=True))
            self.iterators += [(item.var, item.dom, value) for item, value in pairs]
            self.scope.update((item.var, value) for item, value in pairs)
            with self._step(realize):
                self._enter(block)
            del self.iterators[len(self.iterators) - len(pairs) :]
        del self.control[count:]

    def _enter(self, block: Block) -> None:
        parts = [part for part in (block.init, block.body) if part is not None]
        if not any(map(self._contains_block, parts)):
            self._add(block, block.name_hint, [])
            return
        before = self.named_by
        self.named_by = sum(isinstance(step.node, For) for step in self.path)
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
        loops = [s.node for s in self.path if isinstance(s.node, For)][self.named_by :]
        named = [(x.loop_var, Range(x.min, x.extent), x.loop_var) for x in loops]
        self._add(stmt, f"a statement outside of blocks ({type(stmt).__name__})", named)

    def _add(self, stmt: Stmt, name: str, more: Sequence[tuple[Var, Range | None, Expr]]) -> None:
        named = [*self.iterators, *more]
        around = Surroundings(tuple(n[0] for n in named), dict(self.versions), dict(self.views))
        self.found.append(
            Statement(
                stmt,
                name,
                len(self.found),
                tuple(self.path),
                tuple(step.node for step in self.path if isinstance(step.node, For)),
                tuple(n[1] for n in named),
                tuple(n[2] for n in named),
                tuple(self.guards),
                dict(self.scope),
                around,
                tuple(dict.fromkeys(self.control)),
                self.problem,
            )
        )


_HANDLERS: Final[dict[type, Callable[[_Walker, Any], None]]] = {
    For: _Walker.loop,
    SeqStmt: _Walker.sequence,
    IfThenElse: _Walker.branch,
    LetStmt: _Walker.let,
    While: _Walker.while_loop,
    AttrStmt: _Walker.attribute,
    BlockRealize: _Walker.realize,
}
