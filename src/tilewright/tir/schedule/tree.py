"""One version of a function that is being scheduled: where its loops and blocks are.

Statements are immutable, so an edit makes a new function that shares all but the way from the root
to what was edited. Loops are identified by their variables and blocks by their keys, which every
version keeps; the way from a statement to the root is looked up in an index made once per version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import takewhile
from types import MappingProxyType
from typing import Any, NamedTuple

from tilewright.arith import Analyzer
from tilewright.ir.expr import Var
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.contents import assumptions, sizes_not_negative
from tilewright.tir.schedule.tree_index import NO_PARTS, TreeIndex, nearest_blocks
from tilewright.tir.stmt import (
    Block,
    BlockKey,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    SeqStmt,
    Stmt,
    seq,
)


class Edit(NamedTuple):
    """What a primitive did.

    Attributes:
        func: the new version of the function.
        results: what the primitive returns to its user: a loop, a block, a number, or a list.
        recorded: arguments as the trace records them, where a user may pass what is not data, such
            as a function for an index map.
        by_construction: kinds of loops whose iterations are known to be independent, or to wait
            for each other, because of how the primitive has made them.
    """

    func: PrimFunc
    results: Any = None
    recorded: Mapping[str, Any] = MappingProxyType({})
    by_construction: Collection[ForKind] = ()


class FunctionTree:
    """A function with an index of its loops and blocks.

    Args:
        name: the name of the function in its module.
        func: the function; its body is the realisation of a root block.
        checked: whether primitives prove what they require; without, they trust their caller.
        before: an earlier version of it.

    Attributes:
        uncounted_loops: the loops that are not known to have an iteration, or not how many.
        loops_not_in_order: the loops that may run several iterations at once.
        lets: the statements that bind variables, by their variables.
    """

    __slots__ = (
        "_blocks", "_loops", "_parents", "_parts", "checked", "facts", "func", "lets",
        "loops_not_in_order", "name", "uncounted_loops",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        func: PrimFunc,
        checked: bool = True,
        before: FunctionTree | None = None,
    ) -> None:
        self.name = name
        self.func = func
        self.checked = checked
        self.facts: dict[Any, Any] = {}
        """Results of analyses of this version, by what they are about."""
        index = TreeIndex(func.body, NO_PARTS if before is None else before._parts)
        self._parents, self._parts = index.parents, index.parts
        self._loops, self._blocks = index.loops, index.blocks
        self.uncounted_loops, self.lets = index.uncounted, index.lets
        self.loops_not_in_order = index.not_in_order

    # --- looking up -------------------------------------------------------------------------

    @property
    def root(self) -> BlockRealize:
        """The realisation of the root block."""
        assert isinstance(self.func.body, BlockRealize)
        return self.func.body

    def __contains__(self, stmt: object) -> bool:
        return stmt in self._parents

    def loop(self, var: Var) -> For | None:
        """The loop over `var`, None if there is none any more."""
        return self._loops.get(var)

    def block(self, key: BlockKey) -> BlockRealize | None:
        """The realisation of the block with that key, None if there is none any more."""
        return self._blocks.get(key)

    def loops(self) -> list[For]:
        """All loops, in the order of the text."""
        return list(self._loops.values())

    def blocks(self) -> list[BlockRealize]:
        """All blocks, in the order of the text; the root block first."""
        return list(self._blocks.values())

    # --- above ------------------------------------------------------------------------------

    def parent(self, stmt: Stmt) -> Stmt | None:
        """The statement around `stmt`."""
        return self._parents[stmt]

    def ancestors(self, stmt: Stmt) -> Iterator[Stmt]:
        """The statements around `stmt`, the nearest first."""
        parents = self._parents
        above = parents[stmt]
        while above is not None:
            yield above
            above = parents[above]

    def scope(self, stmt: Stmt) -> BlockRealize:
        """The nearest block around `stmt` (around the block, if `stmt` is a block)."""
        if stmt.__class__ is Block:
            stmt = self.realize(stmt)  # type: ignore[arg-type]
        for above in self.ancestors(stmt):
            if above.__class__ is BlockRealize:
                return above  # type: ignore[return-value]
        raise KeyError("the root block is in no scope")

    def loops_above(self, stmt: Stmt) -> list[For]:
        """The loops around `stmt` inside of its scope, the outermost first."""
        loops: list[Any] = []
        for above in self.ancestors(stmt):
            if above.__class__ is For:
                loops.append(above)
            elif above.__class__ is Block:
                break
        loops.reverse()
        return loops

    def all_loops_above(self, stmt: Stmt) -> list[For]:
        """The loops around `stmt` in all scopes, the outermost first."""
        loops: list[Any] = [above for above in self.ancestors(stmt) if above.__class__ is For]
        loops.reverse()
        return loops

    def is_above(self, stmt: Stmt, other: Stmt) -> bool:
        """Whether `stmt` is around `other`."""
        return any(above is stmt for above in self.ancestors(other))

    def between(self, place: Stmt, stmt: Stmt) -> list[Stmt]:
        """The statements around `stmt` and inside of `place`, a loop or block, the outermost first.

        For a block that `place` realises, that is what is inside of the block.
        """
        outer = place.block if isinstance(place, BlockRealize) else place
        found = list(takewhile(lambda above: above is not outer, self.ancestors(stmt)))
        return found[::-1]

    def lowest_common_ancestor(self, stmts: Iterable[Stmt]) -> Stmt:
        """The nearest statement that is around (or is) each of `stmts`, of which there are some."""
        common: list[Stmt] | None = None
        for stmt in stmts:
            line = [stmt, *self.ancestors(stmt)]
            if common is None:
                common = line
            else:
                kept = set(line)
                common = [item for item in common if item in kept]
        assert common
        return common[0]

    # --- below ------------------------------------------------------------------------------

    def children(self, stmt: Stmt) -> list[For | BlockRealize]:
        """The nearest loops and blocks inside of `stmt`, in order."""
        return list(_nearest(stmt.block.body if isinstance(stmt, BlockRealize) else stmt, stmt))

    def blocks_below(self, stmt: Stmt) -> list[BlockRealize]:
        """The blocks inside of `stmt` that belong to its scope, in order.

        Blocks inside of those are left out; for a block, these are its child blocks.
        """
        if isinstance(stmt, BlockRealize):
            stmt = stmt.block
        if stmt is self.root.block:
            return [block for part in self._parts.values() for block in part.nearest]
        return nearest_blocks(stmt)

    def blocks_changed_since(self, before: FunctionTree) -> list[BlockRealize]:
        """The blocks that another version does not have, without the root block, in order."""
        return [
            block
            for stmt, part in self._parts.items()
            if stmt not in before._parts
            for block in part.blocks.values()
            if block not in before
        ]

    def outer_blocks_changed_since(self, before: FunctionTree) -> list[BlockRealize]:
        """Those of `blocks_changed_since` that other blocks are in."""
        return [
            block
            for stmt, part in self._parts.items()
            if part.outer and stmt not in before._parts
            for block in part.outer
            if block not in before
        ]

    def blocks_mentioning(self, buffer: Buffer) -> list[BlockRealize]:
        """The blocks that mention the memory of `buffer`, and perhaps more, in order."""
        found = [self.root]
        for part in self._parts.values():
            if buffer.data in part.memory:
                found += part.blocks.values()
        return found

    def leaf_blocks_below(self, stmt: Stmt) -> list[BlockRealize]:
        """The blocks inside of `stmt`, in any scope, that contain no block; itself if it is one."""
        inner = self.blocks_below(stmt)
        if not inner:
            return [stmt] if isinstance(stmt, BlockRealize) else []
        return [leaf for block in inner for leaf in self.leaf_blocks_below(block)]

    def realize(self, block: Block) -> BlockRealize:
        """The realisation of `block`."""
        found = self._parents[block]
        assert isinstance(found, BlockRealize)
        return found

    # --- facts ------------------------------------------------------------------------------

    def analyzer(self, stmt: Stmt) -> Analyzer:
        """What is known about the variables in scope at `stmt`: ranges of loops and iterators."""
        known = self.facts.get(("analyzer", stmt))
        if known is None:
            known = self.facts["analyzer", stmt] = self._analyzer_of_sizes()
            for above in reversed(list(self.ancestors(stmt))):
                bind_scope(known, above)
        return known.copy()

    def _analyzer_of_sizes(self) -> Analyzer:
        """What is known about sizes: none is negative, and what the function asserts holds."""
        known = self.facts.get("analyzer of sizes")
        if known is None:
            conditions = [*sizes_not_negative(self.func), *assumptions(self.func)]
            known = Analyzer()
            if not conditions:
                return known
            for condition in conditions:
                known.assume(condition)
            self.facts["analyzer of sizes"] = known
        return known.copy()

    def analyzer_inside(self, place: Stmt) -> Analyzer:
        """What is known in the body of `place`, a loop or block."""
        analyzer = self.analyzer(place)
        bind_scope(analyzer, place.block if isinstance(place, BlockRealize) else place)
        return analyzer

    # --- editing ----------------------------------------------------------------------------

    def edit(
        self,
        edits: Mapping[Stmt, Stmt | None],
        results: Any = None,
        by_construction: Collection[ForKind] = (),
    ) -> Edit:
        """The function with statements replaced, and what the primitive returns.

        Args:
            edits: what stands for each edited statement, None to remove it. What is below an
                edited statement is not edited further. A loop whose body is removed goes, too.
            results: see `Edit`.
            by_construction: see `Edit`.
        """
        func = self.func.with_body(self.edited(edits))
        return Edit(func, results, by_construction=by_construction)

    def edited(self, edits: Mapping[Stmt, Stmt | None], part: Stmt | None = None) -> Stmt:
        """The body of the function with statements replaced; see `edit`.

        Args:
            edits: as in `edit`.
            part: a statement to return in place of the body; some of it remains.
        """
        dirty: set[Stmt] = set()
        for stmt in edits:
            above = self._parents[stmt]
            while above is not None and above not in dirty:
                dirty.add(above)
                above = self._parents[above]
        body = _edited(self.func.body if part is None else part, edits, dirty)
        assert body is not None, "the root block is never removed"
        return body


def bind_scope(analyzer: Analyzer, stmt: Stmt) -> None:
    """Make known to `analyzer` what holds inside of `stmt`."""
    if isinstance(stmt, For):
        analyzer.bind_range(stmt.loop_var, stmt.min, stmt.extent)
    elif isinstance(stmt, Block):
        for iter_var in stmt.iter_vars:
            if iter_var.dom is not None:
                analyzer.bind_range(iter_var.var, iter_var.dom.min, iter_var.dom.extent)


def _nearest(stmt: Stmt, start: Stmt) -> Iterator[For | BlockRealize]:
    if stmt is not start and isinstance(stmt, (For, BlockRealize)):
        yield stmt
    elif isinstance(stmt, (Block, For)):
        yield from _nearest(stmt.body, start)
    elif not isinstance(stmt, (BufferStore, Evaluate)):
        for child in stmt.children():
            if isinstance(child, Stmt):
                yield from _nearest(child, start)


def _edited(stmt: Any, edits: Mapping[Stmt, Stmt | None], dirty: set[Stmt]) -> Stmt | None:
    if stmt in edits:
        return edits[stmt]
    if stmt not in dirty:
        return stmt
    if stmt.__class__ is SeqStmt:
        kept = [_edited(child, edits, dirty) for child in stmt.seq]
        return seq(*kept) if any(child is not None for child in kept) else None
    if stmt.__class__ is For or stmt.__class__ is Block:
        body = _edited(stmt.body, edits, dirty)
        if body is None and stmt.__class__ is For:
            return None
        return stmt.replace(body=seq(body))
    if stmt.__class__ is BlockRealize:
        return stmt.replace(block=_edited(stmt.block, edits, dirty))
    return stmt.map_children(
        lambda child: seq(_edited(child, edits, dirty)) if isinstance(child, Stmt) else child
    )
