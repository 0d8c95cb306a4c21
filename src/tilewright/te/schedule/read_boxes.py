"""The boxes of a tensor that an operation reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tilewright.arith import Analyzer
from tilewright.arith.interval import EVERYTHING, IntervalSet, interval_of
from tilewright.arith.linear import mentions
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import Expr, IntImm, Let, Var
from tilewright.ir.rewrite import walk
from tilewright.te.operation import ComputeOp, Operation
from tilewright.tir.buffer import Range
from tilewright.tir.expr import ProducerLoad
from tilewright.tir.substitute import substitute

Box = list[IntervalSet]
"""An interval per dimension."""


def read_boxes(
    op: ComputeOp,
    producer: Operation,
    variables: Mapping[Var, Expr],
    ranging: Mapping[Var, Range],
    analyzer: Analyzer,
) -> list[Box]:
    """For each read of what `producer` computes by `op`, the box of elements.

    Args:
        op: the reader.
        producer: what it reads.
        variables: the values of the axes of `op`, in terms of loop variables.
        ranging: the loops that run, and over what.
        analyzer: what is known about other loop variables.
    """
    unknown = _bound_inside(op)
    boxes: dict[ProducerLoad, Box] = {}
    for expr in op.body:
        for load in walk(expr):
            if isinstance(load, ProducerLoad) and load.producer.op is producer:
                boxes[load] = [
                    EVERYTHING
                    if _is_unknown(index, unknown)
                    else interval_of(substitute(index, variables), ranging, analyzer)
                    for index in load.indices
                ]
    return list(boxes.values())


def cover(needed: IntervalSet, dom: Range, fixed: Collection[Var], analyzer: Analyzer) -> Range:
    """A range around `needed`, whose extent does not depend on the loops `fixed`.

    What is outside of `dom` is not computed, so constant ends are moved inside.
    """
    low, high = (None if end is None else cast(dom.extent.dtype, end) for end in needed)
    last = as_expr(dom.min + dom.extent - 1)
    if low is None or high is None:
        return dom
    if analyzer.can_prove(low <= dom.min) and analyzer.can_prove(high >= last):
        return dom
    if isinstance(low, IntImm) and analyzer.can_prove(low < dom.min):
        low = dom.min
    if isinstance(high, IntImm) and analyzer.can_prove(high > last):
        high = last
    extent = analyzer.simplify(high - low + 1)
    if mentions(extent, fixed):
        most = analyzer.const_int_bound(extent).max_value
        if not isinstance(most, int):
            return dom
        extent = const(most, extent.dtype)
    if isinstance(dom.extent, IntImm) and isinstance(extent, IntImm):
        if extent.value >= dom.extent.value:
            return dom
        extent = const(max(extent.value, 1), extent.dtype)
    return Range.from_min_extent(low, extent)


def _is_unknown(index: Expr, bound_inside: set[Var]) -> bool:
    """Whether an index depends on data, or on variables inside of the expression."""
    nodes = list(walk(index))
    return any(isinstance(node, ProducerLoad) or node in bound_inside for node in nodes)


def _bound_inside(op: ComputeOp) -> set[Var]:
    """The variables that the expressions of `op` bind themselves."""
    return {node.var for expr in op.body for node in walk(expr) if isinstance(node, Let)}
