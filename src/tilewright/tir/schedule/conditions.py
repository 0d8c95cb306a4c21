"""Under which conditions a block, and the init of a block, runs."""

from __future__ import annotations

from tilewright.arith import Analyzer
from tilewright.arith.conditions import conjuncts
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.tir.schedule.bindings import conjunction
from tilewright.tir.schedule.initialisation import ReductionNest
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For
from tilewright.tir.substitute import variables_of


def first_predicate(tree: FunctionTree, nest: ReductionNest, analyzer: Analyzer) -> list[Expr]:
    """The parts of the predicate that remain in the first iteration of the reduction loops.

    A reduction loop of which the extent depends on where it is has no first iteration where it is
    0, which the predicate then excludes; extents that are sizes of the function are taken to be
    positive.
    """
    parts = []
    with analyzer.constraint(nonempty(nest.realize)):
        for part in conjuncts(nest.realize.predicate):
            if any(var in nest.start for var in variables_of(part)):
                part = analyzer.simplify(nest.at_start(part))
            if not is_const_int(part, 1):
                parts.append(part)
    defined = _defined_around(tree, nest.realize)
    for loop in nest.reduction:
        if defined & set(variables_of(loop.extent)) and not analyzer.can_prove(loop.extent > 0):
            extent = analyzer.simplify(nest.at_start(loop.extent))
            parts.append(extent > const(0, extent.dtype))
    return parts


def nonempty(realize: BlockRealize) -> Expr:
    """What holds if the block has an instance: its domains are not empty."""
    extents = [item.dom.extent for item in realize.block.iter_vars if item.dom is not None]
    return conjunction(*(extent > 0 for extent in extents if not is_const_int(extent)))


def _defined_around(tree: FunctionTree, realize: BlockRealize) -> set[Var]:
    """The loop variables and block iterators around a block."""
    found: set[Var] = set()
    for above in tree.ancestors(realize):
        if isinstance(above, For):
            found.add(above.loop_var)
        elif isinstance(above, Block):
            found.update(item.var for item in above.iter_vars)
    return found
