"""When the init of a block runs: once per element, before the updates of that element.

A block runs its init in the instances in which all reduction iterators are at the start of their
domains. That this is the first thing that happens to each element is not a property of the block
alone, but of the loops around it; what moves the init or the updates of a block needs it.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from tilewright.arith import Analyzer, IterMapResult, IterSplit, IterSum, detect_iter_map
from tilewright.arith.iter_form import Size, digits_key, is_one, times
from tilewright.error import DiagnosticError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import BufferRegion, Range
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.edits.bindings import bound_values, mentioned
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import (
    carried,
    collision,
    foreign_read,
    late_init,
    repetition,
)
from tilewright.tir.schedule.tree import FunctionTree, bind_scope
from tilewright.tir.stmt import Block, BlockRealize, For, SeqStmt
from tilewright.tir.substitute import substitute, variables_of


class ReductionNest(NamedTuple):
    """The loops from one around a block down to the block, the outermost first.

    Attributes:
        realize: the block.
        loops: all of them.
        reduction: those that reduction iterators are bound to.
        spatial: those that other iterators are bound to.
        start: the minimum of each reduction loop, in terms of the other variables; also of loops
            of one iteration that no iterator is bound to.
    """

    realize: BlockRealize
    loops: list[For]
    reduction: list[For]
    spatial: list[For]
    start: dict[Var, Expr]

    def at_start(self, expr: Expr) -> Expr:
        """`expr` in the first iteration of the reduction loops."""
        return substitute(expr, self.start)


def reduction_nest(tree: FunctionTree, realize: BlockRealize, loop: For) -> ReductionNest:
    """The loops from `loop` to the block.

    Raises:
        ScheduleError: if `loop` is not around the block, or there is more than loops in between.
    """
    above = tree.loops_above(realize)
    if tree.is_above(loop, realize) and loop not in above:
        raise ScheduleError(
            "{0} is around {2}, in which {1} is",
            at=[loop, realize, tree.scope(realize)],
            hint="give a loop inside of that block, or decompose that block",
        )
    if loop not in above:
        raise ScheduleError("{0} is not around {1}", at=[loop, realize])
    for stmt in tree.ancestors(realize):
        if not isinstance(stmt, (For, SeqStmt)):
            raise ScheduleError("between {0} and {1} there is more than loops", at=[loop, realize])
        if stmt is loop:
            break
    loops = above[above.index(loop) :]
    reducing = mentioned(bound_values(realize, reduction=True))
    others = mentioned(bound_values(realize, reduction=False))
    reduction = [item for item in loops if item.loop_var in reducing]
    start: dict[Var, Expr] = {}
    for item in loops:
        # A predicate may mention loops of one iteration that nothing is bound to.
        is_unused = item.loop_var not in others and is_const_int(item.extent, 1)
        if item.loop_var in reducing or is_unused:
            start[item.loop_var] = substitute(item.min, start)
    spatial = [item for item in loops if item.loop_var in others]
    return ReductionNest(realize, loops, reduction, spatial, start)


def require_all_reduction_loops(
    tree: FunctionTree, nest: ReductionNest, analyzer: Analyzer
) -> None:
    """Refuse a reduction loop around the nest: its iterations update the same elements."""
    outer = tree.all_loops_above(nest.loops[0])
    values = [analyzer.simplify(value) for value in bound_values(nest.realize, reduction=True)]
    reducing = mentioned(values)
    for loop in outer:
        if loop.loop_var in reducing:
            raise ScheduleError(
                "all reduction loops of {1} must be at or below {2}, but {0} is around it",
                at=[loop, nest.realize, nest.loops[0]],
                counterexample=partial(carried, tree, loop),
                hint="give the outermost reduction loop, or one around it",
            )


def require_initialised_first(tree: FunctionTree, nest: ReductionNest, analyzer: Analyzer) -> None:
    """Refuse loops that run the init of an element more than once, or after an update of it.

    Args:
        nest: the block with all of its reduction loops.
        analyzer: what is known outside of the nest; what is known inside is added.
    """
    _require_sequential(tree, nest)
    _require_apart(tree, nest, analyzer)
    for loop in nest.loops:
        bind_scope(analyzer, loop)
    _require_start_first(tree, nest, analyzer)
    require_elements_apart(nest.realize, analyzer)
    _require_own_elements(tree, nest.realize, analyzer)


def _require_sequential(tree: FunctionTree, nest: ReductionNest) -> None:
    for loop in nest.reduction:
        if not loop.kind.is_in_order:
            raise ScheduleError(
                "{0} carries the reduction of {1} and must be serial: its iterations update the "
                "same elements",
                at=[loop, nest.realize],
                counterexample=partial(carried, tree, loop),
                hint="do this before the loop is bound, vectorized or made parallel",
            )


def _require_apart(tree: FunctionTree, nest: ReductionNest, analyzer: Analyzer) -> None:
    """Refuse loops that are of no one kind."""
    reduction = {loop.loop_var for loop in nest.reduction}
    for loop in nest.loops:
        bind_scope(analyzer, loop)
        both = loop in nest.spatial and loop in nest.reduction
        if both:
            raise ScheduleError(
                "{0} is bound to both reduction and other iterators of {1}",
                at=[loop, nest.realize],
                counterexample=partial(late_init, tree, nest.realize),
            )
        if loop not in nest.reduction and reduction & mentioned([loop.min, loop.extent]):
            raise ScheduleError(
                "the bounds of {0} depend on a reduction loop of {1}",
                at=[loop, nest.realize],
                counterexample=partial(late_init, tree, nest.realize),
            )
        idle = loop not in nest.spatial and loop not in nest.reduction
        if idle and not analyzer.can_prove(loop.extent <= 1):
            raise ScheduleError(
                "no iterator of {1} is bound to {0}, whose iterations repeat the block",
                at=[loop, nest.realize],
                counterexample=partial(repetition, tree, nest.realize),
            )


def _require_start_first(tree: FunctionTree, nest: ReductionNest, analyzer: Analyzer) -> None:
    """Refuse bindings that reach the start of the reduction later than in the first iteration."""
    realize = nest.realize
    ranges = {loop.loop_var: Range.from_min_extent(loop.min, loop.extent) for loop in nest.loops}
    found = detect_iter_map(realize.iter_values, ranges, analyzer=analyzer)
    if not found.is_affine:
        raise ScheduleError(
            f"the bindings of {{0}} are not affine: {found.errors[0]}", at=[realize]
        )
    missed = unused_iterator(found, ranges, analyzer)
    if missed is not None:
        raise ScheduleError(
            f"the bindings of {{0}} do not tell all iterations of {missed.name} apart",
            at=[realize],
            counterexample=partial(repetition, tree, realize),
        )
    for item, form in zip(realize.block.iter_vars, found.indices, strict=True):
        if item.iter_type is not IterType.COMM_REDUCE:
            continue
        assert item.dom is not None
        increasing = all(analyzer.can_prove(as_expr(s.scale) > 0) for s in form.args)
        if not increasing or not analyzer.can_prove_equal(form.base, item.dom.min):
            raise ScheduleError(
                f"{{0}} does not begin with the start of `{item.var.name}`, where its init runs",
                at=[realize],
                counterexample=partial(late_init, tree, realize),
                hint="bind the iterator to a loop that counts up from the start of its domain",
            )


def unused_iterator(
    found: IterMapResult, ranges: dict[Var, Range], analyzer: Analyzer
) -> Var | None:
    """A variable of which the indices do not use all digits; None if they are injective."""
    sizes: dict[object, Size] = {}
    fused: dict[object, IterSplit] = {}
    todo = [split for total in found.indices for split in total.args]
    while todo:
        split = todo.pop()
        source = split.source.source
        key = digits_key(source) if isinstance(source, IterSum) else source
        sizes[key] = times(sizes.get(key, 1), split.extent)
        if isinstance(source, IterSum) and key not in fused:
            fused[key] = split
            todo.extend(source.args)
    for split in fused.values():
        source = split.source.source
        assert isinstance(source, IterSum)
        if not _same_size(sizes[digits_key(source)], split.source.extent, analyzer):
            return variables_of(_any_variable(source))[0]
    for var, domain in ranges.items():
        extent = domain.extent
        if not is_const_int(extent, 1) and not _same_size(sizes.get(var, 1), extent, analyzer):
            return var
    return None


def _any_variable(total: IterSum) -> Var:
    source = total.args[0].source.source
    return source if isinstance(source, Var) else _any_variable(source)


def _same_size(a: Size, b: Size, analyzer: Analyzer) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return analyzer.can_prove_equal(as_expr(a), as_expr(b))


def require_elements_apart(realize: BlockRealize, analyzer: Analyzer) -> None:
    """Refuse a block two instances of which write the same element."""
    block = realize.block
    ranges = {
        item.var: item.dom
        for item in block.iter_vars
        if item.iter_type is not IterType.COMM_REDUCE and item.dom is not None
    }
    for region in block.writes:
        if not _is_plain(region, set(ranges)) and not _is_injective(region, ranges, analyzer):
            raise ScheduleError(
                "two instances of {0} may write the same element of {1}",
                at=[realize, region],
                counterexample=partial(collision, ranges, [item.min for item in region.region]),
            )


def _is_plain(region: BufferRegion, iterators: set[Var]) -> bool:
    """Whether each index is one of `iterators`, and all of them are used."""
    seen = {item.min for item in region.region if is_const_int(item.extent, 1)}
    return iterators <= seen


def _is_injective(region: BufferRegion, ranges: dict[Var, Range], analyzer: Analyzer) -> bool:
    """Whether regions for different iterators have no element in common."""
    found = detect_iter_map([item.min for item in region.region], ranges, analyzer=analyzer)
    if not found.is_affine or unused_iterator(found, ranges, analyzer) is not None:
        return False
    for item, form in zip(region.region, found.indices, strict=True):
        if form.args and not is_one(form.args[-1].scale):
            step = as_expr(form.args[-1].scale)
            if analyzer.can_prove(step >= item.extent) or analyzer.can_prove(
                step * -1 >= item.extent
            ):
                continue
        if form.args and not is_const_int(item.extent, 1):
            return False
    return True


def _require_own_elements(tree: FunctionTree, realize: BlockRealize, analyzer: Analyzer) -> None:
    """Refuse a block that reads elements, of what it writes, that another instance writes."""
    block = realize.block
    for region in own_reads(block):
        written = next(item for item in block.writes if item.buffer is region.buffer)
        for inner, outer in zip(region.region, written.region, strict=True):
            if not _within(inner, outer, analyzer):
                raise ScheduleError(
                    "{0} reads {1} not only where it writes it",
                    at=[realize, region],
                    counterexample=partial(foreign_read, tree, realize, region.buffer),
                )


def own_reads(block: Block) -> list[BufferRegion]:
    """What the body reads of the buffers that the block writes."""
    written = {region.buffer for region in block.writes}
    try:
        reads, _ = infer_block_regions(block.replace(init=None))
    except DiagnosticError:
        # It uses pointers; what it declares is all that is known.
        reads = block.reads
    return [region for region in reads if region.buffer in written]


def _within(inner: Range, outer: Range, analyzer: Analyzer) -> bool:
    if structural_equal(inner.min, outer.min) and structural_equal(inner.extent, outer.extent):
        return True
    last = inner.min + inner.extent <= outer.min + outer.extent
    return analyzer.can_prove(inner.min >= outer.min) and analyzer.can_prove(last)
