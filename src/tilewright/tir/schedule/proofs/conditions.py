"""Under which conditions a block, and the init of a block, runs."""

from __future__ import annotations

from tilewright.arith import Analyzer
from tilewright.arith.facts import conjuncts
from tilewright.error import DiagnosticError
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.identical import identical
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.edits.bindings import bound_values, conjunction, mentioned
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.domains import runs_whole_domain
from tilewright.tir.schedule.proofs.initialisation import ReductionNest, reduction_nest
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, IfThenElse, While
from tilewright.tir.substitute import substitute, variables_of


def first_predicate(nest: ReductionNest, analyzer: Analyzer) -> list[Expr]:
    """The parts of the predicate that remain in the first iteration of the reduction loops.

    Where a reduction loop has no iteration, its elements get their initial values all the same, so
    its extent is not a condition.
    """
    parts = []
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
