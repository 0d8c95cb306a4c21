"""A range of integers, with symbolic ends."""

from __future__ import annotations

from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Add, Expr, IntImm, is_const_int
from tilewright.ir.node import Node, child, node
from tilewright.ir.structural import structural_equal


@node
class Range(Node):
    """The integers from `min`, `extent` of them."""

    min: Expr = child()
    extent: Expr = child()

    @staticmethod
    def from_extent(extent: object) -> Range:
        """The range that starts at 0."""
        size = as_expr(extent)
        return Range(IntImm(size.dtype, 0), size)

    @staticmethod
    def from_min_extent(min_value: object, extent: object, span: object = None) -> Range:
        """The range of `extent` integers that starts at `min_value`."""
        del span
        return Range(as_expr(min_value), as_expr(extent))

    @staticmethod
    def from_bounds(begin: object, end: object) -> Range:
        """The range from `begin` to before `end`."""
        low, high = as_expr(begin), as_expr(end)
        return Range(low, extent_between(low, high))


def extent_between(low: Expr, high: Expr) -> Expr:
    """`high - low`, without `low` where `high` is a sum that begins or ends with it."""
    if is_const_int(low, 0) and low.dtype is high.dtype:
        return high
    if structural_equal(low, high):
        return IntImm(low.dtype, 0)
    if isinstance(high, Add):
        if structural_equal(high.a, low):
            return high.b
        if structural_equal(high.b, low):
            return high.a
    return as_expr(high - low)
