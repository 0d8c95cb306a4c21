"""Where the loops and blocks of a function are.

An edit leaves most of what stands in the outermost block as it is: what is known about the places
in it is taken over from the version before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from tilewright.ir.expr import IntImm, Var
from tilewright.tir.schedule.contents import memory_in
from tilewright.tir.stmt import (
    Block,
    BlockKey,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    LetStmt,
    SeqStmt,
    Stmt,
)

Parents = dict[Stmt, "Stmt | None"]


class StatementIndex:
    """What is in a statement.

    Attributes:
        parents: the statement around each one below.
        loops: the loops, itself included, in the order of the text.
        uncounted: those that are not known to have an iteration, or not how many.
        not_in_order: those that may run several iterations at once.
        lets: the statements that bind variables, by their variables.
        blocks: the realisations of blocks, in the order of the text.
        nearest: those of them that are in no other block inside of the statement.
        outer: those that other blocks are in.
    """

    __slots__ = (
        "_memory", "_stmt", "blocks", "lets", "loops", "nearest", "not_in_order", "outer",
        "parents", "uncounted",
    )  # fmt: skip

    def __init__(self, stmt: Stmt) -> None:
        self._stmt = stmt
        self._memory: frozenset[Var] | None = None
        self.parents: Parents = {}
        self.loops: dict[Var, For] = {}
        self.uncounted: list[For] = []
        self.not_in_order: list[For] = []
        self.lets: dict[Var, LetStmt] = {}
        self.blocks: dict[BlockKey | None, BlockRealize] = {}
        self._walk(stmt)
        self.nearest = nearest_blocks(stmt)
        self.outer: Sequence[BlockRealize] = ()
        if len(self.nearest) < len(self.blocks):
            self.outer = [outer for outer in self.blocks.values() if nearest_blocks(outer.block)]

    @property
    def memory(self) -> frozenset[Var]:
        """The pointers of the memory that the statement mentions."""
        if self._memory is None:
            self._memory = memory_in(self._stmt).anywhere
        return self._memory

    def _walk(self, root: Stmt) -> None:
        parents, loops, blocks, lets = self.parents, self.loops, self.blocks, self.lets
        stack: list[Any] = [root]
        while stack:
            stmt = stack.pop()
            kind = stmt.__class__
            if kind is For:
                loops[stmt.loop_var] = stmt
                if stmt.extent.__class__ is not IntImm or stmt.extent.value <= 0:
                    self.uncounted.append(stmt)
                # Most loops are serial; looking that up takes longer.
                if stmt.kind is not ForKind.SERIAL and not stmt.kind.is_in_order:
                    self.not_in_order.append(stmt)
                body = stmt.body
            elif kind is BlockRealize:
                blocks[stmt.block.key] = stmt
                body = stmt.block
            elif kind is Block:
                body = stmt.body
            elif kind is BufferStore or kind is Evaluate:
                continue
            else:
                if kind is LetStmt:
                    lets[stmt.var] = stmt
                children = [child for child in stmt.children() if isinstance(child, Stmt)]
                for child in reversed(children):
                    parents[child] = stmt
                    stack.append(child)
                continue
            parents[body] = stmt
            stack.append(body)


NO_PARTS: Final[Mapping[Stmt, StatementIndex]] = MappingProxyType({})


class TreeIndex:
    """The places of all statements of a function.

    Args:
        root: the realisation of the root block.
        known: parts of another version of the function; they are taken over where they are.

    Attributes:
        parents: the statement around each one.
        loops: the loops by their variables, in the order of the text.
        blocks: the realisations of blocks by their keys, in the order of the text.
        uncounted, not_in_order, lets: as in `StatementIndex`.
        parts: what the root block consists of.
    """

    __slots__ = ("blocks", "lets", "loops", "not_in_order", "parents", "parts", "uncounted")

    def __init__(self, root: Any, known: Mapping[Stmt, StatementIndex] = NO_PARTS) -> None:
        block = root.block
        body = block.body
        self.parents: Parents = {root: None, block: root, body: block}
        self.loops: dict[Var, For] = {}
        self.blocks: dict[BlockKey | None, BlockRealize] = {block.key: root}
        self.uncounted: list[For] = []
        self.not_in_order: list[For] = []
        self.lets: dict[Var, LetStmt] = {}
        self.parts: dict[Stmt, StatementIndex] = {}
        items = body.seq if body.__class__ is SeqStmt else (body,)
        for item in items:
            part = known.get(item) or StatementIndex(item)
            self.parts[item] = part
            if item is not body:
                self.parents[item] = body
            self.parents.update(part.parents)
            self.loops.update(part.loops)
            self.blocks.update(part.blocks)
            self.uncounted += part.uncounted
            self.not_in_order += part.not_in_order
            if part.lets:
                self.lets.update(part.lets)


def nearest_blocks(stmt: Stmt) -> list[BlockRealize]:
    """The blocks in `stmt` (or itself) that are in no other block in it, in order."""
    found: list[BlockRealize] = []
    _add_nearest(stmt, found)
    return found


def _add_nearest(stmt: Any, found: list[BlockRealize]) -> None:
    while stmt.__class__ is For:
        stmt = stmt.body
    kind = stmt.__class__
    if kind is BlockRealize:
        found.append(stmt)
    elif kind is Block:
        _add_nearest(stmt.body, found)
    elif kind is not BufferStore and kind is not Evaluate:
        for child in stmt.children():
            if isinstance(child, Stmt):
                _add_nearest(child, found)
