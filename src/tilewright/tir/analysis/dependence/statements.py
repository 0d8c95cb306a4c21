"""The statements of a program: their instances, and the loops that run them.

A statement is a block that contains no other block. An *instance* of it is the values of the
iterators of all blocks around it, outermost first, and of its own: these stay the same when loops
are transformed. What is outside of such blocks (a plain store) is named by its loops instead, so
nothing is known about it any more after they change.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.access import Condition
from tilewright.tir.buffer import Buffer, BufferRegion, Range
from tilewright.tir.stmt import Block, BlockRealize, For, IfThenElse, SeqStmt, Stmt

EFFECTS: Final = "effects"
"""Stands for the memory of calls that may do anything: they keep their order."""

ANYTHING: Final = "memory behind an unknown pointer"
"""Stands for memory that may be any other memory."""

Memory = Any
"""A pointer variable, `EFFECTS` or `ANYTHING`."""


class View(NamedTuple):
    """A buffer that is a part of another one, from `offsets` on."""

    source: Buffer
    offsets: tuple[Expr, ...]
    regular: bool
    """Whether dimensions of the view are the last dimensions of the source."""


class EnclosingBlocks(NamedTuple):
    """What enclosing blocks define for a statement.

    Attributes:
        iterators: the iterators that name an instance, outermost first.
        versions: for memory that an enclosing block allocates, the number of iterators that tell
            one allocation from another.
        views: the views that enclosing blocks make.
    """

    iterators: tuple[Var, ...]
    versions: Mapping[Memory, int]
    views: Mapping[Buffer, View]


def view_of(buffer: Buffer, source: BufferRegion) -> View:
    """The view `buffer` of a region."""
    lead = len(source.region) - len(buffer.shape)
    regular = lead >= 0 and all(
        getattr(item.extent, "value", None) == 1 for item in source.region[:lead]
    )
    return View(source.buffer, tuple(item.min for item in source.region), regular)


def layout_variables(view: Buffer) -> dict[Var, None]:
    """The variables that a view defines: nothing is known about them."""
    layout = (*view.shape, *view.strides, view.elem_offset)
    return {item: None for item in layout if isinstance(item, Var)}


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
        guards: conditions under which it runs.
        scope: what the variables in bindings and guards are; loops are dimensions l0, l1, ...
        around: what enclosing blocks define, and the iterators that name an instance.
        control: memory that conditions and bounds of loops depend on.
        problem: why its order is not known, or None.
        facts: what was found out about it.
    """

    stmt: Stmt
    name: str
    position: int
    path: tuple[Step, ...]
    loops: tuple[For, ...]
    domains: tuple[Range | None, ...]
    bindings: tuple[Expr, ...]
    guards: tuple[Condition, ...]
    scope: Mapping[Var, Any]
    around: EnclosingBlocks
    control: tuple[Memory, ...]
    problem: str | None
    facts: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def iterators(self) -> tuple[Var, ...]:
        """What names an instance: block iterators, outermost first."""
        return self.around.iterators

    @property
    def block(self) -> Block | None:
        """The block; None for what is outside of blocks."""
        return self.stmt if isinstance(self.stmt, Block) else None

    def moved(self, path: tuple[Step, ...], position: int) -> Statement:
        """The same statement in another program, where nothing but the path to it differs.

        What is known about it, such as its signature, goes with it.
        """
        other = Statement.__new__(Statement)
        fields = other.__dict__
        fields["signature"] = self.signature
        fields.update(self.__dict__)
        fields["path"], fields["position"] = path, position
        return other

    @functools.cached_property
    def signature(self) -> tuple[Any, ...]:
        """What decides when its instances run within the loops around it.

        Signatures of statements of two functions that both exist can be compared.
        """
        return (
            tuple((id(x.loop_var), _identity(x.min), _identity(x.extent)) for x in self.loops),
            tuple(map(_identity, self.bindings)),
            tuple((_identity(guard.expr), guard.negated) for guard in self.guards),
            tuple(map(id, self.iterators)),
            tuple((id(v), id(value)) for v, value in self.scope.items() if isinstance(value, Expr)),
            self.problem,
        )

    @functools.cached_property
    def levels(self) -> tuple[Level, ...]:
        """The loops in terms of the blocks that they belong to, outermost first."""
        found: list[Level] = []
        named = list(zip(self.iterators, self.domains, self.bindings, strict=True))
        builder = _LevelBuilder()
        for step in self.path:
            if isinstance(step.node, For):
                builder.loops.append(step.node)
            elif isinstance(step.node, BlockRealize):
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
        """Take in a step that is neither a loop nor a block."""
        node = step.node
        if isinstance(node, IfThenElse):
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
    for a, b in zip(first.loops, second.loops, strict=False):
        if a is not b:
            break
        loops += 1
    return Shared(loops, (first.position > second.position) - (first.position < second.position))
