"""`reshape`, and the numbers of elements of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, IntImm, is_const_int
from tilewright.te.compute import compute
from tilewright.te.elementwise import same_extent
from tilewright.te.tensor import Tensor, as_shape, extent_text, shape_text, zero_like
from tilewright.tir.op.control import if_then_else
from tilewright.topi import tag
from tilewright.topi.operands import nth
from tilewright.topi.utils import ravel_index


class _Group(NamedTuple):
    """Dimensions of the source and of the target with the same number of elements."""

    source: list[int]
    target: list[int]


def reshape(a: Tensor, newshape: Any) -> Tensor:
    """`a` in another shape, with the elements in the same row-major order.

    Args:
        a: the tensor.
        newshape: the extents; one may be -1 for the remainder.

    Raises:
        ShapeError: if the numbers of elements are known to differ.
    """
    shape = reshaped("topi.reshape", a.shape, newshape)
    if any(is_const_int(extent, 0) for extent in a.shape):  # no element to read
        return compute(shape, lambda *_: const(0, a.dtype), "T_reshape", tag.INJECTIVE)
    groups = _groups(a.shape, shape)

    def element(*i: Expr) -> Expr:
        indices: list[Expr] = [zero_like(extent) for extent in a.shape]
        for group in groups:
            place = as_expr(ravel_index(*([x[n] for n in group.target] for x in (i, shape))))
            parts = _digits(place, [a.shape[n] for n in group.source])
            for n, index in zip(group.source, parts, strict=True):
                indices[n] = index
        return a(*indices)

    return compute(shape, element, "T_reshape", tag.INJECTIVE)


def reshaped(
    owner: str, extents: Sequence[Expr], newshape: Any, analyzer: Analyzer | None = None
) -> tuple[Expr, ...]:
    """The shape that `newshape` says, for an array of the given extents.

    Raises:
        ShapeError: if the numbers of elements are known to differ.
    """
    analyzer = analyzer or Analyzer()
    wanted = list(newshape) if isinstance(newshape, (tuple, list)) else [newshape]
    left = [n for n, extent in enumerate(wanted) if is_minus_one(extent)]
    if len(left) > 1:
        raise ShapeError(f"{owner}: only one extent may be -1, got {wanted}")
    dtype = extents[0].dtype if extents else "int64"
    for n in left:
        wanted[n] = const(1, dtype)
    shape = list(as_shape(wanted, owner))
    total, rest = number_of_elements(extents), number_of_elements(shape)
    if left:
        shape[left[0]] = _what_is_left(owner, extents, shape, analyzer)
    elif is_const_int(total) and is_const_int(rest) and not same_extent(total, rest):
        raise ShapeError(
            f"{owner}: an array of shape {shape_text(tuple(extents))} cannot have shape "
            f"{shape_text(tuple(shape))}: it has {extent_text(total)} elements, not "
            f"{extent_text(rest)}"
        )
    return tuple(shape)


def is_minus_one(extent: Any) -> bool:
    return extent == -1 if isinstance(extent, int) else is_const_int(extent, -1)


def _what_is_left(
    owner: str, extents: Sequence[Expr], shape: Sequence[Expr], analyzer: Analyzer
) -> Expr:
    """The extent for -1: the number of elements divided by the other extents."""
    remaining, divisors = list(extents), []
    for extent in shape:  # the same symbolic extent on both sides need not be divided by
        match = next((n for n, e in enumerate(remaining) if same_extent(e, extent)), None)
        if match is None or is_const_int(extent):
            divisors.append(extent)
        else:
            del remaining[match]
    total, others = number_of_elements(remaining), number_of_elements(divisors)
    if is_const_int(others, 0):
        raise ShapeError(f"{owner}: an extent of -1 beside one of 0 could be anything")
    if isinstance(total, IntImm) and isinstance(others, IntImm) and total.value % others.value:
        raise ShapeError(
            f"{owner}: {extent_text(number_of_elements(extents))} elements do not fill rows of "
            f"{extent_text(others)}, so no "
            "extent can stand for -1"
        )
    return analyzer.simplify(floordiv(total, others))


def number_of_elements(extents: Sequence[Expr]) -> Expr:
    """The product of extents, 1 of none."""
    return math.prod(extents, start=const(1, extents[0].dtype if extents else "int64"))


def _groups(source: Sequence[Expr], target: Sequence[Expr]) -> list[_Group]:
    """The smallest groups of neighbours with equal numbers of elements.

    So ``(n, 12, 64)`` and ``(n, 768)`` need division by 64 only, and never by n. Dimensions of
    extent 1 are in no group.
    """
    olds = [n for n, extent in enumerate(source) if not is_const_int(extent, 1)]
    news = [n for n, extent in enumerate(target) if not is_const_int(extent, 1)]
    groups, begin = [], 0
    start = 0
    for end in range(1, len(news) + 1):
        wanted = number_of_elements([target[n] for n in news[start:end]])
        for stop in range(begin + 1, len(olds) + 1):
            if same_extent(number_of_elements([source[n] for n in olds[begin:stop]]), wanted):
                groups.append(_Group(olds[begin:stop], news[start:end]))
                begin, start = stop, end
                break
    if begin < len(olds) or start < len(news):
        groups.append(_Group(olds[begin:], news[start:]))
    return groups


def _digits(place: Expr, extents: Sequence[Expr]) -> list[Expr]:
    """The indices of element number `place` of an array of the given extents."""
    parts: list[Expr] = []
    for n, extent in enumerate(extents):
        rest = number_of_elements(extents[n + 1 :])
        digit = place if is_const_int(rest, 1) else floordiv(place, rest)
        parts.append(digit if n == 0 else floormod(digit, extent))
    return parts


def unravel_index(indices: Tensor, shape: Any) -> Tensor:
    """For each element number, the indices of that element of an array of shape `shape`.

    Args:
        indices: element numbers, a vector or a scalar.
        shape: the shape, a vector of integers or extents.

    Returns:
        Of dtype and shape of `indices`, with one more dimension in front: one row per index.
    """
    extents: list[Expr]
    if isinstance(shape, Tensor):
        length = shape.shape[0]
        if shape.ndim != 1 or not isinstance(length, IntImm):
            raise ArgumentError("topi.unravel_index: the shape is a vector of known length")
        extents = [shape(n) for n in range(length.value)]
    else:
        extents = list(as_shape(shape, "topi.unravel_index"))

    def element(*i: Expr) -> Expr:
        digits = _digits(indices(*i[1:]), extents)
        return nth(digits, i[0], if_then_else).astype(indices.dtype)

    return compute((len(extents), *indices.shape), element, "T_unravel_index", tag.INJECTIVE)
