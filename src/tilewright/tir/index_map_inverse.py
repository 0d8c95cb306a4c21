"""Inverting index maps.

A map is inverted by its normal form, in which every new index is a sum of digits of old ones. A
map with padding has no such form on the old indices alone: ``(i // 4, i % 4)`` leaves two places
free if there are 14 of them. So the old indices are first extended until all digits are complete,
here to 16. What is padding follows from the inverse: a place whose old index is one of the added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, TypeGuard

from tilewright.arith import Analyzer, detect_iter_map, inverse_affine_iter_map
from tilewright.arith.linear import linear_form
from tilewright.error import ArgumentValueError
from tilewright.ir.arithmetic import logical_not, logical_or
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import Expr, FloorDiv, FloorMod, IntImm, Var, is_const_int
from tilewright.ir.range import Range
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.index_map import IndexMap


class _Inverted(NamedTuple):
    """The inverse of a bijection between boxes.

    Attributes:
        back: the inverse.
        ranges: the box of new indices that it is defined on.
    """

    back: IndexMap
    ranges: tuple[Range, ...]


def inverse(index_map: IndexMap, ranges: Sequence[Range]) -> IndexMap:
    """See `IndexMap.inverse`."""
    if index_map.inverse_index_map is not None:
        return index_map.inverse_index_map
    index_map, ranges = index_map.aligned_with(ranges)
    index_map = _with_digits_of_quotients(index_map)
    found = _inverted(index_map, ranges)
    if isinstance(found, _Inverted):
        return found.back
    if isinstance(_inverted(index_map, _padded(index_map, ranges)), _Inverted):
        found = "the new layout has padding, see non_surjective_inverse"
    raise ArgumentValueError(f"{index_map!r} is not bijective on {_shown(ranges)}: {found}")


def non_surjective_inverse(index_map: IndexMap, ranges: Sequence[Range]) -> tuple[IndexMap, Expr]:
    """See `IndexMap.non_surjective_inverse`."""
    index_map, ranges = index_map.aligned_with(ranges)
    given = index_map.inverse_index_map
    if given is not None:
        # A given inverse may map padding to places that do exist.
        again = index_map.map_indices(given.final_indices)
        checks = [x != y for x, y in zip(again, given.initial_indices, strict=True)]
        return given, _padding(index_map, ranges, given, checks)
    index_map = _with_digits_of_quotients(index_map)
    found = _inverted(index_map, ranges)
    if not isinstance(found, _Inverted):
        reason = found
        found = _inverted(index_map, _padded(index_map, ranges))
        if not isinstance(found, _Inverted):
            raise ArgumentValueError(
                f"{index_map!r} cannot be inverted on {_shown(ranges)}: {reason}; "
                "if it is injective, give its inverse_index_map"
            )
    elif _is_all(found.ranges, index_map.map_ranges(ranges)):
        return found.back, const(False)
    outside = _outside(found.back.initial_indices, found.ranges)
    return found.back, _padding(index_map, ranges, found.back, outside)


def _is_all(box: Sequence[Range], array: Sequence[Range]) -> bool:
    """Whether a box starts at 0, and is the whole array; for constant ranges only."""
    return all(
        is_const_int(item.min, 0)
        and is_const_int(whole.min, 0)
        and isinstance(item.extent, IntImm)
        and is_const_int(whole.extent, item.extent.value)
        for item, whole in zip(box, array, strict=True)
    )


def _with_digits_of_quotients(index_map: IndexMap) -> IndexMap:
    """The map with remainders of the numbers whose quotients are other indices.

    ``((y * 12 + x) // 8, (y * 4 + x) % 8)`` has the digits of ``y * 12 + x``, though its remainder
    was simplified by itself.
    """
    quotients = [
        node for index in index_map.final_indices for node in walk(index) if _is_quotient(node)
    ]
    if not quotients:
        return index_map
    rewriter = _Remainders(quotients)
    return IndexMap(index_map.initial_indices, tuple(map(rewriter, index_map.final_indices)))


def _is_quotient(node: object) -> TypeGuard[FloorDiv]:
    return isinstance(node, FloorDiv) and isinstance(node.b, IntImm) and node.b.value > 1


class _Remainders(Rewriter):
    def __init__(self, quotients: Sequence[FloorDiv]) -> None:
        self._quotients = quotients

    def FloorMod(self, node: FloorMod) -> Expr:
        for quotient in self._quotients:
            divisor = quotient.b
            if isinstance(divisor, IntImm) and is_const_int(node.b, divisor.value):
                apart = linear_form(as_expr(quotient.a - node.a))
                if not any(n % divisor.value for n in (apart.constant, *apart.terms.values())):
                    return FloorMod(quotient.a, divisor)
        return node.map_children(self)


def _inverted(index_map: IndexMap, ranges: Sequence[Range]) -> _Inverted | str:
    """The inverse of a bijection, or why there is none."""
    domains = dict(zip(index_map.initial_indices, ranges, strict=True))
    found = detect_iter_map(index_map.final_indices, domains, require_bijective=True)
    if not found.is_affine:
        return "; ".join(found.errors)
    outputs = tuple(
        Var(f"axis{position}", index.dtype)
        for position, index in enumerate(index_map.final_indices)
    )
    parts = inverse_affine_iter_map(found.indices, outputs)
    analyzer = Analyzer()
    box = []
    for var, total, extent in zip(outputs, found.indices, found.extents, strict=True):
        box.append(Range.from_min_extent(total.base, as_expr(extent, var.dtype)))
        _bind_in_array(analyzer, var, box[-1])
    final = []
    for var, domain in domains.items():
        value = domain.min if var not in parts else parts[var] + domain.min
        final.append(analyzer.simplify(cast(var.dtype, value)))
    return _Inverted(IndexMap(outputs, tuple(final)), tuple(box))


# --- padding --------------------------------------------------------------------------------


def _padded(index_map: IndexMap, ranges: Sequence[Range]) -> list[Range]:
    """The ranges, extended so that every quotient and remainder divides whole iterators."""
    needed = _Divisors(index_map)
    result = []
    for var, domain in zip(index_map.initial_indices, ranges, strict=True):
        multiple = needed.multiples.get(var, 1)
        if multiple == 1 or not isinstance(domain.min, IntImm):
            result.append(domain)
            continue
        # With `(i + offset) // multiple` in the map, `i + offset` is what must be whole tiles.
        offset = needed.offsets.get(var, 0)
        first = domain.min.value + offset
        start = min(first // multiple * multiple, 0) if first < 0 else 0
        reach = domain.extent + (first - start)
        extent = (reach + (multiple - 1)) // multiple * multiple
        result.append(
            Range.from_min_extent(IntImm(domain.min.dtype, start - offset), as_expr(extent))
        )
    return result


class _Divisors:
    """Of what each old index must have a multiple of values, and what is added to it before."""

    def __init__(self, index_map: IndexMap) -> None:
        self.multiples: dict[Expr, int] = {}
        self.offsets: dict[Expr, int] = {}
        for index in index_map.final_indices:
            for part in walk(index):
                if isinstance(part, (FloorDiv, FloorMod)):
                    self._require(part.a, part.b)

    def _require(self, expr: Any, divisor: Any) -> None:
        """Note that the values of `expr` are divided by `divisor`."""
        if not isinstance(divisor, IntImm) or divisor.value < 1:
            return
        terms, offset = linear_form(expr)
        if not terms:
            return
        # Only the outermost iterator of a fused one can be longer than it is.
        term = max(terms, key=lambda t: abs(terms[t]))
        factor = abs(terms[term])
        multiple = divisor.value // math.gcd(divisor.value, factor)
        if isinstance(term, Var):
            self.multiples[term] = math.lcm(self.multiples.get(term, 1), multiple)
            if terms[term] == 1 and len(terms) == 1:
                self.offsets[term] = offset
        elif isinstance(term, FloorDiv) and isinstance(term.b, IntImm):
            self._require(term.a, IntImm(term.dtype, term.b.value * multiple))


def _padding(
    index_map: IndexMap, ranges: Sequence[Range], back: IndexMap, others: Sequence[Expr]
) -> Expr:
    """The condition that `back` gives a place outside of `ranges`, or that one of `others` holds.

    It is meant for the indices of an array of the shape that `IndexMap.map_shape` gives.
    """
    analyzer = Analyzer()
    for var, domain in zip(back.initial_indices, index_map.map_ranges(ranges), strict=True):
        _bind_in_array(analyzer, var, domain)
    result: Expr = const(False)
    with ExitStack() as scope:
        for condition in (*others, *_outside(back.final_indices, ranges)):
            condition = analyzer.simplify(condition)
            result = logical_or(result, condition)
            # What follows matters only where no condition so far holds.
            scope.enter_context(analyzer.constraint(logical_not(condition)))
    return result


def _outside(values: Sequence[Expr], ranges: Sequence[Range]) -> list[Expr]:
    """Conditions of which one holds if not all values are in their ranges."""
    conditions = []
    for value, domain in zip(values, ranges, strict=True):
        low, high = (cast(value.dtype, end) for end in (domain.min, domain.min + domain.extent))
        conditions += [value < low, value >= high]
    return conditions


def _bind_in_array(analyzer: Analyzer, var: Var, domain: Range) -> None:
    """Bind the index `var` of an array whose elements are in a range: arrays start at 0."""
    low, extent = cast(var.dtype, domain.min), cast(var.dtype, domain.extent)
    if analyzer.can_prove(low >= 0):
        low, extent = IntImm(var.dtype, 0), analyzer.simplify(low + extent)
    analyzer.bind_range(var, low, extent)


def _shown(ranges: Sequence[Range]) -> str:
    return ", ".join(f"[{domain.min!r}, {domain.min + domain.extent!r})" for domain in ranges)
