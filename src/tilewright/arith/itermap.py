"""Iterator maps: index expressions as splits and fusions of independent loop iterators.

An index is in normal form if it is a sum of *splits*, digits of iterators in a mixed radix::

    index = base + sum(source // lower_factor % extent * scale)

in which no digit of any iterator appears twice in all indices, and the digits of one index do not
overlap. Such indices are quasi-affine, and different values of the iterators give different
indices. This is what bindings of blocks must be so that loops can be reordered without further
proof. The notion is from Feng et al., "TensorIR: An Abstraction for Automatic Tensorized Program
Optimization" (ASPLOS 2023), section 3.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tilewright.arith.analyzer import Analyzer, RangeLike
from tilewright.arith.facts import conjuncts
from tilewright.arith.iter_form import (
    IterMark,
    IterSplit,
    IterSum,
    Size,
    as_size,
    digits_key,
    is_one,
    is_zero,
    plain_sums,
    times,
)
from tilewright.arith.linear import Terms, collect, mentions
from tilewright.arith.simplify.leaves import keeps_integers
from tilewright.ir.arithmetic import minimum
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.expr import (
    GE,
    GT,
    LE,
    LT,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Mul,
    Var,
)


class IterMapResult(NamedTuple):
    """What `detect_iter_map` found.

    Attributes:
        indices: the normal form of each index; empty if there is none.
        errors: why there is none; empty on success.
        extents: per index, how many values its digits span (the base not counted), less where the
            predicate bounds the index.
    """

    indices: tuple[IterSum, ...]
    errors: tuple[str, ...]
    extents: tuple[Size, ...] = ()

    @property
    def is_affine(self) -> bool:
        """Whether there is a normal form."""
        return not self.errors


class _NotAffineError(Exception):
    """Carries the reason to `detect_iter_map`."""


def detect_iter_map(
    indices: Iterable[Expr],
    input_iters: Mapping[Var, RangeLike],
    predicate: Expr | bool = True,
    require_bijective: bool = False,
    analyzer: Analyzer | None = None,
) -> IterMapResult:
    """Find the normal form of index expressions over independent iterators.

    Args:
        indices: integer expressions, such as the bindings of a block.
        input_iters: the iterators with their ranges.
        predicate: restricts the values of the iterators; an upper bound of one of the indices
            makes its extent smaller.
        require_bijective: also require that every digit of every iterator is used, and that each
            index takes every value from its base on without gaps.
        analyzer: what is known about other variables.

    Returns:
        The normal form, or the reasons why there is none.
    """
    bindings, condition = tuple(indices), as_expr(predicate)
    plain = plain_sums(bindings, input_iters, require_bijective, analyzer)
    if plain is not None and condition.__class__ is IntImm:
        return IterMapResult(plain.sums, (), plain.extents)
    detector = _Detector(input_iters, analyzer)
    found = _detect(detector, bindings, condition, require_bijective)
    if found.errors and detector.simplified:
        # Simplifying may break up fused iterators: ``(i * 3 + j) % 2`` becomes ``(i + j) % 2``.
        detector = _Detector(input_iters, analyzer, simplify=False)
        second = _detect(detector, bindings, condition, require_bijective)
        return found if second.errors else second
    return found


def _detect(
    detector: _Detector, indices: tuple[Expr, ...], predicate: Expr, bijective: bool
) -> IterMapResult:
    try:
        sums = tuple(map(detector.index, indices))
        detector.check_digits(bijective)
        extents = tuple(detector.span(total, bijective) for total in sums)
        extents = detector.bounded(sums, extents, predicate, bijective)
    except _NotAffineError as error:
        return IterMapResult((), (str(error),))
    return IterMapResult(sums, (), extents)


class _Detector:
    """The state of one detection; `simplified` tells whether an index was simplified."""

    def __init__(
        self,
        input_iters: Mapping[Var, RangeLike],
        analyzer: Analyzer | None,
        simplify: bool = True,
    ) -> None:
        self._given = analyzer
        self._simplify = simplify
        self.simplified = False
        self._bound = False
        self._iters = input_iters
        self._marks: dict[Var, IterMark] = {}
        self._minimum: dict[Var, Expr] = {}
        self._used: dict[Any, tuple[IterMark, list[IterSplit]]] = {}
        for var, domain in input_iters.items():
            self._marks[var] = IterMark(var, as_size(domain.extent))
            low = domain.min
            if low.__class__ is not IntImm or low.value != 0:  # type: ignore[attr-defined]
                self._minimum[var] = low

    @property
    def analyzer(self) -> Analyzer:
        """Made on demand: most bindings need none."""
        if self._given is None:
            self._given = Analyzer()
        return self._given

    # --- reading an index -------------------------------------------------------------------

    def index(self, expr: Expr) -> IterSum:
        """The normal form of one index, its digits noted as used."""
        total = self.read(expr)
        for split in total.args:
            self._note(split)
        return total

    def read(self, expr: Expr) -> IterSum:
        """The normal form of `expr`, not yet checked against other uses of its iterators."""
        terms: Terms = {}
        constant = collect(expr, 1, terms)
        plain = all(term.__class__ is Var and term in self._marks for term in terms)
        if self._simplify and not plain:
            self.simplified = True
            terms = {}
            constant = collect(self._simplified(expr), 1, terms)
        splits: list[IterSplit] = []
        base: Expr = IntImm(expr.dtype, constant)
        for term, factor in terms.items():
            if factor:
                part = self._read_term(term, factor, splits)
                if part.__class__ is not int or part:
                    base = base + part
        return IterSum(tuple(splits if len(splits) < 2 else self._ordered(splits)), base)

    def _simplified(self, expr: Expr) -> Expr:
        analyzer = self.analyzer
        if not self._bound:
            self._bound = True
            for var in self._marks:
                domain = self._iters[var]
                analyzer.bind_range(var, domain.min, domain.extent)
        return analyzer.simplify(expr)

    def _read_term(self, term: Any, factor: int, splits: list[IterSplit]) -> Expr | int:
        """Add the digits of ``factor * term`` to `splits`; returns its part of the base."""
        mark = self._marks.get(term)
        if mark is not None:
            minimum = self._minimum.get(term)
            if not is_one(mark.extent):
                splits.append(IterSplit(mark, 1, mark.extent, factor))
            return 0 if minimum is None else minimum * factor
        if not mentions(term, self._marks):
            return term * factor
        if term.__class__ is Mul:
            return self._read_product(term, factor, splits)
        if term.__class__ is FloorDiv or term.__class__ is FloorMod:
            split, base = self._divided(term)
            if split is not None:
                splits.append(split._replace(scale=times(split.scale, factor)))
            return base * factor
        if term.__class__ is Cast and keeps_integers(term.value.dtype, term.dtype):
            total = self.read(term.value)
            splits += [s._replace(scale=times(s.scale, factor)) for s in total.args]
            return cast(term.dtype, total.base) * factor
        raise _NotAffineError(f"`{term!r}` is not a sum, multiple, quotient or remainder")

    def _read_product(self, term: Any, factor: int, splits: list[IterSplit]) -> Expr | int:
        for inner, other in ((term.a, term.b), (term.b, term.a)):
            if not mentions(other, self._marks):
                total = self.read(inner)
                by = as_size(other * factor)
                splits += [s._replace(scale=times(s.scale, by)) for s in total.args]
                return total.base * by
        raise _NotAffineError(f"`{term!r}` multiplies iterators")

    def _divided(self, term: Any) -> tuple[IterSplit | None, Expr]:
        """The digit that a quotient or a remainder is."""
        divisor = as_size(term.b)
        if not isinstance(divisor, int) and mentions(divisor, self._marks):
            raise _NotAffineError(f"`{term!r}` divides by an iterator")
        total = self.read(term.a)
        if not is_zero(total.base):
            raise _NotAffineError(f"`{term!r}` divides an iterator with an offset")
        zero = IntImm(term.dtype, 0)
        if not total.args:
            return None, zero
        split = self._whole(total)
        if not is_one(split.scale):
            raise _NotAffineError(f"`{term!r}` divides multiples of {split.scale!r}")
        return self._digit(term, split, divisor), zero

    def _whole(self, total: IterSum) -> IterSplit:
        """All digits of a sum as one, fusing them if they are several."""
        if len(total.args) == 1:
            return total.args[0]
        extent = self.span(total, compact=True)
        return IterSplit(IterMark(total, extent), 1, extent, 1)

    def _digit(self, term: Any, split: IterSplit, divisor: Size) -> IterSplit:
        """``split // divisor`` or ``split % divisor``; the extent must divide evenly."""
        high = self._exact_quotient(split.extent, divisor)
        if high is None:
            raise _NotAffineError(
                f"`{term!r}`: the extent {split.extent!r} is not a multiple of {divisor!r}"
            )
        if term.__class__ is FloorMod:
            return split._replace(extent=divisor)
        return split._replace(lower_factor=times(split.lower_factor, divisor), extent=high)

    def _exact_quotient(self, value: Size, by: Size) -> Size | None:
        if isinstance(value, int) and isinstance(by, int):
            return value // by if by > 0 and value % by == 0 else None
        quotient = self.analyzer.exact_quotient(value, by)
        return None if quotient is None else as_size(quotient)

    # --- checks -----------------------------------------------------------------------------

    def _ordered(self, splits: list[IterSplit]) -> list[IterSplit]:
        """Splits with the most significant first."""
        if all(isinstance(split.scale, int) for split in splits):
            return sorted(splits, key=lambda split: -abs(split.scale))
        rest = list(splits)
        ordered: list[IterSplit] = []
        scale: Size = 1
        while rest:
            found = next((s for s in rest if self._equal(s.scale, scale)), None)
            if found is None:
                raise _NotAffineError(f"no iterator has the stride {scale!r} that must come next")
            ordered.append(found)
            rest = [s for s in rest if s is not found]
            scale = times(scale, found.extent)
        return ordered[::-1]

    def _equal(self, a: Size, b: Size) -> bool:
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return self.analyzer.can_prove_equal(as_expr(a), as_expr(b))

    def span(self, total: IterSum, compact: bool) -> Size:
        """How many values the digits of `total` span; they must not overlap.

        Args:
            total: a sum in order.
            compact: also require that there are no gaps.
        """
        reach: Size = 1
        for split in reversed(total.args):
            if not self._equal(split.scale, reach):
                self._check_gap(split.scale, reach, compact)
                reach = abs(split.scale) if isinstance(split.scale, int) else split.scale
            reach = times(reach, split.extent)
        return reach

    def _check_gap(self, scale: Size, reach: Size, compact: bool) -> None:
        if compact:
            raise _NotAffineError(f"a stride is {scale!r} where {reach!r} is needed")
        if isinstance(scale, int) and isinstance(reach, int):
            if abs(scale) < reach:
                raise _NotAffineError(
                    f"the stride {scale} is less than the {reach} values below it"
                )
        elif not self.analyzer.can_prove(as_expr(scale) >= reach):
            raise _NotAffineError(f"the stride {scale!r} may be less than the {reach!r} below it")

    def _note(self, split: IterSplit) -> None:
        mark = split.source
        key: Any = mark.source
        if isinstance(key, IterSum):
            key = digits_key(key)
            if key not in self._used:
                for inner in mark.source.args:  # type: ignore[union-attr]
                    self._note(inner)
        self._used.setdefault(key, (mark, []))[1].append(split)

    def check_digits(self, bijective: bool) -> None:
        """No digit of an iterator is used twice; for a bijection, none is left out."""
        for mark, splits in self._used.values():
            if len(splits) == 1 and not bijective:
                continue
            self._check_digits_of(mark, splits, bijective)
        if bijective:
            for var, mark in self._marks.items():
                if var not in self._used and not is_one(mark.extent):
                    raise _NotAffineError(f"the iterator {var.name} is not used")

    def _check_digits_of(self, mark: IterMark, splits: list[IterSplit], bijective: bool) -> None:
        name = mark.source.name if isinstance(mark.source, Var) else "a fused iterator"
        factor: Size = 1
        rest = list(splits)
        while rest:
            found = next((s for s in rest if self._equal(s.lower_factor, factor)), None)
            if found is None:
                if bijective:
                    raise _NotAffineError(f"digits of {name} are not used")
                found = self._next_digit(rest, factor, name)
            rest = [s for s in rest if s is not found]
            factor = times(found.lower_factor, found.extent)
        if bijective and not self._equal(factor, mark.extent):
            raise _NotAffineError(f"digits of {name} are not used")

    def _next_digit(self, rest: list[IterSplit], factor: Size, name: str) -> IterSplit:
        """The lowest digit that remains, which must be above all digits so far."""
        constant = [s for s in rest if isinstance(s.lower_factor, int)]
        if not isinstance(factor, int) or len(constant) != len(rest):
            raise _NotAffineError(f"digits of {name} may be used twice")
        found = min(constant, key=lambda s: s.lower_factor)
        if found.lower_factor % factor:
            raise _NotAffineError(f"digits of {name} are used twice")
        return found

    # --- predicates -------------------------------------------------------------------------

    def bounded(
        self, sums: tuple[IterSum, ...], extents: tuple[Size, ...], predicate: Expr, strict: bool
    ) -> tuple[Size, ...]:
        """The extents, less where a part of the predicate is an upper bound of an index."""
        if predicate.__class__ is IntImm:
            return extents
        result = list(extents)
        for part in conjuncts(predicate):
            position, extent = self._upper_bound(part, sums)
            if position is None:
                if strict:
                    raise _NotAffineError(f"the predicate `{part!r}` bounds no index")
                continue
            result[position] = self._lesser(result[position], extent)
        return tuple(result)

    def _lesser(self, a: Size, b: Size) -> Size:
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        first, second = as_expr(a), as_expr(b)
        if self.analyzer.can_prove(second <= first):
            return b
        if self.analyzer.can_prove(first <= second):
            return a
        return as_size(minimum(first, second))

    def _upper_bound(self, part: Any, sums: tuple[IterSum, ...]) -> tuple[int | None, Size]:
        kind = part.__class__
        if kind not in (LT, LE, GT, GE):
            return None, 0
        low, high = (part.a, part.b) if kind in (LT, LE) else (part.b, part.a)
        if mentions(high, self._marks):
            return None, 0
        try:
            total = self.read(low)
        except _NotAffineError:
            return None, 0
        key = digits_key(total)
        for position, candidate in enumerate(sums):
            if digits_key(candidate) == key:
                limit = high + 1 if kind in (LE, GE) else high
                return position, as_size(self.analyzer.simplify(limit - total.base))
        return None, 0


def iter_map_simplify(
    indices: Iterable[Expr], input_iters: Mapping[Var, RangeLike], predicate: Expr | bool = True
) -> list[Expr]:
    """Indices simplified under the ranges of the iterators and the predicate."""
    analyzer = Analyzer()
    for var, domain in input_iters.items():
        analyzer.bind(var, domain)
    with analyzer.constraint(predicate):
        return [analyzer.simplify(index) for index in indices]
