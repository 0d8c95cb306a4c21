"""An access of memory: what, how, where, and what is around it."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator
from typing import NamedTuple, TypeAlias

from tilewright.ir.convert import const
from tilewright.ir.expr import Call, Expr, Let, Var
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import IterVar
from tilewright.tir.stmt import AttrStmt, BlockRealize, BufferStore, For, LetStmt

Definition: TypeAlias = "For | LetStmt | Let | BlockRealize | AttrStmt"
"""What gives variables their values: a loop, a definition, an instance of a block, a thread."""


class Condition(NamedTuple):
    """An expression that decides.

    Attributes:
        expr: the expression.
        negated: whether its opposite holds.
        skips: whether what is under it does not run otherwise; not so for operands of a `Select`,
            of which one is not used.
    """

    expr: Expr
    negated: bool = False
    skips: bool = True


class Surroundings(NamedTuple):
    """What is around a place in a program.

    Attributes:
        definitions: of the variables that may have another value in each execution, the outermost
            first.
        conditions: that hold there.
        is_certain: whether each iteration of the loops comes there in which the conditions hold;
            not so in a `while` loop, or after a possible return.
    """

    definitions: tuple[Definition, ...] = ()
    conditions: tuple[Condition, ...] = ()
    is_certain: bool = True

    @property
    def loops(self) -> tuple[For, ...]:
        """The loops, the outermost first."""
        return tuple(node for node in self.definitions if isinstance(node, For))

    def inside(self, *nodes: Definition) -> Surroundings:
        """The same place, seen from outside of loops and definitions, the outermost first."""
        return self._replace(definitions=(*nodes, *self.definitions))

    def without(self, loops: Collection[For]) -> Surroundings:
        """The same place in iterations of some loops that are known by other means."""
        left_out = set(map(id, loops))
        others = tuple(node for node in self.definitions if id(node) not in left_out)
        return self._replace(definitions=others)

    def where(self, *conditions: Condition) -> Surroundings:
        """The same place, where more conditions hold."""
        return self._replace(conditions=(*conditions, *self.conditions))

    def in_block(self, realize: BlockRealize) -> Surroundings:
        """Inside of an instance of a block that runs at this place."""
        definitions, conditions, is_certain = self
        holds = Condition(realize.predicate)
        return Surroundings((*definitions, realize), (*conditions, holds), is_certain)


class Iteration(NamedTuple):
    """A variable and the values that it runs through.

    Attributes:
        var: of a loop, a thread or a block iterator.
        low: its first value.
        extent: number of values.
        binding: for a block iterator, its value in terms of the variables before it.
    """

    var: Var
    low: Expr
    extent: Expr
    binding: Expr | None = None


def iterations_of(node: Definition) -> Iterator[Iteration]:
    """The variables of a definition that run through values."""
    if isinstance(node, For):
        yield Iteration(node.loop_var, node.min, node.extent)
    elif isinstance(node, BlockRealize):
        for item, value in zip(node.block.iter_vars, node.iter_values, strict=False):
            if item.dom is not None:
                yield Iteration(item.var, item.dom.min, item.dom.extent, value)
    elif isinstance(node, AttrStmt) and isinstance(node.node, IterVar):
        var = node.node.var
        yield Iteration(var, const(0, var.dtype), node.value)


class AccessKind(enum.Enum):
    """What an access does with an element."""

    READ = "reads"
    WRITE = "writes"
    UPDATE = "updates"
    """An atomic addition, which others may do at the same time."""
    ADDRESS = "takes the address of"


class Access(NamedTuple):
    """One place in a program that accesses elements of a buffer.

    Attributes:
        node: the load or store; a load stands for an element that is updated, or whose address is
            taken, too; the call, where it may be any element; the block that declares it.
        kind: what it does.
        buffer: what is accessed.
        indices: where, one expression per dimension; empty for any element.
        around: what is around it.
        extents: number of elements from the indices on, per dimension, if a block declares a box.
        by_warp: whether the threads of a warp make it together, each a part that is not known.
        store: the store that it is, or whose value or place it is a part of.
    """

    node: BufferLoad | BufferStore | Call | BlockRealize
    kind: AccessKind
    buffer: Buffer
    indices: tuple[Expr, ...]
    around: Surroundings
    extents: tuple[Expr, ...] | None = None
    by_warp: bool = False
    store: BufferStore | None = None

    @property
    def memory(self) -> Var:
        """The pointer to what is accessed."""
        return self.buffer.data

    @property
    def is_write(self) -> bool:
        """Whether it changes the element."""
        return self.kind is AccessKind.WRITE or self.kind is AccessKind.UPDATE

    @property
    def is_atomic(self) -> bool:
        """Whether others may do the same at the same time."""
        return self.kind is AccessKind.UPDATE

    def inside(self, *nodes: Definition) -> Access:
        """The access as it is seen from outside of loops and definitions, the outermost first."""
        return self._replace(around=self.around.inside(*nodes))

    def without(self, loops: Collection[For]) -> Access:
        """The access in iterations of some loops that are known by other means."""
        return self._replace(around=self.around.without(loops))

    def where(self, *conditions: Condition) -> Access:
        """The access under more conditions."""
        return self._replace(around=self.around.where(*conditions))
