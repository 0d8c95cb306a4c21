"""Sums of parts of iterators, and how expressions become such sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.arith.analyzer import Analyzer
from tilewright.arith.linear import Terms, collect
from tilewright.ir.expr import Expr, IntImm, SizeVar, Var

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


class PlainSums(NamedTuple):
    """The normal form of each index, and how many values its digits span."""

    sums: tuple[IterSum, ...]
    extents: tuple[int, ...]


def plain_sums(
    indices: Iterable[Expr],
    input_iters: Mapping[Var, Any],
    bijective: bool,
    analyzer: Analyzer | None = None,
) -> PlainSums | None:
    """The normal form where each index is a sum of multiples of iterators from 0 and of variables.

    None where an iterator is taken apart, used twice, or has a symbolic extent or another first
    value than 0, and where there is no normal form: then `detect_iter_map` looks closer.

    Args:
        indices: integer expressions.
        input_iters: the iterators with their ranges.
        bijective: see `detect_iter_map`.
        analyzer: what is known about variables that are not iterators.
    """
    used: set[Expr] = set()
    sums: list[IterSum] = []
    extents: list[int] = []
    for index in indices:
        terms: Terms = {}
        constant = collect(index, 1, terms)
        splits: list[IterSplit] = []
        base: Expr = IntImm(index.dtype, constant)
        for term, factor in terms.items():
            domain = input_iters.get(term)
            if domain is None:
                if not _is_open(term, analyzer):
                    return None
                base = base + term * factor
                continue
            if not factor or not is_zero(domain.min):
                return None
            extent = as_size(domain.extent)
            if not isinstance(extent, int) or term in used:
                return None
            if extent != 1:
                used.add(term)
                splits.append(IterSplit(IterMark(term, extent), 1, extent, factor))
        if len(splits) > 1:
            splits.sort(key=_significance)
        reach = span_of(splits, compact=bijective)
        if reach is None:
            return None
        sums.append(IterSum(tuple(splits), base))
        extents.append(reach)
    if bijective:
        for var, domain in input_iters.items():
            if var not in used and not is_one(as_size(domain.extent)):
                return None
    return PlainSums(tuple(sums), tuple(extents))


def _is_open(term: Expr, analyzer: Analyzer | None) -> bool:
    """Whether `term` is a variable for which no other expression is known to stand."""
    if term.__class__ is not Var and term.__class__ is not SizeVar:
        return False
    return analyzer is None or analyzer.simplify(term) is term


def _significance(split: Any) -> int:
    """Digits sorted by it have the most significant first."""
    return -abs(split.scale)


def span_of(splits: Sequence[Any], *, compact: bool = False) -> int | None:
    """How many values digits span, the most significant first, of constant extents and scales.

    None if they overlap, or have gaps and must be compact.
    """
    reach = 1
    for split in reversed(splits):
        scale = split.scale
        if scale != reach:
            if compact or abs(scale) < reach:
                return None
            reach = abs(scale)
        reach *= split.extent
    return reach
