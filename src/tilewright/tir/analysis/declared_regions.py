"""Whether blocks access only what they declare to read and to write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tilewright.arith.bounds import linear_bounds
from tilewright.arith.linear import Terms, collect, nonzero
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Call, Expr, IntImm, Var, is_const_int
from tilewright.ir.node import Node
from tilewright.ir.structural import structural_equal
from tilewright.tir.access import (
    Access,
    AccessKind,
    Condition,
    Surroundings,
    collect_accesses,
)
from tilewright.tir.access.bounds import KnownBounds
from tilewright.tir.analysis.access_table import region_text
from tilewright.tir.analysis.expressions import same_extent
from tilewright.tir.buffer import Buffer, BufferRegion, Range
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    Block,
    BlockRealize,
    BufferRealize,
    LetStmt,
    Stmt,
)

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
        for realize, around in collect_accesses(body).blocks:
            _Checker(realize, around, KnownBounds()).check()
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


class _Checker:
    """Compares each access of a block with what it declares.

    Args:
        realize: an instance of the block.
        around: what is around it.
        bounds: what is known of variables.
    """

    def __init__(self, realize: BlockRealize, around: Surroundings, bounds: KnownBounds) -> None:
        self.block, self._bounds = realize.block, bounds
        for region in (*self.block.reads, *self.block.writes):
            _check_rank(realize, region.buffer, region.region)
        self.summary = collect_accesses(self.block, around.in_block(realize))
        self.private = self.summary.allocated | self.summary.bound

    def check(self) -> None:
        """Check the block, and those in it."""
        for access in self.summary.accesses:
            if access.kind is not AccessKind.ADDRESS and not isinstance(access.node, Call):
                extents = access.extents or [ONE] * len(access.indices)
                ranges = list(map(Range.from_min_extent, access.indices, extents))
                self._access(access, ranges)
        for realize, around in self.summary.blocks:
            _Checker(realize, around, self._bounds).check()

    # --- one access -------------------------------------------------------------------------

    def _access(self, access: Access, ranges: Sequence[Range]) -> None:
        block, node, buffer = self.block, access.node, access.buffer
        _check_rank(node, buffer, ranges)
        if buffer.data in self.private or HIDES_ACCESSES in block.annotations:
            return
        views = self.summary.views
        accessed = _in_source(buffer, ranges, views)
        if accessed is None:
            return
        view, indices = buffer, ranges
        buffer, ranges = accessed
        if buffer.data in self.private:
            return
        self.facts = self._bounds.at(access.around)
        declared = block.writes if access.is_write else block.reads
        if not access.is_write and _updates(block):
            declared = (*declared, *block.writes)
        regions = [region for region in declared if region.buffer is buffer]
        if any(self._covers(region, ranges) for region in regions):
            return
        others = (*views, *(region.buffer for region in declared))
        if not regions and any(other.data is buffer.data for other in others):
            return  # through another buffer on the same memory
        inside = _inside(view, indices) if view is not buffer else ()
        definitions, conditions, is_certain = access.around
        around = Surroundings(definitions, (*conditions, *inside), is_certain)
        self._question(access, around, BufferRegion(buffer, tuple(ranges)), regions)

    def _covers(self, region: BufferRegion, ranges: Sequence[Range]) -> bool:
        """Whether a region has all of an access, as far as shows quickly."""
        shape = region.buffer.shape
        return all(map(self._contains, region.region, ranges, shape))

    def _contains(self, declared: Range, accessed: Range, size: Expr) -> bool:
        low, extent = declared.min, declared.extent
        if is_const_int(low, 0) and same_extent(extent, size):
            return True
        if same_extent(low, accessed.min) and same_extent(extent, accessed.extent):
            return True
        if low.dtype.lanes != 1 or accessed.min.dtype.lanes != 1:
            return False
        terms: Terms = {}
        constant = collect(accessed.min, 1, terms, _add_equal) + collect(low, -1, terms, _add_equal)
        first, last = linear_bounds(self.facts, nonzero(terms), constant)
        if first < 0 or not isinstance(extent, IntImm):
            return False
        return isinstance(accessed.extent, IntImm) and (
            last + accessed.extent.value <= extent.value
        )

    def _question(
        self,
        access: Access,
        around: Surroundings,
        accessed: BufferRegion,
        regions: Sequence[BufferRegion],
    ) -> None:
        from tilewright.tir.analysis.elements_outside import element_missing

        buffer = accessed.buffer
        found = element_missing(around, _box(accessed), list(map(_box, regions)), buffer.shape)
        if found is None:
            return
        block = self.block
        verb = "writes" if access.is_write else "reads"
        declared = ", ".join(map(region_text, block.writes if access.is_write else block.reads))
        element = f"{buffer.name}[{', '.join(map(str, found.element))}]"
        where = f" at {found.where}" if found.where else ""
        raise _UndeclaredError(
            access.node,
            f"block {block.name_hint} {verb} {region_text(accessed)}, which T.{verb}"
            f"({declared}) does not cover: {element}{where}",
        )


def _add_equal(part: Any, scale: int, terms: Terms) -> int:
    """Add a multiple of a quotient, say, to that of an equal one."""
    alike = (term for term in terms if term.__class__ is part.__class__)
    term = next((term for term in alike if structural_equal(term, part)), part)
    terms[term] = terms.get(term, 0) + scale
    return 0


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
        if left_out < 0 or any(not same_extent(r.extent, ONE) for r in source.region[:left_out]):
            return None
        moved = [
            Range.from_min_extent(part.min + item.min, item.extent)
            for part, item in zip(source.region[left_out:], ranges, strict=True)
        ]
        buffer, ranges = source.buffer, (*source.region[:left_out], *moved)
    return buffer, ranges


def _inside(view: Buffer, ranges: Sequence[Range]) -> Iterator[Condition]:
    """The conditions that elements are inside of a view, which is all that it may access."""
    for item, size in zip(ranges, view.shape, strict=True):
        yield Condition(as_expr(item.min >= 0))
        yield Condition(as_expr(item.min + item.extent <= size))


def _box(region: BufferRegion) -> list[tuple[Expr, Expr]]:
    return [(item.min, item.extent) for item in region.region]


ALLOCATIONS: Final = frozenset({Allocate, AllocateConst, BufferRealize, LetStmt})


def pointer_of(stmt: Any) -> Var:
    """The pointer to the memory that a statement makes, or that it gives a name."""
    if isinstance(stmt, BufferRealize):
        return stmt.buffer.data
    return stmt.var if isinstance(stmt, LetStmt) else stmt.buffer_var
