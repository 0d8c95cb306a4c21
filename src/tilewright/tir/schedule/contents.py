"""What is in a statement, remembered: the versions of a program have most statements in common.

And what a function says about its sizes: none is negative, and what it assumes or asserts holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeGuard

from tilewright.ir.cache import LRUCache
from tilewright.ir.expr import Expr, IntImm, Let, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.tir.access import assumed_condition
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    AssertStmt,
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    LetStmt,
    SeqStmt,
    Stmt,
)


class Contents(NamedTuple):
    """The nodes below a block.

    Attributes:
        loads: all loads.
        bound: the variables that loops and `let` inside of the block bind.
        has_blocks: whether there are blocks among them.
    """

    loads: tuple[BufferLoad, ...]
    bound: frozenset[Var]
    has_blocks: bool


_CONTENTS: Final[LRUCache[Contents]] = LRUCache(4096)


def contents(block: Block) -> Contents:
    """What is in `block`."""
    return _CONTENTS.get(block, None, lambda: _contents(block))


def _contents(block: Block) -> Contents:
    loads: list[BufferLoad] = []
    bound: set[Var] = set()
    has_blocks = False
    for node in walk(block):
        if isinstance(node, BufferLoad):
            loads.append(node)
        elif isinstance(node, For):
            bound.add(node.loop_var)
        elif isinstance(node, (Let, LetStmt)):
            bound.add(node.var)
        elif isinstance(node, BlockRealize):
            has_blocks = True
    return Contents(tuple(loads), frozenset(bound), has_blocks)


# --- memory -------------------------------------------------------------------------------------


class Mentioned(NamedTuple):
    """The pointers of the memory that a statement mentions, by buffers or as they are.

    Attributes:
        anywhere: those of all nodes below it.
        outside: those of the nodes that are outside of blocks.
    """

    anywhere: frozenset[Var]
    outside: frozenset[Var]


_MENTIONED: Final[LRUCache[Mentioned]] = LRUCache(8192)


def memory_in(stmt: Stmt) -> Mentioned:
    """The memory that `stmt` mentions."""
    while _is_plain_loop(stmt):  # which mentions what its body does
        stmt = stmt.body
    return _MENTIONED.get(stmt, None, lambda: _memory_in(stmt))


def _is_plain_loop(stmt: Stmt) -> TypeGuard[For]:
    """Whether `stmt` is a loop of its own whose bounds are numbers."""
    return (
        isinstance(stmt, For)
        and isinstance(stmt.min, IntImm)
        and isinstance(stmt.extent, IntImm)
        and stmt.thread_binding is None
    )


def _memory_in(stmt: Stmt) -> Mentioned:
    anywhere: set[Var] = set()
    outside: set[Var] = set()
    _note(stmt, outside)
    for child in stmt.children():
        if isinstance(child, Stmt):
            inside = memory_in(child)
            anywhere |= inside.anywhere
            outside |= inside.outside
        else:
            _note_all(child, outside)
    anywhere |= outside
    return Mentioned(
        frozenset(anywhere), frozenset() if isinstance(stmt, Block) else frozenset(outside)
    )


def _note_all(node: Any, found: set[Var]) -> None:
    """Note the memory that a node and the nodes below it mention."""
    kind = node.__class__
    if kind is IntImm:
        return
    if kind is not Var or node.dtype.is_handle:
        _note(node, found)
        for child in node.children():
            _note_all(child, found)


def _note(node: Any, found: set[Var]) -> None:
    buffer = getattr(node, "buffer", None)
    if buffer is not None:
        found.add(buffer.data)
    elif isinstance(node, Var) and node.dtype.is_handle:
        found.add(node)


def nodes_about(root: Stmt, buffer: Buffer) -> Iterator[Node]:
    """The nodes below `root`, without statements that do not mention the memory of `buffer`.

    Constants are left out, too.
    """
    data = buffer.data
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Stmt):
            while _is_plain_loop(node):
                yield node
                node = node.body
            if data not in memory_in(node).anywhere:
                continue
        yield node
        stack += [child for child in reversed(node.children()) if child.__class__ is not IntImm]


def accesses_outside_of_blocks(stmt: Any) -> bool:
    """Whether `stmt` accesses memory, or calls something, outside of the blocks in it."""
    while stmt.__class__ is For:
        if _loads(stmt.min) or _loads(stmt.extent):
            return True
        stmt = stmt.body
    if isinstance(stmt, BlockRealize):
        return False
    if isinstance(stmt, BufferStore):
        return True
    if isinstance(stmt, Evaluate):
        assumed = assumed_condition(stmt)
        return not isinstance(stmt.value, IntImm) if assumed is None else _loads(assumed)
    return any(
        accesses_outside_of_blocks(child) if isinstance(child, Stmt) else _loads(child)
        for child in stmt.children()
    )


def _loads(node: Node) -> bool:
    return node.__class__ is not IntImm and any(isinstance(n, BufferLoad) for n in walk(node))


def sizes_not_negative(func: PrimFunc) -> list[Expr]:
    """Conditions that the extents of the function's arrays fulfil."""
    return [
        extent >= 0
        for buffer in func.buffer_map.values()
        for extent in buffer.shape
        if extent.__class__ is not IntImm
    ]


def assumptions(func: PrimFunc) -> Iterator[Expr]:
    """The conditions of `T.assume` and `assert` at the start of a function, ahead of its loops."""
    stmt: Any = func.body.block.body if isinstance(func.body, BlockRealize) else func.body
    while True:
        if isinstance(stmt, AssertStmt):
            yield stmt.condition
            stmt = stmt.body
        elif isinstance(stmt, SeqStmt):
            *first, stmt = stmt.seq
            for item in first:
                condition = assumed_condition(item)
                if condition is None:
                    return
                yield condition
        else:
            return
