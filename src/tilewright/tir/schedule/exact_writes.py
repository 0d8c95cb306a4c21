"""What blocks write for certain, and which of their instances run for certain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.arith import Analyzer, detect_iter_map
from tilewright.arith.conditions import conjuncts
from tilewright.arith.interval import IntervalSet
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, Var
from tilewright.tir.analysis import dependence
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.schedule.bindings import TRUE, bindings_of, bound_values, conjunction
from tilewright.tir.schedule.regions import Box
from tilewright.tir.schedule.tree import FunctionTree, bind_scope
from tilewright.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    For,
    ForKind,
    SeqStmt,
    Stmt,
)
from tilewright.tir.substitute import substitute, variables_of


def exactly_written(
    tree: FunctionTree, realize: BlockRealize, buffer: Buffer, place: Stmt, analyzer: Analyzer
) -> list[Box]:
    """Boxes of which one iteration of `place` writes every element that is in the buffer.

    Stores of `realize` under conditions, and stores that leave gaps, give none.
    """
    above = tree.between(place, realize)
    if runs_part_of_reduction(realize, above):
        return []
    boxes = []
    for store, inside in _sure_stores(realize, buffer):
        box = _stored_box(store, [*above, *inside], analyzer)
        if box is None and place is tree.scope(realize) and runs_whole_domain(tree, realize):
            box = _stored_by_domain(store, realize.block, inside[1:], analyzer)
        if box is not None:
            boxes.append(box)
    return boxes


def runs_part_of_reduction(realize: BlockRealize, inside: list[Stmt]) -> bool:
    """Whether one iteration runs only a part of a reduction."""
    loops = {stmt.loop_var for stmt in inside if isinstance(stmt, For)}
    values = bound_values(realize, reduction=True)
    for stmt in reversed(inside):
        if isinstance(stmt, BlockRealize):
            values = [substitute(value, bindings_of(stmt)) for value in values]
    return any(var not in loops for value in values for var in variables_of(value))


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
