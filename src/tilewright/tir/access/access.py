"""An access of memory: what, how, where, and what is around it."""

from __future__ import annotations

import enum
from typing import NamedTuple, TypeAlias

from tilewright.ir.expr import Call, Expr, Let, Var
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import BufferStore, For, LetStmt

Condition: TypeAlias = tuple[Expr, bool]
"""An expression, and whether its opposite holds."""

Definition: TypeAlias = "For | LetStmt | Let"
"""What gives a variable its values."""


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
            taken, too; the call, where it may be any element.
        kind: what it does.
        buffer: what is accessed.
        indices: where, one expression per dimension; empty for any element.
        definitions: of the variables that may have another value in each execution: the loops and
            definitions around it, the outermost first.
        conditions: that hold where it is made.
        is_certain: whether it is made in each iteration of the loops around in which the conditions
            hold; not so in a `while` loop.
        by_warp: whether the threads of a warp make it together, each a part that is not known.
        store: the store that it is, or whose value or place it is a part of.
    """

    node: BufferLoad | BufferStore | Call
    kind: AccessKind
    buffer: Buffer
    indices: tuple[Expr, ...]
    definitions: tuple[Definition, ...] = ()
    conditions: tuple[Condition, ...] = ()
    is_certain: bool = True
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

    @property
    def loops(self) -> tuple[For, ...]:
        """The loops around it, the outermost first."""
        return tuple(node for node in self.definitions if isinstance(node, For))

    def inside(self, *nodes: Definition) -> Access:
        """The access as it is seen from outside of loops and definitions, the outermost first."""
        return self._replace(definitions=(*nodes, *self.definitions))

    def where(self, *conditions: Condition) -> Access:
        """The access under more conditions."""
        return self._replace(conditions=(*conditions, *self.conditions))
