"""Which loops and which instances of blocks run for certain."""

from __future__ import annotations

from tilewright.arith import Analyzer, detect_iter_map
from tilewright.arith.facts import conjuncts
from tilewright.arith.iter_form import Size
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, IntImm
from tilewright.tir.analysis import dependence
from tilewright.tir.buffer import Range
from tilewright.tir.schedule.edits.bindings import TRUE, conjunction, mentioned
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, For, SeqStmt


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
