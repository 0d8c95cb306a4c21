"""Which boxes of a buffer are written without a gap.

Regions say which elements a block *may* access. Here is the opposite: elements that are written in
any case, because the indices of one store run through all values of a box.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Ramp, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferRegion, Range
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.edits.bindings import bindings_of, bound_values, mentioned
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import read_before_copied
from tilewright.tir.schedule.proofs.domains import runs_whole_domain
from tilewright.tir.schedule.proofs.images import Image, box_of, box_of_ranges
from tilewright.tir.schedule.proofs.regions import (
    BlockAccess,
    Box,
    accesses,
    clipped,
    covers,
    hull,
    relaxed,
)
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, For, LetStmt, SeqStmt, Stmt
from tilewright.tir.substitute import substitute


def writes_all(
    tree: FunctionTree,
    realize: BlockRealize,
    buffer: Buffer,
    place: For | BlockRealize,
    boxes: Sequence[Box],
    analyzer: Analyzer,
) -> bool:
    """Whether one iteration of `place` is known to write all elements of a buffer in some boxes.

    Each box must be written by one store of the block.

    Args:
        realize: the block that writes.
        buffer: the buffer; boxes may stick out of it.
        place: a loop or block around the block.
        boxes: in terms of what is defined at `place`.
        analyzer: what is known in `place`.
    """
    missing = list(boxes)
    with _nonempty(realize, buffer, analyzer):
        for image in images_written(tree, realize, buffer, place):
            written = box_of(image, analyzer, buffer)
            if written is not None:
                missing = [b for b in missing if not covers(buffer, written, b, analyzer)]
            if not missing:
                break
    return not missing


def region_written(
    tree: FunctionTree, realize: BlockRealize, buffer: Buffer, place: For | BlockRealize
) -> tuple[Range, ...]:
    """All that a block writes in one iteration of `place`, without gaps.

    Raises:
        ScheduleError: if there may be gaps.
    """
    analyzer = tree.analyzer_inside(place)
    written = accesses([realize], buffer, written=True)
    boxes = [accessed_box(tree, access, place, analyzer) for access in written]
    region = clipped(buffer, hull(boxes, analyzer), analyzer)
    box = box_of_ranges(region)
    if tree.checked and not writes_all(tree, realize, buffer, place, [box], analyzer):
        raise ScheduleError(
            f"it is not proved that {{0}} writes all elements of `{buffer.name}` between the "
            "smallest and the largest index, so that the copy would overwrite some with nothing",
            at=[realize],
            afterwards=read_before_copied,
        )
    return region


@contextmanager
def _nonempty(realize: BlockRealize, buffer: Buffer, analyzer: Analyzer) -> Generator[None]:
    """Within the scope, the sizes of what the block accesses of a buffer are taken to be positive.

    Where one is 0, nothing is accessed, and boxes are as empty. So are those of a reduction: where
    one is 0, the elements are initialised all the same.
    """
    regions = (*realize.block.reads, *realize.block.writes)
    used = mentioned(r.min for region in regions if region.buffer is buffer for r in region.region)
    if realize.block.init is not None:
        reducing = mentioned(bound_values(realize, reduction=True))
        if reducing.isdisjoint(mentioned(bound_values(realize, reduction=False))):
            used |= {v.var for v in realize.block.iter_vars if v.iter_type is IterType.COMM_REDUCE}
    with ExitStack() as stack:
        for iterator in realize.block.iter_vars:
            extent = None if iterator.dom is None else iterator.dom.extent
            if iterator.var in used and not (extent is None or isinstance(extent, IntImm)):
                stack.enter_context(analyzer.constraint(extent > 0))
        yield


# --- what a block accesses ----------------------------------------------------------------------


def accessed_box(
    tree: FunctionTree, access: BlockAccess, place: For | BlockRealize, analyzer: Analyzer
) -> Box:
    """What all instances of a block in one iteration of `place` access together.

    Like `relaxed`, but predicates of the block count where the box is known exactly.
    """
    found = exact_box(tree, access, place, analyzer)
    return relaxed(tree, access, place, analyzer) if found is None else found


def exact_box(
    tree: FunctionTree, access: BlockAccess, place: For | BlockRealize, analyzer: Analyzer
) -> Box | None:
    """`accessed_box` if all of it is accessed; None where that is not known."""
    realize = access.realize
    around = _between(tree, realize, _Context(access.region.buffer), place)
    if around is None:
        return None
    inside = around.within(realize)
    assert inside is not None
    ranges = substitute(access.region, inside.values).region
    with _nonempty(realize, access.region.buffer, analyzer):
        return box_of(Image(ranges, inside.loops, inside.conditions), analyzer)


# --- stores -------------------------------------------------------------------------------------


def images_written(
    tree: FunctionTree, realize: BlockRealize, buffer: Buffer, place: For | BlockRealize
) -> Iterator[Image]:
    """What one iteration of `place` writes in any case, an image per store of a block.

    A block that uses the pointer of the buffer is taken to write what it says that it writes.
    """
    around = _between(tree, realize, _Context(buffer), place)
    if around is not None:
        yield from _images(realize, around)
    if place is tree.scope(realize) and runs_whole_domain(tree, realize):
        # Whatever the loops are that run them, all instances are run.
        iterators = realize.block.iter_vars
        domains = {item.var: item.dom for item in iterators if item.dom is not None}
        yield from _block_images(realize.block, _Context(buffer, loops=domains))


class _Context(NamedTuple):
    """What is known about the statements around a store.

    Attributes:
        buffer: the buffer whose stores are looked for.
        values: of iterators and let variables, in terms of loop variables.
        loops: their domains.
        conditions: under which it runs.
        views: of parts of the buffer.
    """

    buffer: Buffer
    values: Mapping[Var, Expr] = MappingProxyType({})
    loops: Mapping[Var, Range] = MappingProxyType({})
    conditions: tuple[Expr, ...] = ()
    views: Mapping[Buffer, BufferRegion] = MappingProxyType({})

    def within(self, stmt: Stmt) -> _Context | None:
        """The same for the body of `stmt`; None if it may not run, or not on the same buffer."""
        if isinstance(stmt, For):
            low, extent = (substitute(end, self.values) for end in (stmt.min, stmt.extent))
            return self._replace(
                loops={**self.loops, stmt.loop_var: Range.from_min_extent(low, extent)}
            )
        if isinstance(stmt, LetStmt):
            values = {**self.values, stmt.var: substitute(stmt.value, self.values)}
            return self._replace(values=values)
        if isinstance(stmt, BlockRealize):
            bound = bindings_of(stmt).items()
            values = {**self.values, **{var: substitute(v, self.values) for var, v in bound}}
            conditions = (*self.conditions, substitute(stmt.predicate, self.values))
            return self._replace(values=values, conditions=conditions)
        if isinstance(stmt, Block):
            declared = (*stmt.alloc_buffers, *(match.buffer for match in stmt.match_buffers))
            if any(buffer is self.buffer for buffer in declared):
                return None
            views = {
                match.buffer: substitute(match.source, self.values)
                for match in stmt.match_buffers
                if match.source.buffer is self.buffer
            }
            return self._replace(views={**self.views, **views})
        return self if isinstance(stmt, SeqStmt) else None


def _between(
    tree: FunctionTree, realize: BlockRealize, outside: _Context, place: For | BlockRealize
) -> _Context | None:
    """What is around a block inside of `place`; None if the block may not run."""
    around: _Context | None = outside
    loops: dict[Var, Range] = {}
    for stmt in tree.between(place, realize):
        if isinstance(stmt, For) and around is not None and not around.values:
            loops[stmt.loop_var] = Range.from_min_extent(stmt.min, stmt.extent)
            continue
        if loops and around is not None:
            around, loops = around._replace(loops={**around.loops, **loops}), {}
        around = None if around is None else around.within(stmt)
    if loops and around is not None:
        around = around._replace(loops={**around.loops, **loops})
    return around


def _images(stmt: Stmt, around: _Context) -> Iterator[Image]:
    """Images of the stores in `stmt` that no branch guards."""
    if isinstance(stmt, SeqStmt):
        for item in stmt.seq:
            yield from _images(item, around)
    elif isinstance(stmt, (For, LetStmt)):
        inside = around.within(stmt)
        if inside is not None:
            yield from _images(stmt.body, inside)
    elif isinstance(stmt, BlockRealize):
        inside = around.within(stmt)
        if inside is not None:
            yield from _block_images(stmt.block, inside)
    elif isinstance(stmt, BufferStore) and stmt.predicate is None:
        ranges = [_index_range(substitute(index, around.values)) for index in stmt.indices]
        view = around.views.get(stmt.buffer)
        if view is not None:
            yield Image(_in_source(ranges, view), around.loops, around.conditions)
        elif stmt.buffer is around.buffer:
            yield Image(tuple(ranges), around.loops, around.conditions)


def _block_images(block: Block, around: _Context) -> Iterator[Image]:
    inside = around.within(block)
    if inside is None:
        return
    if _uses_pointer(block.body, {inside.buffer.data, *(view.data for view in inside.views)}):
        for region in block.writes:
            if region.buffer is inside.buffer:
                ranges = substitute(region, inside.values).region
                yield Image(ranges, inside.loops, inside.conditions)
        return
    yield from _images(block.body, inside)


def _uses_pointer(body: Stmt, pointers: set[Var]) -> bool:
    """Whether `body`, blocks inside of it left out, mentions one of `pointers`."""
    nodes = walk(body, skip=lambda node: isinstance(node, BlockRealize))
    return any(isinstance(node, Var) and node in pointers for node in nodes)


def _index_range(index: Expr) -> Range:
    if isinstance(index, Ramp) and is_const_int(index.stride, 1):
        return Range.from_min_extent(index.base, const(index.lanes, index.base.dtype))
    return Range.from_min_extent(index, const(1, index.dtype.element))


def _in_source(ranges: Sequence[Range], view: BufferRegion) -> tuple[Range, ...]:
    """Ranges of a view as ranges of its source, of which the view may lack leading dimensions."""
    left_out = len(view.region) - len(ranges)
    moved = [
        Range.from_min_extent(part.min + item.min, item.extent)
        for part, item in zip(view.region[left_out:], ranges, strict=True)
    ]
    return (*view.region[:left_out], *moved)
