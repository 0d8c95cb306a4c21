"""Parts of boxes of elements: those that loops access where conditions on several indices hold.

Panels of 96 columns, of which the last one is not full, are accessed by loops ``p < 43, c < 96``
where ``p * 96 + c < 4096``: the elements ``[p, c]`` are no box.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.arith import Analyzer, inverse_affine_iter_map
from tilewright.arith.itermap import detect_iter_map
from tilewright.arith.linear import mentions
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, Var
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.analysis.exact_boxes import Box, domains_of, exact_box
from tilewright.tir.transform.building.scoped_visitor import Loop


class PartOfBox(NamedTuple):
    """The elements of a box for which conditions hold."""

    box: Box
    element: tuple[Var, ...]
    """Variables for the indices of an element."""
    conditions: tuple[Expr, ...]
    """On the element."""

    def conditions_for(self, indices: Sequence[Expr]) -> list[Expr]:
        """The conditions for the element with these indices."""
        values = dict(zip(self.element, indices, strict=True))
        return [substitute(condition, values) for condition in self.conditions]


def part_of_box(
    indices: Sequence[Expr],
    loops: Sequence[Loop],
    conditions: Sequence[Expr],
    analyzer: Analyzer,
) -> PartOfBox | None:
    """The elements that `indices` reach while `loops` run, if each of them is reached once.

    Args:
        indices: the indices of one element.
        loops: the loops that run.
        conditions: the element is accessed where they hold.
        analyzer: knows the other variables.
    """
    box = exact_box(indices, loops, (), analyzer)
    if box is None:
        return None
    used = [loop for loop in loops if any(mentions(index, (loop.var,)) for index in indices)]
    found = detect_iter_map(indices, domains_of(used), require_bijective=True, analyzer=analyzer)
    if not found.is_affine:
        return None
    element = tuple(Var(f"x{n}", index.dtype) for n, index in enumerate(indices))
    from_minimum = inverse_affine_iter_map(found.indices, element)
    values = {loop.var: as_expr(loop.minimum + from_minimum[loop.var]) for loop in used}
    on_element = tuple(substitute(condition, values) for condition in conditions)
    if any(mentions(condition, [loop.var for loop in loops]) for condition in on_element):
        return None
    return PartOfBox(box, element, on_element)
