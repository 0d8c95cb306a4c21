"""What a piece of a program does with memory, all together."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.ir.expr import Call, Var
from tilewright.tir.access.access import Access, Surroundings
from tilewright.tir.buffer import Buffer, BufferRegion
from tilewright.tir.stmt import BlockRealize


class PointerUse(NamedTuple):
    """A pointer that is used by other means than loads and stores.

    Attributes:
        pointer: the pointer.
        may_write: whether its memory may be written.
        around: what is around the use.
        is_named: whether it gets another name by a definition.
    """

    pointer: Var
    may_write: bool
    around: Surroundings
    is_named: bool = False


class AccessSummary(NamedTuple):
    """What a piece of a program does with memory.

    Attributes:
        accesses: loads, stores and the like, in the order of the program; a load comes before those
            of its indices, a store after all loads.
        bound: variables that loops and definitions in it bind.
        allocated: memory that it allocates.
        views: buffers on parts of others.
        calls: what may access memory by other means, such as functions of other languages.
        pointers: uses of pointers.
        blocks: instances of blocks, and what is around them.
    """

    accesses: list[Access]
    bound: set[Var]
    allocated: set[Var]
    views: dict[Buffer, BufferRegion]
    calls: list[Call]
    pointers: list[PointerUse]
    blocks: list[tuple[BlockRealize, Surroundings]]
