"""Where values flow from a block to another one, and what runs in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tilewright.arith import Analyzer, detect_iter_map
from tilewright.arith.interval import IntervalSet
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import And, Call, Expr, IntImm, Let, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis import dependence
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.bindings import TRUE, conjunction
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.regions import Access, Box, accesses, relaxed, whole
from tilewright.tir.schedule.scope import buffers_read
from tilewright.tir.schedule.tree import FunctionTree, bind_scope
from tilewright.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    LetStmt,
    SeqStmt,
    Stmt,
)
from tilewright.tir.substitute import substitute, variables_of


class Flow(NamedTuple):
    """All that a block reads of a buffer was written by another one in the same iteration.

    Attributes:
        place: the innermost loop or block around both of which this holds for one iteration.
        between: the leaf blocks that may run between a write and the read of what it wrote, both
            blocks included.
    """

    place: Stmt
    between: list[BlockRealize]


def require_only_blocks(tree: FunctionTree) -> None:
    """Refuse a program that accesses memory outside of blocks, which no region tells."""
    found = tree.facts.get("outside of blocks")
    if found is None:
        found = tree.facts["outside of blocks"] = [
            realize
            for realize in tree.blocks()
            if tree.blocks_below(realize)
            and any(map(_accesses_memory, walk(realize.block.body, skip=_is_block)))
        ]
    if found:
        raise ScheduleError(
            "{0} accesses memory outside of the blocks inside of it, so that it is not known how "
            "values flow",
            at=found[:1],
            hint="write what is outside as blocks",
        )


def _is_block(node: Node) -> bool:
    return isinstance(node, BlockRealize)


def _accesses_memory(node: Node) -> bool:
    if isinstance(node, Evaluate):
        return not isinstance(node.value, IntImm)
    return isinstance(node, (BufferStore, BufferLoad))


def memory_read(realize: BlockRealize) -> list[Buffer]:
    """The buffers that a block reads, also those that its bindings and its predicate read."""
    bindings = (*realize.iter_values, realize.predicate)
    loads = (n for value in bindings for n in walk(value) if isinstance(n, BufferLoad))
    return list(dict.fromkeys([*buffers_read(realize.block), *(load.buffer for load in loads)]))


def find_flow(
    tree: FunctionTree, buffer: Buffer, producer: BlockRealize, consumer: BlockRealize
) -> Flow | None:
    """How elements of `buffer` get from `producer`, its only writer, to `consumer`.

    Returns:
        None if it is not known that the producer writes all elements that the consumer reads.
    """
    around = set(tree.ancestors(producer))
    places = [
        place
        for place in tree.ancestors(consumer)
        if place in around and isinstance(place, (For, BlockRealize))
    ]
    if _is_partial(producer, _inside_of(tree, producer, places[0])):
        return None  # the consumer may see sums that are not complete
    for place in places:
        if written_before(tree, buffer, producer, consumer, place):
            return Flow(place, _between(tree, place, producer, consumer))
    return None


def written_before(
    tree: FunctionTree, buffer: Buffer, producer: BlockRealize, consumer: BlockRealize, place: Stmt
) -> bool:
    """Whether one iteration of `place` writes all elements of `buffer` that are read in it."""
    analyzer = analyzer_inside(tree, place)
    written = exactly_written(tree, producer, buffer, place, analyzer)
    boxes = [relaxed(tree, read, place, analyzer) for read in reads_of(consumer, buffer)]
    if _is_read_by_binding(consumer, buffer):
        boxes.append(whole(buffer))
    return all(any(_covers_inside(buffer, w, box, analyzer) for w in written) for box in boxes)


def reads_of(realize: BlockRealize, buffer: Buffer) -> list[Access]:
    """What a block reads of `buffer`, load by load where no loop of its body is concerned.

    Its own region is the hull of all loads and may contain more.
    """
    block = realize.block
    nodes = list(walk(block))
    inner = {node.loop_var for node in nodes if isinstance(node, For)}
    inner |= {node.var for node in nodes if isinstance(node, (Let, LetStmt))}
    if any(isinstance(node, BlockRealize) for node in nodes):
        return accesses([realize], buffer, written=False)
    found = []
    for node in nodes:
        if not isinstance(node, BufferLoad) or node.buffer is not buffer:
            continue
        if any(var in inner for index in node.indices for var in variables_of(index)):
            return accesses([realize], buffer, written=False)
        point = tuple(Range(index, const(1, index.dtype)) for index in node.indices)
        found.append(Access(realize, BufferRegion(buffer, point)))
    return found or accesses([realize], buffer, written=False)


def _is_read_by_binding(realize: BlockRealize, buffer: Buffer) -> bool:
    """Whether a binding or the predicate reads `buffer`, which no region of the block tells."""
    return any(
        isinstance(node, BufferLoad) and node.buffer is buffer
        for value in (*realize.iter_values, realize.predicate)
        for node in walk(value)
    )


def analyzer_inside(tree: FunctionTree, place: Stmt) -> Analyzer:
    """What is known inside of `place`."""
    analyzer = tree.analyzer(place)
    bind_scope(analyzer, place.block if isinstance(place, BlockRealize) else place)
    return analyzer


def exactly_written(
    tree: FunctionTree, realize: BlockRealize, buffer: Buffer, place: Stmt, analyzer: Analyzer
) -> list[Box]:
    """Boxes of which one iteration of `place` writes every element that is in the buffer.

    Stores of `realize` under conditions, and stores that leave gaps, give none.
    """
    above = _inside_of(tree, realize, place)
    if _is_partial(realize, above):
        return []
    boxes = []
    for store, inside in _sure_stores(realize, buffer):
        box = _stored_box(store, [*above, *inside], analyzer)
        if box is None and place is tree.scope(realize) and runs_whole_domain(tree, realize):
            box = _stored_by_domain(store, realize.block, inside[1:], analyzer)
        if box is not None:
            boxes.append(box)
    return boxes


def _is_partial(realize: BlockRealize, inside: list[Stmt]) -> bool:
    """Whether one iteration runs only a part of a reduction."""
    loops = {stmt.loop_var for stmt in inside if isinstance(stmt, For)}
    values = [
        value
        for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if iter_var.iter_type is IterType.COMM_REDUCE
    ]
    for stmt in reversed(inside):
        if isinstance(stmt, BlockRealize):
            values = [substitute(value, bindings_of(stmt)) for value in values]
    return any(var not in loops for value in values for var in variables_of(value))


def _inside_of(tree: FunctionTree, realize: BlockRealize, place: Stmt) -> list[Stmt]:
    """The statements between `place` and a block, the outermost first."""
    found: list[Stmt] = []
    for stmt in tree.ancestors(realize):
        if stmt is place or (isinstance(place, BlockRealize) and stmt is place.block):
            break
        found.append(stmt)
    found.reverse()
    return found


def _stored_by_domain(
    store: BufferStore, block: Block, inside: list[Stmt], analyzer: Analyzer
) -> Box | None:
    """What all instances of a block store, whatever the loops are that run them."""
    loops = [
        For(v.var, v.dom.min, v.dom.extent, ForKind.SERIAL, store)
        for v in block.iter_vars
        if v.dom is not None
    ]
    return _stored_box(store, [*loops, *inside], analyzer)


def _sure_stores(stmt: Stmt, buffer: Buffer) -> Iterator[tuple[BufferStore, list[Stmt]]]:
    """The stores to `buffer` in `stmt` that nothing but loops and blocks is around, with these."""
    if isinstance(stmt, BufferStore):
        if stmt.buffer is buffer and stmt.predicate is None:
            yield stmt, []
    elif isinstance(stmt, SeqStmt):
        for item in stmt.seq:
            yield from _sure_stores(item, buffer)
    elif isinstance(stmt, (For, BlockRealize)):
        body = stmt.body if isinstance(stmt, For) else stmt.block.body
        for store, inside in _sure_stores(body, buffer):
            yield store, [stmt, *inside]


def _stored_box(store: BufferStore, around: list[Stmt], analyzer: Analyzer) -> Box | None:
    indices, loops, predicates = store.indices, {}, []
    for stmt in around:
        if isinstance(stmt, For):
            loops[stmt.loop_var] = Range(stmt.min, stmt.extent)
            bind_scope(analyzer, stmt)
        elif not isinstance(stmt, (Block, BlockRealize, SeqStmt)):
            return None
    for stmt in reversed(around):
        if isinstance(stmt, BlockRealize):
            values = bindings_of(stmt)
            indices = tuple(substitute(index, values) for index in indices)
            predicates = [stmt.predicate, *(substitute(p, values) for p in predicates)]
    predicate = conjunction(*predicates)
    return _box_of(
        indices, loops, _beyond_bounds(store.buffer, indices, predicate, analyzer), analyzer
    )


def _box_of(
    indices: tuple[Expr, ...], loops: dict[Var, Range], condition: Expr, analyzer: Analyzer
) -> Box | None:
    used = {var for index in (*indices, condition) for var in variables_of(index)}
    iterators = {var: domain for var, domain in loops.items() if var in used}
    if any(
        var in loops
        for domain in iterators.values()
        for var in (*variables_of(domain.min), *variables_of(domain.extent))
    ):
        return None
    full = detect_iter_map(indices, iterators, True, True, analyzer)
    part = detect_iter_map(indices, iterators, condition, True, analyzer)
    if not full.is_affine or not part.is_affine:
        return None
    box = []
    for index, total, most, extent in zip(
        indices, part.indices, full.extents, part.extents, strict=True
    ):
        if extent is not most and not (isinstance(extent, int) and isinstance(most, int)):
            return None
        last = total.base + (as_expr(extent, index.dtype) - 1)
        box.append(IntervalSet(analyzer.simplify(total.base), analyzer.simplify(last)))
    return tuple(box)


def _beyond_bounds(
    buffer: Buffer, indices: Iterable[Expr], predicate: Expr, analyzer: Analyzer
) -> Expr:
    """The part of `predicate` that does not just keep the accesses inside of the buffer."""
    bounds: Expr = TRUE
    for index, extent in zip(indices, buffer.shape, strict=True):
        bounds = conjunction(bounds, index >= 0, index < extent)
    with analyzer.constraint(bounds):
        kept = [part for part in conjuncts(predicate) if not analyzer.can_prove(part)]
    return conjunction(*kept)


def conjuncts(predicate: Expr) -> Iterator[Expr]:
    """The conditions that all must hold where `predicate` does."""
    if isinstance(predicate, And):
        yield from conjuncts(predicate.a)
        yield from conjuncts(predicate.b)
    elif isinstance(predicate, Call) and getattr(predicate.op, "name", None) == "tir.likely":
        yield from conjuncts(predicate.args[0])
    else:
        yield predicate


def bindings_of(realize: BlockRealize) -> dict[Var, Expr]:
    """The values of the iterators of a block."""
    iterators = realize.block.iter_vars
    return {v.var: value for v, value in zip(iterators, realize.iter_values, strict=True)}


def _covers_inside(buffer: Buffer, outer: Box, inner: Box, analyzer: Analyzer) -> bool:
    """Whether all elements of the buffer in `inner` are in `outer`."""
    for (low, high), (first, last), extent in zip(outer, inner, buffer.shape, strict=True):
        if low is None or high is None:
            return False
        starts = first is not None and analyzer.can_prove(low <= first)
        if not starts and not analyzer.can_prove(low <= const(0, low.dtype)):
            return False
        ends = last is not None and analyzer.can_prove(last <= high)
        if not ends and not analyzer.can_prove(extent - 1 <= high):
            return False
    return True


def runs_whole_domain(tree: FunctionTree, realize: BlockRealize) -> bool:
    """Whether the loops in the scope of a block are known to run every instance of it."""
    key = "runs whole domain", realize
    found = tree.facts.get(key)
    if found is None:
        found = _loops_are_domain(tree, realize) or (
            tree.scope(realize) is tree.root
            and dependence.runs_whole_domain(dependence.analyze(tree.func), realize.block)
        )
        tree.facts[key] = found
    return found


def _loops_are_domain(tree: FunctionTree, realize: BlockRealize) -> bool:
    """`runs_whole_domain` where iterators are digits of loops, without gaps and conditions."""
    loops: dict[Var, Range] = {}
    for above in tree.ancestors(realize):
        if isinstance(above, Block):
            break
        if isinstance(above, For):
            loops[above.loop_var] = Range(above.min, above.extent)
        elif not isinstance(above, SeqStmt):
            return False
    used = {var for value in realize.iter_values for var in variables_of(value)}
    loops = {var: domain for var, domain in loops.items() if var in used}
    analyzer = tree.analyzer(realize)
    rest = outside_of_domains(realize, analyzer)
    found = detect_iter_map(realize.iter_values, loops, True, True, analyzer)
    if rest or not found.is_affine:
        return False
    for iter_var, total, extent in zip(
        realize.block.iter_vars, found.indices, found.extents, strict=True
    ):
        assert iter_var.dom is not None
        end = total.base + as_expr(extent, iter_var.dtype)
        if not analyzer.can_prove(total.base <= iter_var.dom.min) or not analyzer.can_prove(
            end >= iter_var.dom.min + iter_var.dom.extent
        ):
            return False
    return True


def outside_of_domains(realize: BlockRealize, analyzer: Analyzer) -> list[Expr]:
    """The parts of a predicate that do more than keep the iterators in their domains."""
    bounds: Expr = TRUE
    for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        domain = iter_var.dom
        assert domain is not None
        bounds = conjunction(bounds, value >= domain.min, value < domain.min + domain.extent)
    with analyzer.constraint(bounds):
        return [part for part in conjuncts(realize.predicate) if not analyzer.can_prove(part)]


def flows_inside(
    tree: FunctionTree, buffer: Buffer, producer: BlockRealize, consumer: BlockRealize, place: Stmt
) -> bool:
    """Whether all that `consumer` reads in an iteration of `place` is computed before, in the same.

    `place` is around both.
    """
    first, last = (_position(tree, _statements(place), item) for item in (producer, consumer))
    return first < last and written_before(tree, buffer, producer, consumer, place)


def flows_at_once(
    tree: FunctionTree, buffer: Buffer, producer: BlockRealize, consumer: BlockRealize
) -> bool:
    """`flows_inside` the innermost loop or block around both."""
    if producer is consumer:
        return False
    around = set(tree.ancestors(producer))
    place = next(
        item
        for item in tree.ancestors(consumer)
        if item in around and isinstance(item, (For, BlockRealize))
    )
    return flows_inside(tree, buffer, producer, consumer, place)


def _statements(place: Stmt) -> tuple[Stmt, ...]:
    """The statements that a loop or block consists of."""
    body = place.block.body if isinstance(place, BlockRealize) else place.body  # type: ignore[union-attr]
    return body.seq if isinstance(body, SeqStmt) else (body,)


def _between(
    tree: FunctionTree, place: Stmt, producer: BlockRealize, consumer: BlockRealize
) -> list[BlockRealize]:
    """The leaf blocks in the statements of `place` from that of one block to that of the other.

    Where both are in one statement, a read may be of what an earlier run of `place` wrote: then in
    the statements of the root block.
    """
    while True:
        statements = _statements(place)
        first = _position(tree, statements, producer)
        last = _position(tree, statements, consumer)
        if first != last or place is tree.root:
            break
        place = tree.root
    chosen = statements[min(first, last) : max(first, last) + 1]
    return [leaf for stmt in chosen for leaf in tree.leaf_blocks_below(stmt)]


def _position(tree: FunctionTree, statements: tuple[Stmt, ...], block: BlockRealize) -> int:
    line = {block, *tree.ancestors(block)}
    return next(n for n, stmt in enumerate(statements) if stmt in line)
