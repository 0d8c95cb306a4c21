"""Whether blocks access only what they declare to read and to write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tilewright.arith.bounds import linear_bounds
from tilewright.arith.linear import linear_form
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.node import Node
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.access_table import region_text
from tilewright.tir.analysis.access_walk import AccessWalk
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    Block,
    BlockRealize,
    BufferRealize,
    BufferStore,
    LetStmt,
    Stmt,
)
from tilewright.tir.substitute import substitute

ONE: Final = const(1)

HIDES_ACCESSES: Final = "hides_accesses"
"""Annotation of a block that declares less than it accesses on purpose."""


class Undeclared(NamedTuple):
    """An access that a block does not declare.

    Attributes:
        node: the load, the store, or the nested block.
        rule: what is wrong.
    """

    node: Node
    rule: str


def undeclared_access(body: Stmt) -> Undeclared | None:
    """The first access of the body of a function that its block does not declare.

    * What a block writes is in its `writes`, what it reads in its `reads`. A block that updates
      what it writes (one with an initialisation, or that reduces) need not declare these reads.
    * Declared regions may be larger than what is accessed.
    * Accesses through pointers cannot be checked, nor can indices that depend on data.
    * A block with the annotation `HIDES_ACCESSES` is not checked.
    * The root block, and memory that lives inside of a block, need no declaration.
    """
    if isinstance(body, BlockRealize) and not body.block.iter_vars:
        body = body.block.body
    try:
        _Checker().visit(body)
    except _UndeclaredError as error:
        return error.found
    return None


def _check_rank(node: Node, buffer: Buffer, ranges: Sequence[Range]) -> None:
    if len(ranges) != len(buffer.shape):
        rule = f"the access of {buffer.name} has rank {len(ranges)}, the buffer {len(buffer.shape)}"
        raise _UndeclaredError(node, rule)


class _UndeclaredError(Exception):
    def __init__(self, node: Node, rule: str) -> None:
        super().__init__(rule)
        self.found = Undeclared(node, rule)


class _Around(NamedTuple):
    """The innermost block around an access.

    Attributes:
        block: the block.
        private: pointers to memory that lives inside of it.
        views: of parts of memory from outside, with their sources.
    """

    block: Block
    private: set[Var]
    views: dict[Buffer, BufferRegion]


class _Checker(AccessWalk):
    """Compares each access with what the innermost block around it declares."""

    def __init__(self) -> None:
        super().__init__()
        self.around: _Around | None = None

    def visit(self, node: Any) -> None:
        if self.around is not None and node.__class__ in ALLOCATIONS:
            self.around.private.add(pointer_of(node))
        super().visit(node)

    def BufferLoad(self, load: BufferLoad) -> None:
        self.visit_children(load)
        self._access(
            load, load.buffer, [Range.from_min_extent(index, ONE) for index in load.indices], False
        )

    def BufferStore(self, store: BufferStore) -> None:
        self.visit_children(store)
        self._access(
            store,
            store.buffer,
            [Range.from_min_extent(index, ONE) for index in store.indices],
            True,
        )

    def BlockRealize(self, realize: BlockRealize) -> None:
        for value in realize.iter_values:
            self.visit(value)
        self.visit(realize.predicate)
        block, outer = realize.block, self.around
        for region in (*block.reads, *block.writes):
            _check_rank(realize, region.buffer, region.region)
        if outer is not None:
            self._nested(realize)
        views = {match.buffer: match.source for match in block.match_buffers}
        private = {buffer.data for buffer in block.alloc_buffers}
        with self.instance(realize):
            self.around = _Around(block, private, views)
            self.visit(block)
            self.around = outer

    def _nested(self, realize: BlockRealize) -> None:
        """A nested block accesses what it declares."""
        block = realize.block
        iterators = (item.var for item in block.iter_vars)
        values = dict(zip(iterators, realize.iter_values, strict=False))
        with self.where((realize.predicate, False)):
            for regions, is_write in ((block.reads, False), (block.writes, True)):
                for region in regions:
                    ranges = substitute(region, values).region
                    self._access(realize, region.buffer, ranges, is_write)

    # --- one access -------------------------------------------------------------------------

    def _access(self, node: Node, buffer: Buffer, ranges: Sequence[Range], is_write: bool) -> None:
        around = self.around
        if around is None:
            return
        _check_rank(node, buffer, ranges)
        if buffer.data in around.private:
            return
        if HIDES_ACCESSES in around.block.annotations:
            return
        accessed = _in_source(buffer, ranges, around.views)
        if accessed is None:
            return
        view, indices = buffer, ranges
        buffer, ranges = accessed
        if buffer.data in around.private:
            return
        block = around.block
        declared = block.writes if is_write else block.reads
        if not is_write and _updates(block):
            declared = (*declared, *block.writes)
        regions = [region for region in declared if region.buffer is buffer]
        if any(self._covers(region, ranges) for region in regions):
            return
        others = (*around.views, *(region.buffer for region in declared))
        if not regions and any(other.data is buffer.data for other in others):
            return  # through another buffer on the same memory
        with self.where(*(_inside(view, indices) if view is not buffer else ())):
            self._question(node, BufferRegion(buffer, tuple(ranges)), regions, is_write)

    def _covers(self, region: BufferRegion, ranges: Sequence[Range]) -> bool:
        """Whether a region has all of an access, as far as shows quickly."""
        shape = region.buffer.shape
        return all(map(self._contains, region.region, ranges, shape))

    def _contains(self, declared: Range, accessed: Range, size: Expr) -> bool:
        low, extent = declared.min, declared.extent
        if is_const_int(low, 0) and _same(extent, size):
            return True
        if _same(low, accessed.min) and _same(extent, accessed.extent):
            return True
        if low.dtype.lanes != 1 or accessed.min.dtype.lanes != 1:
            return False
        distance = linear_form(accessed.min).plus(linear_form(low), -1)
        first, last = linear_bounds(self.facts, *distance)
        if first < 0 or not isinstance(extent, IntImm):
            return False
        return isinstance(accessed.extent, IntImm) and (
            last + accessed.extent.value <= extent.value
        )

    def _question(
        self, node: Node, accessed: BufferRegion, regions: Sequence[BufferRegion], is_write: bool
    ) -> None:
        from tilewright.tir.analysis.elements_outside import element_missing

        assert self.around is not None
        buffer = accessed.buffer
        found = element_missing(
            self,
            _box(accessed),
            [_box(region) for region in regions],
            buffer.shape,
        )
        if found is None:
            return
        block = self.around.block
        verb = "writes" if is_write else "reads"
        declared = ", ".join(map(region_text, block.writes if is_write else block.reads))
        element = f"{buffer.name}[{', '.join(map(str, found.element))}]"
        where = f" at {found.where}" if found.where else ""
        raise _UndeclaredError(
            node,
            f"block {block.name_hint} {verb} {region_text(accessed)}, which T.{verb}"
            f"({declared}) does not cover: {element}{where}",
        )


def _updates(block: Block) -> bool:
    """Whether a block combines what it writes with what was there."""
    return block.init is not None or any(
        item.iter_type is IterType.COMM_REDUCE for item in block.iter_vars
    )


def _in_source(
    buffer: Buffer, ranges: Sequence[Range], views: Mapping[Buffer, BufferRegion]
) -> tuple[Buffer, Sequence[Range]] | None:
    """An access of a view as one of what it is a view of; None if that is not known."""
    while buffer in views:
        source = views[buffer]
        left_out = len(source.region) - len(ranges)
        if left_out < 0 or any(not _same(r.extent, ONE) for r in source.region[:left_out]):
            return None
        moved = [
            Range.from_min_extent(part.min + item.min, item.extent)
            for part, item in zip(source.region[left_out:], ranges, strict=True)
        ]
        buffer, ranges = source.buffer, (*source.region[:left_out], *moved)
    return buffer, ranges


def _inside(view: Buffer, ranges: Sequence[Range]) -> Iterator[tuple[Expr, bool]]:
    """The conditions that elements are inside of a view, which is all that it may access."""
    for item, size in zip(ranges, view.shape, strict=True):
        yield item.min >= 0, False
        yield item.min + item.extent <= size, False


def _box(region: BufferRegion) -> list[tuple[Expr, Expr]]:
    return [(item.min, item.extent) for item in region.region]


def _same(a: Expr, b: Expr) -> bool:
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value
    return a is b or structural_equal(a, b)


ALLOCATIONS: Final = frozenset({Allocate, AllocateConst, BufferRealize, LetStmt})


def pointer_of(stmt: Any) -> Var:
    """The pointer to the memory that a statement makes, or that it gives a name."""
    if isinstance(stmt, BufferRealize):
        return stmt.buffer.data
    return stmt.var if isinstance(stmt, LetStmt) else stmt.buffer_var
