"""Which boxes of a buffer are written without a gap.

Regions say which elements a block *may* access. Here is the opposite: elements that are written in
any case, because the indices of one store run through all values of a box.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.conditions import conjuncts
from tilewright.arith.interval import IntervalSet
from tilewright.arith.itermap import detect_iter_map
from tilewright.arith.linear import Terms, collect, mentions
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, IntImm, Ramp, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferRegion, Range
from tilewright.tir.schedule.bindings import bindings_of, conjunction
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.regions import Access, Box, accesses, clipped, covers, hull, relaxed
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, BufferStore, For, LetStmt, SeqStmt, Stmt
from tilewright.tir.substitute import substitute, variables_of


class Image(NamedTuple):
    """Elements that are accessed while some loops run.

    Attributes:
        ranges: a box per iteration.
        loops: the domains of the loops, the outermost first.
        conditions: what restricts the iterations.
    """

    ranges: tuple[Range, ...]
    loops: Mapping[Var, Range]
    conditions: tuple[Expr, ...] = ()


def box_of(image: Image, analyzer: Analyzer) -> Box | None:
    """The box that the image is, if it is one and has no gaps; else None.

    Loops that run at all are taken to do so at least once.
    """
    iterators: dict[Var, Range] = {}
    indices = []
    for item in image.ranges:
        if is_const_int(item.extent, 1):
            indices.append(item.min)
            continue
        if mentions(item.extent, image.loops):
            return None
        inner = Var("inner", item.min.dtype)
        iterators[inner] = Range(const(0, item.extent.dtype), item.extent)
        indices.append(item.min + inner)
    used = {var for index in indices for var in variables_of(index) if var in image.loops}
    for var in used:
        domain = iterators[var] = image.loops[var]
        if mentions(domain.min, image.loops) or mentions(domain.extent, image.loops):
            return None
    predicate = _restricting(image, used, analyzer)
    if predicate is None:
        return None
    mirror = mirrored(indices, iterators)
    indices = [substitute(index, mirror) for index in indices]
    predicate = substitute(predicate, mirror)
    found = detect_iter_map(indices, iterators, predicate, True, analyzer)
    if not found.is_affine:
        return None
    return tuple(
        IntervalSet(total.base, analyzer.simplify(total.base + as_expr(extent) - 1))
        for total, extent in zip(found.indices, found.extents, strict=True)
    )


def mirrored(indices: Iterable[Expr], iterators: Mapping[Var, Range]) -> dict[Var, Expr]:
    """Values for the iterators that some index descends with, so that all indices ascend.

    An iterator from 0 to 7 becomes 7 less an iterator: the same set of values, in another order.
    """
    mirror: dict[Var, Expr] = {}
    for index in indices:
        terms: Terms = {}
        collect(index, 1, terms)
        for term, factor in terms.items():
            if isinstance(term, Var) and term in iterators and factor < 0:
                domain = iterators[term]
                mirror[term] = domain.min + domain.min + domain.extent - 1 - term
    return mirror


def _restricting(image: Image, used: set[Var], analyzer: Analyzer) -> Expr | None:
    """The conditions on `used` loops; None if another one may never hold."""
    start = {var: domain.min for var, domain in image.loops.items() if var not in used}
    kept = []
    for condition in conjuncts(*image.conditions):
        if mentions(condition, used):
            kept.append(condition)
        elif not analyzer.can_prove(substitute(condition, start)):
            return None
    return conjunction(*kept)


def box_of_ranges(ranges: Sequence[Range]) -> Box:
    """Ranges as a box."""
    return tuple(IntervalSet(item.min, item.min + item.extent - 1) for item in ranges)


# --- what a block writes ------------------------------------------------------------------------


def writes_all(
    tree: FunctionTree,
    realize: BlockRealize,
    buffer: Buffer,
    around: For | BlockRealize,
    box: Box,
    analyzer: Analyzer,
) -> bool:
    """Whether a block is known to write all of `box` in one iteration of `around`.

    Args:
        tree: the program.
        realize: the block.
        buffer: the buffer.
        around: a loop or block around the block.
        box: the elements.
        analyzer: what is known in `around`.
    """
    with _running(realize, analyzer):
        for image in images_written(tree, realize, buffer, around):
            written = box_of(image, analyzer)
            if written is not None and covers(written, box, analyzer):
                return True
    return False


def region_written(
    tree: FunctionTree, realize: BlockRealize, buffer: Buffer, around: For | BlockRealize
) -> tuple[Range, ...]:
    """All that a block writes in one iteration of `around`, without gaps.

    Raises:
        ScheduleError: if there may be gaps.
    """
    analyzer = tree.analyzer_inside(around)
    written = accesses([realize], buffer, written=True)
    boxes = [accessed_box(tree, access, around, analyzer) for access in written]
    region = clipped(buffer, hull(boxes, analyzer), analyzer)
    box = box_of_ranges(region)
    if tree.checked and not writes_all(tree, realize, buffer, around, box, analyzer):
        raise ScheduleError(
            f"it is not proved that {{0}} writes all elements of `{buffer.name}` between the "
            "smallest and the largest index, so that the copy would overwrite some with nothing",
            at=[realize],
        )
    return region


@contextmanager
def _running(realize: BlockRealize, analyzer: Analyzer) -> Iterator[None]:
    """Within the scope, it is known that the block has instances: no domain is empty."""
    with ExitStack() as stack:
        for iterator in realize.block.iter_vars:
            if iterator.dom is not None and not isinstance(iterator.dom.extent, IntImm):
                stack.enter_context(analyzer.constraint(iterator.dom.extent > 0))
        yield


def images_written(
    tree: FunctionTree, realize: BlockRealize, buffer: Buffer, around: For | BlockRealize
) -> list[Image]:
    """What a block writes in any case in one iteration of `around`, one image per store.

    A block that uses the pointer of the buffer is taken to write what it says that it writes.
    """
    loops = _loops_between(tree, realize, around)
    if loops is None:
        return []
    return list(_images(realize, _Surroundings(buffer, {}, loops, (), {})))


def accessed_box(
    tree: FunctionTree, access: Access, around: For | BlockRealize, analyzer: Analyzer
) -> Box:
    """What all instances of a block in one iteration of `around` access together.

    Like `relaxed`, but predicates of the block count where the box is known exactly.
    """
    found = exact_box(tree, access, around, analyzer)
    return relaxed(tree, access, around, analyzer) if found is None else found


def exact_box(
    tree: FunctionTree, access: Access, around: For | BlockRealize, analyzer: Analyzer
) -> Box | None:
    """`accessed_box` if all of it is accessed; None where that is not known."""
    realize = access.realize
    loops = _loops_between(tree, realize, around)
    if loops is None:
        return None
    ranges = substitute(access.region, bindings_of(realize)).region
    with _running(realize, analyzer):
        return box_of(Image(ranges, loops, (realize.predicate,)), analyzer)


def _loops_between(
    tree: FunctionTree, realize: BlockRealize, around: For | BlockRealize
) -> dict[Var, Range] | None:
    """The loops around a block and inside of `around`; None if there are branches as well."""
    between = tree.between(around, realize)
    if not all(isinstance(stmt, (For, SeqStmt)) for stmt in between):
        return None
    loops = [stmt for stmt in between if isinstance(stmt, For)]
    return {loop.loop_var: Range(loop.min, loop.extent) for loop in loops}


class _Surroundings(NamedTuple):
    """What is known about the statements around a store.

    Attributes:
        buffer: the buffer whose stores are looked for.
        values: of iterators and let variables, in terms of loop variables.
        loops: their domains.
        conditions: under which it runs.
        views: of parts of the buffer.
    """

    buffer: Buffer
    values: Mapping[Var, Expr]
    loops: Mapping[Var, Range]
    conditions: tuple[Expr, ...]
    views: Mapping[Buffer, BufferRegion]


def _images(stmt: Stmt, around: _Surroundings) -> Iterator[Image]:
    """Images of the stores in `stmt` that no branch guards."""
    if isinstance(stmt, SeqStmt):
        for item in stmt.seq:
            yield from _images(item, around)
    elif isinstance(stmt, For):
        low, extent = (substitute(end, around.values) for end in (stmt.min, stmt.extent))
        loops = {**around.loops, stmt.loop_var: Range(low, extent)}
        yield from _images(stmt.body, around._replace(loops=loops))
    elif isinstance(stmt, LetStmt):
        values = {**around.values, stmt.var: substitute(stmt.value, around.values)}
        yield from _images(stmt.body, around._replace(values=values))
    elif isinstance(stmt, BlockRealize):
        yield from _block_images(stmt, around)
    elif isinstance(stmt, BufferStore) and stmt.predicate is None:
        ranges = [_index_range(substitute(index, around.values)) for index in stmt.indices]
        view = around.views.get(stmt.buffer)
        if view is not None:
            yield Image(_in_source(ranges, view), around.loops, around.conditions)
        elif stmt.buffer is around.buffer:
            yield Image(tuple(ranges), around.loops, around.conditions)


def _block_images(realize: BlockRealize, around: _Surroundings) -> Iterator[Image]:
    block = realize.block
    bound = bindings_of(realize).items()
    values = {**around.values, **{var: substitute(v, around.values) for var, v in bound}}
    conditions = (*around.conditions, substitute(realize.predicate, around.values))
    views = {
        match.buffer: substitute(match.source, values)
        for match in block.match_buffers
        if match.source.buffer is around.buffer
    }
    if _uses_pointer(block.body, {around.buffer.data, *(view.data for view in views)}):
        for region in block.writes:
            if region.buffer is around.buffer:
                yield Image(substitute(region.region, values), around.loops, conditions)
        return
    inner = around._replace(values=values, conditions=conditions, views={**around.views, **views})
    yield from _images(block.body, inner)


def _uses_pointer(body: Stmt, pointers: set[Var]) -> bool:
    """Whether `body`, blocks inside of it left out, mentions one of `pointers`."""
    nodes = walk(body, skip=lambda node: isinstance(node, BlockRealize))
    return any(isinstance(node, Var) and node in pointers for node in nodes)


def _index_range(index: Expr) -> Range:
    if isinstance(index, Ramp) and is_const_int(index.stride, 1):
        return Range(index.base, const(index.lanes, index.base.dtype))
    return Range(index, const(1, index.dtype.element))


def _in_source(ranges: Sequence[Range], view: BufferRegion) -> tuple[Range, ...]:
    """Ranges of a view as ranges of its source, of which the view may lack leading dimensions."""
    left_out = len(view.region) - len(ranges)
    moved = [
        Range(part.min + item.min, item.extent)
        for part, item in zip(view.region[left_out:], ranges, strict=True)
    ]
    return (*view.region[:left_out], *moved)
