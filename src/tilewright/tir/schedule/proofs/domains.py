"""Which loops and which instances of blocks run: domains and predicates."""

from __future__ import annotations

from tilewright.arith import Analyzer, detect_iter_map
from tilewright.arith.facts import conjuncts
from tilewright.arith.iter_form import Size
from tilewright.error import DiagnosticError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis import dependence
from tilewright.tir.analysis.expressions import identical
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.edits.bindings import TRUE, bound_values, conjunction, mentioned
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.initialisation import ReductionNest, reduction_nest
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, IfThenElse, SeqStmt, While
from tilewright.tir.substitute import substitute, variables_of


def is_run(extent: Expr, analyzer: Analyzer) -> bool:
    """Whether a loop of that extent is known to run at least once; a symbolic size may be 0."""
    if isinstance(extent, IntImm):
        return extent.value > 0
    return analyzer.can_prove(extent > 0)


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
    between = tree.between(tree.scope(realize), realize)
    if not all(isinstance(stmt, (For, SeqStmt)) for stmt in between):
        return False
    used = mentioned(realize.iter_values)
    loops = [stmt for stmt in between if isinstance(stmt, For)]
    analyzer = tree.analyzer(realize)
    if any(loop.loop_var not in used and not is_run(loop.extent, analyzer) for loop in loops):
        return False
    domains = {
        x.loop_var: Range.from_min_extent(x.min, x.extent) for x in loops if x.loop_var in used
    }
    rest = outside_of_domains(realize, analyzer)
    found = detect_iter_map(realize.iter_values, domains, True, True, analyzer)
    if rest or not found.is_affine:
        return False
    for iter_var, total, extent in zip(
        realize.block.iter_vars, found.indices, found.extents, strict=True
    ):
        assert iter_var.dom is not None
        if not _contains(total.base, extent, iter_var.dom, analyzer):
            return False
    return True


def _contains(low: Expr, extent: Size, domain: Range, analyzer: Analyzer) -> bool:
    """Whether `extent` values from `low` on are known to be all of a domain, or more."""
    first, size = domain.min, domain.extent
    if (
        isinstance(low, IntImm)
        and isinstance(extent, int)
        and isinstance(first, IntImm)
        and isinstance(size, IntImm)
    ):
        return low.value <= first.value and low.value + extent >= first.value + size.value
    end = low + as_expr(extent, low.dtype)
    return analyzer.can_prove(low <= first) and analyzer.can_prove(end >= first + size)


def outside_of_domains(realize: BlockRealize, analyzer: Analyzer) -> list[Expr]:
    """The parts of a predicate that do more than keep the iterators in their domains."""
    parts = conjuncts(realize.predicate)
    if not parts:
        return []
    bounds: Expr = TRUE
    for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        domain = iter_var.dom
        assert domain is not None
        bounds = conjunction(bounds, value >= domain.min, value < domain.min + domain.extent)
    with analyzer.constraint(bounds):
        return [part for part in parts if not analyzer.can_prove(part)]


def first_predicate(nest: ReductionNest, analyzer: Analyzer) -> list[Expr]:
    """The parts of the predicate that remain in the first iteration of the reduction loops.

    Where a reduction loop has no iteration, its elements get their initial values all the same, so
    its extent is not a condition.
    """
    parts: list[Expr] = []
    with analyzer.constraint(nonempty(nest.realize)):
        for part in conjuncts(nest.realize.predicate):
            if any(var in nest.start for var in variables_of(part)):
                part = analyzer.simplify(nest.at_start(part))
            if not is_const_int(part, 1):
                parts.append(part)
    return parts


def initialises_what_it_updates(tree: FunctionTree, realize: BlockRealize) -> bool:
    """Whether a block is known to run its init for every element that it updates.

    It does not where the start of the reduction is left to another block, or the init stores other
    elements than the body.
    """
    if not _init_covers_updates(realize.block):
        return False
    if runs_whole_domain(tree, realize):
        return True
    above = tree.loops_above(realize)
    analyzer = tree.analyzer(realize)
    start: dict[Var, Expr] = {}
    if above:
        try:
            nest = reduction_nest(tree, realize, above[0])
        except ScheduleError:
            return False
        start = nest.start
        ends = [end for loop in above for end in (loop.min, loop.extent)]
        if start.keys() & mentioned([*ends, *bound_values(realize, reduction=False)]):
            return False
    for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if item.iter_type is IterType.COMM_REDUCE and not (
            item.dom is not None
            and analyzer.can_prove_equal(substitute(value, start), item.dom.min)
        ):
            return False
    return all(
        analyzer.can_prove(substitute(part, start))
        for part in conjuncts(realize.predicate)
        if any(var in start for var in variables_of(part))
    )


def _init_covers_updates(block: Block) -> bool:
    """Whether the init stores, where the reduction starts, all elements that the body updates."""
    assert block.init is not None
    if any(isinstance(node, (IfThenElse, While)) for node in walk(block.init)):
        return False
    reducing = {v.var for v in block.iter_vars if v.iter_type is IterType.COMM_REDUCE}
    try:
        _, stored = infer_block_regions(block.replace(body=block.init, init=None))
        _, updated = infer_block_regions(block.replace(init=None))
    except DiagnosticError:  # it uses a pointer; what it declares is all that is known
        stored = updated = block.writes
    found = {region.buffer: region for region in stored}
    return all(
        region.buffer in found
        and identical(region, found[region.buffer])
        and reducing.isdisjoint(variables_of(region))
        for region in updated
    )


def nonempty(realize: BlockRealize) -> Expr:
    """What holds if the block has an instance: its domains are not empty."""
    extents = [item.dom.extent for item in realize.block.iter_vars if item.dom is not None]
    return conjunction(*(extent > 0 for extent in extents if not is_const_int(extent)))
