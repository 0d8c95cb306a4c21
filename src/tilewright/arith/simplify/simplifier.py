"""The simplifier: one bottom-up pass that remembers every node it has seen.

Simplified nodes are hash-consed: within one simplifier, structurally equal results are the same
object, so equality of terms is identity. Sums and multiples of scalar integers go through the
linear normal form in one step, however deep they nest; every other operator simplifies its operands
and then asks the rules of its own family, which live in the modules beside this one.

What the rules may assume about overflow is defined in `tilewright.arith.bounds`. No rule removes or
adds an evaluation that may fail (a division by what may be 0, a load).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from tilewright.arith.bounds import (
    IMPURE,
    PARTIAL,
    bounds_of,
    effects_of,
    is_exact,
    linear_bounds,
    product,
)
from tilewright.arith.facts import Facts, Interval
from tilewright.arith.linear import Terms, collect
from tilewright.ir.convert import wrap_int
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    EQ,
    NE,
    Add,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    SizeVar,
    Sub,
    Var,
)
from tilewright.ir.node import Role

_COMMUTATIVE = frozenset({Min, Max, EQ, NE})
_PLAIN = frozenset({Var, SizeVar})

Handler = Callable[["Simplifier", Any], Expr]
Constructor = Callable[..., Expr]


class Simplifier:
    """Simplifies expressions under `facts`.

    Attributes:
        facts: what is known; an `Analyzer` replaces it when a constraint scope opens or closes.
        handlers: per node class, the function that simplifies a node of it.
        constructors: per class of operator, the function that makes one of operands that are
            simplified already.
    """

    handlers: ClassVar[dict[type[Any], Handler]] = {}
    constructors: ClassVar[dict[type[Any], Constructor]] = {}

    __slots__ = ("_interned", "_leaves", "_products", "factors", "facts")

    def __init__(self) -> None:
        self.facts = Facts()
        self._interned: dict[Any, Expr] = {}
        self._leaves: dict[tuple[str, int], Expr] = {}
        self._products: dict[tuple[int, ...], Expr] = {}
        self.factors: dict[Expr, tuple[Expr, ...]] = {}

    def copy(self) -> Simplifier:
        """Another simplifier under the same facts, which has the same object for equal nodes."""
        copy = Simplifier.__new__(Simplifier)
        copy.facts = self.facts.inner()
        copy._interned, copy._leaves = self._interned, self._leaves
        copy._products, copy.factors = self._products, self.factors
        return copy

    def __call__(self, expr: Expr) -> Expr:
        """The simplified form of `expr`, hash-consed."""
        memo = self.facts.simplified
        found = memo.get(expr)
        if found is None:
            handler = self.handlers.get(expr.__class__)
            found = _simplify_other(self, expr) if handler is None else handler(self, expr)
            memo[expr] = memo[found] = found
        return found

    def child(self, node: Any) -> Any:
        """A child of an opaque node, simplified if it is an expression."""
        return self(node) if isinstance(node, Expr) else node.map_children(self.child)

    # --- making nodes -----------------------------------------------------------------------

    def constant(self, value: int, dtype: DType) -> Expr:
        """The constant `value`, wrapped around to `dtype`."""
        key = (dtype, value)
        found = self._leaves.get(key)
        if found is None:
            found = self._leaves[key] = IntImm(dtype, wrap_int(value, dtype))
        return found

    def make(self, kind: type[Any], a: Expr, b: Expr) -> Expr:
        """The node ``kind(a, b)``, as it is, of two simplified operands."""
        key = (kind, a, b)
        found = self._interned.get(key)
        if found is None:
            if kind in _COMMUTATIVE:
                found = self._interned.get((kind, b, a))
                if found is not None:
                    return found
            found = self._interned[key] = kind(a, b)
        return found

    def construct(self, kind: type[Any], *operands: Expr) -> Expr:
        """``kind(*operands)``, simplified, of simplified operands."""
        return self.constructors[kind](self, *operands)

    def intern(self, expr: Any) -> Expr:
        """The node that stands for all nodes equal to `expr`, whose children are simplified."""
        if expr.__class__ is IntImm:
            return self._leaves.setdefault((expr.dtype, expr.value), expr)
        if expr.__class__ is FloatImm:
            sign = math.copysign(1.0, expr.value)
            return self._interned.setdefault((FloatImm, expr.dtype, expr.value, sign), expr)
        if effects_of(self.facts, expr) & IMPURE:
            return expr
        key: list[Any] = [expr.__class__]
        key += [
            getattr(expr, field.name)
            for field in expr.__node_fields__
            if field.role is not Role.META and field.role is not Role.DERIVED
        ]
        try:
            return self._interned.setdefault(tuple(key), expr)
        except TypeError:  # an attribute that cannot be hashed: the node stands for itself
            return expr

    # --- sums -------------------------------------------------------------------------------

    def terms_of(self, expr: Expr) -> tuple[Terms, int]:
        """The linear form of a simplified expression."""
        terms: Terms = {}
        constant = collect(expr, 1, terms)
        return terms, constant

    def add_simplified(self, expr: Expr, scale: int, terms: Terms) -> int:
        """Add a multiple of what `expr` is when it is simplified; for `collect`."""
        return collect(self(expr), scale, terms)

    def sum(self, terms: Terms, constant: int, dtype: DType) -> Expr:
        """The expression ``sum(factor * term) + constant``, as a person would write it.

        The first term with a positive factor comes first, the others follow in their order, and
        the constant comes last; it comes first if all factors are negative.
        """
        result: Expr | None = None
        for first, factor in terms.items():
            if factor > 0:
                result = self._multiple(first, factor, dtype)
                break
        else:
            first = None
            if constant:
                result, constant = self.constant(constant, dtype), 0
        for term, factor in terms.items():
            if term is first or factor == 0:
                continue
            if result is None:
                result = self._multiple(term, factor, dtype)
            elif factor > 0 or factor == dtype.min_int:
                result = self.make(Add, result, self._multiple(term, factor, dtype))
            else:
                result = self.make(Sub, result, self._multiple(term, -factor, dtype))
        if result is None:
            return self.constant(constant, dtype)
        if constant > 0 or constant == dtype.min_int:
            return self.make(Add, result, self.constant(constant, dtype)) if constant else result
        return self.make(Sub, result, self.constant(-constant, dtype)) if constant else result

    def _multiple(self, term: Expr, factor: int, dtype: DType) -> Expr:
        if factor == 1:
            return term
        return self.make(Mul, term, self.constant(factor, dtype))

    def product(self, factors: tuple[Expr, ...]) -> Expr:
        """The product of simplified terms, one node for each set of factors."""
        if len(factors) == 1:
            return factors[0]
        key = tuple(sorted(map(id, factors)))
        found = self._products.get(key)
        if found is None:
            found = factors[0]
            for factor in factors[1:]:
                found = self.make(Mul, found, factor)
            self._products[key] = found
            self.factors[found] = factors
        return found

    # --- questions of the rules -------------------------------------------------------------

    def bounds(self, expr: Expr) -> Interval:
        """Constant bounds of `expr`."""
        return bounds_of(self.facts, expr)

    def lower(self, expr: Expr) -> int:
        """A constant that `expr` is not below."""
        return bounds_of(self.facts, expr)[0]

    def upper(self, expr: Expr) -> int:
        """A constant that `expr` is not above."""
        return bounds_of(self.facts, expr)[1]

    def total(self, expr: Expr) -> bool:
        """Whether evaluating `expr` cannot fail, reads no memory and changes nothing."""
        return not effects_of(self.facts, expr) & (PARTIAL | IMPURE)

    def pure(self, terms: Terms) -> bool:
        """Whether equal terms may be taken together."""
        facts = self.facts
        for term in terms:
            if term.__class__ not in _PLAIN and effects_of(facts, term) & IMPURE:
                return False
        return True

    def exact(self, expr: Expr) -> bool:
        """Whether `expr`, a sum, has its mathematical value: it does not wrap around."""
        if expr.__class__ not in (Add, Sub, Mul):
            return True
        terms, constant = self.terms_of(expr)
        return self.exact_form(terms, constant, expr.dtype)

    def exact_form(self, terms: Terms, constant: int, dtype: DType) -> bool:
        """The same of a linear form; a term that must be evaluated has no factor 0."""
        if 0 in terms.values():
            return False
        interval = linear_bounds(self.facts, terms, constant)
        return is_exact(self.facts, terms, interval, dtype) and self.pure(terms)

    def exact_factors(self, term: Expr) -> tuple[Expr, ...]:
        """The factors of a product; the product itself if it may wrap around."""
        factors = self.factors.get(term)
        if factors is None:
            return (term,)
        value = (1, 1)
        for factor in factors:
            value = product(value, self.bounds(factor))
        return factors if is_exact(self.facts, {term: 1}, value, term.dtype) else (term,)


def _simplify_other(simplifier: Simplifier, expr: Expr) -> Expr:
    """Any node without rules: its children simplified."""
    return simplifier.intern(expr.map_children(simplifier.child))
