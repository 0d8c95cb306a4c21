"""Dividing what the iterators of a block are bound to: loops outside, and loops inside.

A binding is divided if it is ``outer * extent + inner`` where `outer` is made of loops outside and
`inner`, which is less than `extent`, of loops inside. Then the block can be cut in two: an outer
one with an iterator over `outer`, and in it an inner one with an iterator over `inner`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.iter_form import (
    IterSplit,
    IterSum,
    Size,
    inverse_affine_iter_map,
    is_one,
    plain_sums,
    span_of,
)
from tilewright.arith.itermap import detect_iter_map
from tilewright.arith.linear import linear_form, mentions
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterVar
from tilewright.tir.stmt import For
from tilewright.tir.substitute import substitute


class DivisionSide(NamedTuple):
    """One side of a divided binding.

    Attributes:
        value: what an iterator for this side is bound to.
        domain: its domain.
        is_trivial: whether no loop of this side is mentioned, so that an iterator has one value.
    """

    value: Expr
    domain: Range
    is_trivial: bool


class Division(NamedTuple):
    """A binding that is ``base + outer * scale + inner``."""

    base: Expr
    outer: DivisionSide
    scale: Expr
    inner: DivisionSide

    def joined(self, outer: Expr, inner: Expr) -> Expr:
        """The value of the binding from those of the two parts."""
        return self.base + outer * self.scale + inner


class Divider:
    """Divides bindings.

    Args:
        outer: the loops outside, the outermost first.
        inner: the loops inside.
        analyzer: what is known about other variables.
        keep_unit: whether loops of one iteration stay in the parts instead of being replaced.
    """

    def __init__(
        self, outer: Sequence[For], inner: Sequence[For], analyzer: Analyzer, keep_unit: bool
    ) -> None:
        self._analyzer = Analyzer()
        for loop in (*outer, *inner):
            if not (keep_unit and is_const_int(loop.extent, 1)):
                self._analyzer.bind_range(loop.loop_var, loop.min, loop.extent)
        # Detecting makes known to its analyzer that a unit loop has one value.
        self._detecting = analyzer
        self._ranges = {
            loop.loop_var: Range.from_min_extent(loop.min, loop.extent) for loop in (*outer, *inner)
        }
        self._starts: dict[Var, Expr] = {}
        for loop in (*outer, *inner):
            self._starts[loop.loop_var] = substitute(loop.min, self._starts)
        self._outer = {loop.loop_var for loop in outer}
        self._inner = {loop.loop_var for loop in inner}

    def divide(self, iter_var: IterVar, binding: Expr) -> Division | None:
        """The parts of what `iter_var` is bound to, or None if it cannot be divided."""
        assert iter_var.dom is not None
        zero, one = const(0, binding.dtype), const(1, binding.dtype)
        nothing = DivisionSide(zero, Range.from_min_extent(zero, one), True)
        whole = DivisionSide(binding, iter_var.dom, False)
        if not mentions(binding, self._inner):
            return Division(zero, whole, one, nothing)
        if mentions(binding, self._outer):
            division = self._divide_plain(binding) or self._divide(binding)
            return None if division is None else _inside(division, iter_var.dom)
        if self._is_whole(binding, iter_var.dom):
            return Division(zero, nothing, one, whole)
        base = self._analyzer.simplify(substitute(binding, self._starts))
        inner = self._without(binding, set(), base)
        span = self._span(inner)
        if span is None or (
            self._is(base, iter_var.dom.min) and self._is(span, iter_var.dom.extent)
        ):
            return Division(zero, nothing, one, whole)
        # Not all of the domain: what is outside of it may come from a block around.
        return Division(base, nothing, one, _part(inner, span))

    def _is_whole(self, binding: Expr, domain: Range) -> bool:
        """Whether it is plain that a binding spans just the domain."""
        form = plain_sums([binding], self._ranges, bijective=False)
        if form is None or any(map(_falls, form.sums[0].args)):
            return False
        base, low = form.sums[0].base, domain.min
        same_start = isinstance(low, IntImm) and is_const_int(base, low.value)
        return same_start and is_const_int(domain.extent, form.extents[0])

    def _divide_plain(self, binding: Expr) -> Division | None:
        """`_divide` of a sum of multiples of loops; None for others, and where it is impossible."""
        form = plain_sums([binding], self._ranges, bijective=False)
        if form is None or not isinstance(form.sums[0].base, IntImm):
            return None
        splits: Any = form.sums[0].args
        count = sum(split.source.source in self._outer for split in splits)
        outer, inner = splits[:count], splits[count:]
        size = span_of(inner)
        if size is None or any(split.source.source in self._outer for split in inner):
            return None
        scale = outer[-1].scale if outer else size
        terms, base = linear_form(binding)
        above = {var: factor for var, factor in terms.items() if var in self._outer}
        below = {var: factor for var, factor in terms.items() if var in self._inner}
        if any(map(_falls, splits)) or any(factor % scale for factor in above.values()):
            return None
        tiles = span_of([split._replace(scale=split.scale // scale) for split in outer])
        if tiles is None:
            return None
        dtype, value = binding.dtype, self._analyzer.simplified_sum
        above = {var: factor // scale for var, factor in above.items()}
        return Division(
            const(base, dtype),
            _part(value(above, 0, dtype), const(tiles, dtype)),
            const(scale, dtype),
            _part(value(below, 0, dtype), const(size, dtype)),
        )

    def _divide(self, binding: Expr) -> Division | None:
        form = detect_iter_map([binding], self._ranges, analyzer=self._detecting)
        if not form.is_affine:
            return None
        splits = form.indices[0].args
        sides = [self._side(split) for split in splits]
        # The outer digits come first, each a multiple of the last one.
        count = sides.count("outer")
        if sides != ["outer"] * count + ["inner"] * (len(sides) - count):
            return None
        simplify = self._analyzer.simplify
        base = simplify(substitute(binding, self._starts))
        inner = self._without(binding, self._outer, base)
        outer = self._without(binding, self._inner, base)
        inner_span = self._span(inner)
        scale = as_expr(splits[count - 1].scale, binding.dtype) if count else inner_span
        if inner_span is None or scale is None:
            return None
        if mentions(scale, self._ranges):
            return None
        if not all(self._is_multiple(split.scale, scale) for split in splits[:count]):
            return None
        number = self._tile_number(splits[:count], scale)
        outer = simplify(outer // scale) if number is None else number
        outer_span = self._span(outer)
        if outer_span is None:
            return None
        return Division(base, _part(outer, outer_span), scale, _part(inner, inner_span))

    def _tile_number(self, splits: Sequence[IterSplit], scale: Expr) -> Expr | None:
        """The digits divided by `scale`; None if they are not whole loops.

        Nothing is divided in the program, where the size of a tile of nothing is 0.
        """
        total: Expr = const(0, scale.dtype)
        for split in splits:
            loop: Any = split.source.source
            factor = self._detecting.exact_quotient(as_expr(split.scale, scale.dtype), scale)
            is_whole = is_one(split.lower_factor) and self._is(
                as_expr(split.extent, scale.dtype), as_expr(split.source.extent, scale.dtype)
            )
            if not (isinstance(loop, Var) and is_whole) or factor is None:
                return None
            total = total + (loop - self._starts[loop]) * factor
        return self._analyzer.simplify(total)

    def _without(self, binding: Expr, loops: set[Var], base: Expr) -> Expr:
        """What the other loops add to `base`."""
        starts = {var: self._starts[var] for var in loops}
        return self._analyzer.simplify(substitute(binding, starts) - base)

    def _side(self, split: IterSplit) -> str:
        variables = _sources(split)
        if variables <= self._outer:
            return "outer"
        return "inner" if variables <= self._inner else "both"

    def _span(self, value: Expr) -> Expr | None:
        """How many values `value` spans, from 0 on; None if it falls, or is not affine."""
        form = detect_iter_map([value], self._ranges, analyzer=self._detecting)
        if not form.is_affine or not all(
            self._detecting.can_prove(as_expr(split.scale, value.dtype) > 0)
            for split in form.indices[0].args
        ):
            return None
        span = as_expr(form.extents[0], value.dtype)
        return None if mentions(span, self._ranges) else span

    def _is(self, value: Expr, expected: Expr) -> bool:
        return self._detecting.can_prove_equal(value, expected)

    def _is_multiple(self, value: Size, by: Expr) -> bool:
        return self._detecting.exact_quotient(as_expr(value, by.dtype), by) is not None


def _inside(division: Division, domain: Range) -> Division:
    """A division of a binding, without tiles that begin behind the end of the iterator's domain.

    The loops around a block count further where their tiles do not divide the domain; the predicate
    of the block leaves that out.
    """
    end, count = domain.min + domain.extent, division.outer.domain.extent
    known = (division.base, division.scale, end, count)
    if not all(isinstance(value, IntImm) for value in known):
        return division
    base, scale, last, tiles = (value.value for value in known)  # type: ignore[attr-defined]
    needed = -(-(last - base) // scale)
    if not 0 < needed < tiles:
        return division
    outer = Range.from_min_extent(division.outer.domain.min, const(needed, count.dtype))
    return division._replace(outer=division.outer._replace(domain=outer))


def _falls(split: IterSplit) -> bool:
    """Whether a digit with a constant scale falls where its loop rises."""
    return isinstance(split.scale, int) and split.scale <= 0


def _part(value: Expr, span: Expr) -> DivisionSide:
    return DivisionSide(value, Range.from_min_extent(const(0, value.dtype), span), False)


def _sources(split: IterSplit) -> set[Var]:
    source = split.source.source
    if isinstance(source, IterSum):
        return {var for inner in source.args for var in _sources(inner)}
    return {source}


def loops_from_iterators(
    iterators: Mapping[Var, Expr], loops: Sequence[For], analyzer: Analyzer
) -> dict[Var, Expr]:
    """The variables of loops as expressions of iterators that are bound to expressions over them.

    Those that cannot be expressed are left out.
    """
    found: dict[Var, Expr] = {}
    for iterator, value in iterators.items():
        if isinstance(value, Var):
            found.setdefault(value, iterator)
    rest = {var: value for var, value in iterators.items() if not isinstance(value, Var)}
    ranges = {
        loop.loop_var: Range.from_min_extent(loop.min, loop.extent)
        for loop in loops
        if any(mentions(value, [loop.loop_var]) for value in rest.values())
    }
    form = detect_iter_map(rest.values(), ranges, require_bijective=True, analyzer=analyzer)
    if form.is_affine:
        inverse = inverse_affine_iter_map(form.indices, rest)
        for var, value in inverse.items():
            found.setdefault(var, analyzer.simplify(value + ranges[var].min))
    return found
