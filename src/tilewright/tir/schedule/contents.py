"""What is in a block, remembered for the same block: every version of a program asks for it."""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.ir.expr import Let, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.dependence.recent import Recent
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, For, LetStmt


class Contents(NamedTuple):
    """The nodes below a block.

    Attributes:
        loads: all loads.
        bound: the variables that loops and `let` inside of the block bind.
        has_blocks: whether there are blocks among them.
        memory: the pointers of the buffers that are accessed, and those that are mentioned.
    """

    loads: tuple[BufferLoad, ...]
    bound: frozenset[Var]
    has_blocks: bool
    memory: frozenset[Var]


_CONTENTS: Final[Recent[Contents]] = Recent(4096)


def contents(block: Block) -> Contents:
    """What is in `block`."""
    return _CONTENTS.get(block, None, lambda: _contents(block))


def _contents(block: Block) -> Contents:
    loads: list[BufferLoad] = []
    bound: set[Var] = set()
    memory: set[Var] = set()
    has_blocks = False
    for node in walk(block):
        if isinstance(node, (BufferLoad, BufferStore)):
            memory.add(node.buffer.data)
            if isinstance(node, BufferLoad):
                loads.append(node)
        elif isinstance(node, Var):
            if node.dtype.is_handle:
                memory.add(node)
        elif isinstance(node, For):
            bound.add(node.loop_var)
        elif isinstance(node, (Let, LetStmt)):
            bound.add(node.var)
        elif isinstance(node, BlockRealize):
            has_blocks = True
    return Contents(tuple(loads), frozenset(bound), has_blocks, frozenset(memory))
