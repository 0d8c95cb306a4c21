"""A range of integers, with symbolic ends."""

from __future__ import annotations

from tilewright.error import ArgumentError, DTypeError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.expr import Add, Expr, IntImm, is_const_int
from tilewright.ir.node import Node, child, node, set_conversion
from tilewright.ir.structural import structural_equal

_set = object.__setattr__


@node
class Range(Node):
    """The integers from `begin` to before `end`; with one argument, from 0 to before it.

    Code that knows how many integers there are calls `Range.from_min_extent`.

    Args:
        begin: the first integer; the end of the range if `end` is not given.
        end: the integer after the last one.

    Attributes:
        min: the first integer.
        extent: how many integers there are.

    Raises:
        DTypeError: if a bound is not a scalar integer.
    """

    __from_fields__ = "from_min_extent"

    min: Expr = child()
    extent: Expr = child()

    def __init__(self, begin: object, end: object = None, span: object = None) -> None:
        del span
        if end is None:
            begin, end = 0, begin
        low, high = _same_integers(_bound(begin), _bound(end))
        _set(self, "min", low)
        _set(self, "extent", extent_between(low, high))

    @staticmethod
    def from_min_extent(min_value: object, extent: object, span: object = None) -> Range:
        """The range of `extent` integers that starts at `min_value`."""
        del span
        self = object.__new__(Range)
        _set(self, "min", min_value if isinstance(min_value, Expr) else as_expr(min_value))
        _set(self, "extent", extent if isinstance(extent, Expr) else as_expr(extent))
        return self

    @staticmethod
    def from_extent(extent: object) -> Range:
        """The range that starts at 0."""
        size = as_expr(extent)
        return Range.from_min_extent(IntImm(size.dtype, 0), size)

    @staticmethod
    def from_bounds(begin: object, end: object) -> Range:
        """The range from `begin` to before `end`, whose dtypes stay as they are."""
        low, high = as_expr(begin), as_expr(end)
        return Range.from_min_extent(low, extent_between(low, high))


def as_range(value: object, what: str) -> Range:
    """`value` as a range: a range itself, its extent, or a pair (begin, end).

    Raises:
        ArgumentError: for a list of another length.
        DTypeError: if a bound is not a scalar integer; the message begins with `what`.
    """
    if isinstance(value, Range):
        return value
    if not isinstance(value, (tuple, list)):
        return Range(value)
    if len(value) != 2:
        raise ArgumentError(f"{what} is a range or a pair (begin, end), got {value!r}")
    return Range(*value)


def _bound(value: object) -> Expr:
    bound = as_expr(value)
    if not bound.dtype.is_scalar_integer:
        raise DTypeError(
            f"a bound of a Range is a scalar integer, got {value!r} of dtype {bound.dtype!s}"
        )
    return bound


def _same_integers(low: Expr, high: Expr) -> tuple[Expr, Expr]:
    """Both ends, a constant in the dtype of the other."""
    if low.dtype is not high.dtype:
        if isinstance(low, IntImm):
            return cast(high.dtype, low), high
        if isinstance(high, IntImm):
            return low, cast(low.dtype, high)
    return low, high


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


def _range_argument(value: object) -> Range:
    return as_range(value, "a domain or region")


set_conversion(Range, _range_argument)
