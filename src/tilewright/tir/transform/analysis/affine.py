"""Integer index expressions as polynomials of their variables.

Index arithmetic is a sum of products: `(m_0 * 16 + m_1) * 1024 + l`. In the expanded form, with
equal products collected, two indices can be compared, the stride along a loop can be read off, and
the text is what a person would write. Everything that is not a sum or product (a division, a load)
is an opaque atom.

Expansion is exact for arithmetic that wraps around. Looking through a cast to a wider type is not:
it assumes that index arithmetic does not overflow, as any access within its buffer does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Add, Cast, Expr, IntImm, Mul, Sub, Var
from tilewright.ir.node import Node, Role
from tilewright.tir.substitute import variables_of

Key = Hashable
Monomial = tuple[Key, ...]


class Term(NamedTuple):
    """`coefficient * factors[0] * factors[1] * ...`."""

    coefficient: int
    factors: tuple[Expr, ...]


class Affine(NamedTuple):
    """A sum of terms and a constant; `terms` keeps the order in which the text had them."""

    terms: Mapping[Monomial, Term]
    constant: int

    def is_constant(self) -> bool:
        """Whether no variable is left."""
        return not self.terms


def structural_key(node: Node) -> Key:
    """A hashable value that is equal for expressions that are equal; variables by identity.

    It is for comparisons while the expressions live.
    """
    if isinstance(node, Var):
        return id(node)
    if isinstance(node, IntImm):
        return (IntImm, node.dtype, node.value)
    parts: list[Key] = [node.__class__]
    for field in node.__node_fields__:
        if field.role is Role.META or field.role is Role.DERIVED:
            continue
        value = getattr(node, field.name)
        parts.append(_value_key(value, field.role))
    return tuple(parts)


def _value_key(value: object, role: Role) -> Key:
    if isinstance(value, tuple):
        return tuple(_value_key(item, role) for item in value)
    if isinstance(value, Node):
        return id(value) if role in (Role.USE, Role.BINDS) else structural_key(value)
    return value if isinstance(value, Hashable) else id(value)


def affine(expr: Expr) -> Affine:
    """The expanded form of an integer expression."""
    terms: dict[Monomial, Term] = {}
    constant = _add(expr, 1, terms)
    return Affine({k: t for k, t in terms.items() if t.coefficient}, constant)


def equal_forms(left: Affine, right: Affine) -> bool:
    """Whether the two have the same terms and constant."""
    if left.constant != right.constant or len(left.terms) != len(right.terms):
        return False
    for monomial, term in left.terms.items():
        other = right.terms.get(monomial)
        if other is None or other.coefficient != term.coefficient:
            return False
    return True


def difference(left: Expr, right: Expr) -> Affine:
    """The expanded form of `left - right`."""
    terms: dict[Monomial, Term] = {}
    constant = _add(left, 1, terms) + _add(right, -1, terms)
    return Affine({k: t for k, t in terms.items() if t.coefficient}, constant)


def add(left: Affine, right: Affine, scale: int) -> Affine:
    """The expanded form of `left + scale * right`."""
    terms = dict(left.terms)
    for term in right.terms.values():
        _add_term(terms, scale * term.coefficient, term.factors)
    constant = left.constant + scale * right.constant
    return Affine({k: t for k, t in terms.items() if t.coefficient}, constant)


def _add(expr: Expr, scale: int, terms: dict[Monomial, Term]) -> int:
    """Add `scale * expr` to `terms`; returns the constant part."""
    kind = expr.__class__
    if kind is IntImm:
        return scale * expr.value  # type: ignore[attr-defined]
    if kind is Add:
        return _add(expr.a, scale, terms) + _add(expr.b, scale, terms)  # type: ignore[attr-defined]
    if kind is Sub:
        return _add(expr.a, scale, terms) + _add(expr.b, -scale, terms)  # type: ignore[attr-defined]
    if kind is Mul:
        a, b = expr.a, expr.b  # type: ignore[attr-defined]
        if b.__class__ is IntImm:
            return _add(a, scale * b.value, terms)
        if a.__class__ is IntImm:
            return _add(b, scale * a.value, terms)
        return _add_product(affine(a), affine(b), scale, terms)
    if kind is Cast and _widens(expr):  # type: ignore[arg-type]
        inner = affine(expr.value)  # type: ignore[attr-defined]
        for term in inner.terms.values():
            widened = tuple(cast(expr.dtype, factor) for factor in term.factors)
            _add_term(terms, scale * term.coefficient, widened)
        return scale * inner.constant
    _add_term(terms, scale, (expr,))
    return 0


def _widens(expr: Cast) -> bool:
    source, target = expr.value.dtype, expr.dtype
    return source.is_int and target.is_int and source.bits <= target.bits and (
        expr.value.__class__ in (Add, Sub, Mul)
    )  # fmt: skip


def _add_product(a: Affine, b: Affine, scale: int, terms: dict[Monomial, Term]) -> int:
    for x in a.terms.values():
        for y in b.terms.values():
            _add_term(terms, scale * x.coefficient * y.coefficient, x.factors + y.factors)
        if b.constant:
            _add_term(terms, scale * x.coefficient * b.constant, x.factors)
    if a.constant:
        for y in b.terms.values():
            _add_term(terms, scale * a.constant * y.coefficient, y.factors)
    return scale * a.constant * b.constant


def _add_term(terms: dict[Monomial, Term], scale: int, factors: tuple[Expr, ...]) -> None:
    keys = [structural_key(factor) for factor in factors]
    if len(keys) > 1:
        keys.sort(key=_key_order)
    monomial = tuple(keys)
    found = terms.get(monomial)
    terms[monomial] = Term(scale + (found.coefficient if found else 0), factors)


def _key_order(key: Key) -> int:
    return hash(key)


def to_expr(form: Affine, dtype: DType) -> Expr:
    """The expression of an expanded form: products with constants last, subtraction for minus."""
    result: Expr | None = None
    negative: list[Term] = []
    for term in form.terms.values():
        if term.coefficient < 0:
            negative.append(term)
            continue
        product = _product(term, dtype)
        result = product if result is None else Add(result, product)
    constant = form.constant
    if constant > 0 or (result is None and (constant or not negative)):
        imm = _constant(constant, dtype)
        result = imm if result is None else Add(result, imm)
        constant = 0
    for term in negative:
        if result is None:
            result = _product(term, dtype)
        else:
            result = Sub(result, _product(term._replace(coefficient=-term.coefficient), dtype))
    if constant < 0 and result is not None:
        result = Sub(result, _constant(-constant, dtype))
    assert result is not None
    return result


def _product(term: Term, dtype: DType) -> Expr:
    result = term.factors[0]
    for factor in term.factors[1:]:
        result = Mul(result, factor)
    return result if term.coefficient == 1 else Mul(result, _constant(term.coefficient, dtype))


def _constant(value: int, dtype: DType) -> Expr:
    """`value` as arithmetic that wraps around sees it."""
    return const((value - dtype.min_int) % (1 << dtype.bits) + dtype.min_int, dtype)


def expand(expr: Expr) -> Expr:
    """`expr` multiplied out, with equal products collected; scalars of integer type only."""
    if expr.__class__ in (Add, Sub, Mul, Cast) and expr.dtype.is_int and expr.dtype.lanes == 1:
        return to_expr(affine(expr), expr.dtype)
    return expr


def occurs(var: Var, expr: Expr) -> bool:
    """Whether `expr` mentions `var`."""
    return any(found is var for found in variables_of(expr))


def mentions(form: Affine, variables: Iterable[Var]) -> bool:
    """Whether any of the variables occurs, also inside of atoms."""
    wanted = set(variables)
    return any(
        var in wanted for t in form.terms.values() for f in t.factors for var in variables_of(f)
    )


def split(form: Affine, var: Var) -> tuple[Affine, Affine] | None:
    """`(coefficient, rest)` with `form = coefficient * var + rest`, neither mentioning `var`.

    In place of `var` there may also be a cast of it to a wider type. None if `form` is not linear
    in `var`.
    """
    coefficient: dict[Monomial, Term] = {}
    rest: dict[Monomial, Term] = {}
    constant = 0
    for monomial, term in form.terms.items():
        others = tuple(f for f in term.factors if f is not var and not _is_widened(f, var))
        if len(term.factors) - len(others) > 1 or any(occurs(var, f) for f in others):
            return None
        if len(others) == len(term.factors):
            rest[monomial] = term
        elif others:
            _add_term(coefficient, term.coefficient, others)
        else:
            constant += term.coefficient
    return Affine(coefficient, constant), Affine(rest, form.constant)


def _is_widened(factor: Expr, var: Var) -> bool:
    """Whether a factor is `var` as a wider integer, which has the same value."""
    if factor.__class__ is not Cast or factor.value is not var:  # type: ignore[attr-defined]
        return False
    return factor.dtype.is_int and var.dtype.is_int and factor.dtype.bits >= var.dtype.bits
