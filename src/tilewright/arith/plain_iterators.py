"""Iterator maps in the usual case, which needs no algebra: sums of multiples of whole iterators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.arith.analyzer import Analyzer
from tilewright.arith.iter_form import IterMark, IterSplit, IterSum, as_size, is_one, is_zero
from tilewright.arith.linear import Terms, collect
from tilewright.ir.expr import Expr, IntImm, SizeVar, Var


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
            domain = input_iters.get(term)  # type: ignore[call-overload]
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
                splits.append(IterSplit(IterMark(term, extent), 1, extent, factor))  # type: ignore[arg-type]
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
