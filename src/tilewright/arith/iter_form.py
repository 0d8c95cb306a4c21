"""The normal form of indices over independent iterators: digits in a mixed radix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tilewright.ir.expr import Expr, IntImm, Var

Size = int | Expr
"""A number of iterations or a stride: constant or symbolic."""


class IterMark(NamedTuple):
    """A whole iterator: a loop variable less its minimum, or several fused to one."""

    source: Var | IterSum
    extent: Size


class IterSplit(NamedTuple):
    """A digit of an iterator: ``source // lower_factor % extent * scale``."""

    source: IterMark
    lower_factor: Size
    extent: Size
    scale: Size


class IterSum(NamedTuple):
    """``base`` plus digits, the most significant first."""

    args: tuple[IterSplit, ...]
    base: Expr


def as_size(value: Any) -> Size:
    """An expression as a size: constants become numbers."""
    if value.__class__ is IntImm:
        return value.value
    return value


def is_one(size: Size) -> bool:
    """Whether a size is the constant 1."""
    return isinstance(size, int) and size == 1


def times(a: Size, b: Size) -> Size:
    """The product of two sizes."""
    if is_one(a):
        return b
    return a if is_one(b) else as_size(a * b)


def is_zero(expr: Expr) -> bool:
    """Whether an expression is the constant 0."""
    return expr.__class__ is IntImm and expr.value == 0  # type: ignore[attr-defined]


def digits_key(total: IterSum) -> Any:
    """Hashable identity of the digits of a sum."""
    return tuple(
        (
            digits_key(s.source.source)
            if isinstance(s.source.source, IterSum)
            else id(s.source.source),
            *(size if isinstance(size, int) else (id(size),) for size in s[1:]),
        )
        for s in total.args
    )


def inverse_affine_iter_map(indices: Iterable[IterSum], outputs: Iterable[Expr]) -> dict[Var, Expr]:
    """The iterators as expressions of the indices.

    Args:
        indices: normal forms that `detect_iter_map` found for a bijective map.
        outputs: the values of the indices, one each.

    Returns:
        For each iterator its value less its minimum.
    """
    found: dict[Any, Expr] = {}
    fused: dict[Any, IterSum] = {}
    for total, output in zip(indices, outputs, strict=True):
        _invert(total, output - total.base, found, fused)
    while fused:
        # All digits of a fused iterator are known here, whatever indices they came from.
        key, total = fused.popitem()
        _invert(total, found.pop(key), found, fused)
    return found


def _invert(total: IterSum, value: Expr, found: dict[Any, Expr], fused: dict[Any, IterSum]) -> None:
    """Add the digits of `value` to the iterators that they are digits of."""
    for position, split in enumerate(total.args):
        digit = value // split.scale
        if position > 0:
            digit = digit % split.extent
        part = digit * split.lower_factor
        source: Any = split.source.source
        if isinstance(source, IterSum):
            key = digits_key(source)
            fused[key] = source
        else:
            key = source
        found[key] = found[key] + part if key in found else part
