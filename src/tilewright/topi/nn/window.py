"""Windows that move over an array: strides, padding, and how many places there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ArgumentValueError, ShapeError
from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, IntImm, const_int_value
from tilewright.te.tensor import extent_text


class Padding(NamedTuple):
    """Padding at each end of the spatial dimensions."""

    before: tuple[Expr, ...]
    after: tuple[Expr, ...]

    @property
    def is_zero(self) -> bool:
        """Whether nothing is added."""
        return all(constant(amount) == 0 for amount in (*self.before, *self.after))


def simplified(extent: Any) -> Expr:
    """An integer expression in its shortest form."""
    expr = as_expr(extent)
    return expr if isinstance(expr, IntImm) else Analyzer().simplify(expr)


def constant(extent: Any) -> int | None:
    """The value of an integer; None where it is symbolic."""
    if isinstance(extent, int):
        return extent
    return const_int_value(extent)


def require_equal(owner: str, what: str, a: Expr, b: Expr) -> None:
    """Require that two extents are equal, or not known to differ at compile time.

    Raises:
        ShapeError: if they are known to be different.
    """
    difference = constant(simplified(a - b))
    if difference not in (None, 0):
        raise ShapeError(f"{owner}: {what}: {extent_text(a)} and {extent_text(b)} differ")


def per_dimension(owner: str, name: str, value: Any, count: int) -> tuple[int, ...]:
    """An argument that is one number for all spatial dimensions, or one for each.

    Raises:
        ArgumentError: for another number of values.
    """
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(items) == 1:
        items *= count
    numbers = [constant(item) for item in items]
    if len(items) != count or any(number is None for number in numbers):
        raise ArgumentError(f"{owner}: `{name}` is an integer or {count} of them, got {value!r}")
    if any(number is not None and number < 1 for number in numbers):
        raise ArgumentValueError(f"{owner}: `{name}` is at least 1, got {value!r}")
    return tuple(number for number in numbers if number is not None)


def padding_of(owner: str, padding: Any, kernel: Sequence[Any], dilation: Sequence[int]) -> Padding:
    """Padding in the forms that operators accept.

    Args:
        owner: the operator, for messages.
        padding: one number for all ends; one for each dimension; all that come before, then all
            that come after; ``"VALID"`` for none; ``"SAME"`` for as many places as elements where
            the stride is 1.
        kernel: the extents of the window.
        dilation: the distances of its elements.
    """
    count = len(kernel)
    if isinstance(padding, str):
        if padding not in ("VALID", "SAME"):
            raise ArgumentValueError(
                f'{owner}: `padding` is numbers, "VALID" or "SAME", got {padding!r}'
            )
        both = [
            simplified((k - 1) * d) if padding == "SAME" else as_expr(0)
            for k, d in zip(kernel, dilation, strict=True)
        ]
        before = [simplified(floordiv(total + 1, 2)) for total in both]
        after = [simplified(t - b) for t, b in zip(both, before, strict=True)]
        return Padding(tuple(before), tuple(after))
    items = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,)
    if len(items) == 1:
        items *= count
    if len(items) == count:
        items *= 2
    if len(items) != 2 * count:
        raise ArgumentError(
            f"{owner}: `padding` has 1, {count} or {2 * count} numbers, got {padding!r}"
        )
    amounts = tuple(as_expr(item) for item in items)
    if not all(amount.dtype.is_integral for amount in amounts):
        raise ArgumentError(f"{owner}: `padding` is integers, got {padding!r}")
    if any((constant(amount) or 0) < 0 for amount in amounts):
        raise ArgumentValueError(f"{owner}: `padding` is at least 0, got {padding!r}")
    return Padding(amounts[:count], amounts[count:])


def reach(kernel: Any, dilation: int) -> Expr:
    """How many elements a window spans."""
    return simplified((kernel - 1) * dilation + 1)


def places(owner: str, extent: Any, window: Any, stride: int) -> Expr:
    """How many places a window of `window` elements has in `extent`, in steps of `stride`.

    Raises:
        ShapeError: if there is none.
    """
    room = simplified(extent - window)
    if (constant(room) or 0) < 0:
        raise ShapeError(
            f"{owner}: a window of {_text(window)} elements does not fit into {_text(extent)}"
        )
    return simplified(floordiv(room, stride) + 1)


def _text(extent: Any) -> str:
    return extent_text(as_expr(extent))


def spatial_axes(layout: str) -> tuple[int, ...]:
    """The positions of depth, height and width, in this order, in a layout such as ``"NHWC"``."""
    return tuple(layout.index(letter) for letter in "DHW" if letter in layout)
