"""Integer index expressions multiplied out, with equal products collected.

Index arithmetic is a sum of products: `(m_0 * 16 + m_1) * 1024 + l`. In the expanded form two
indices can be compared, the stride along a loop can be read off, and the text is what a person
would write. A term of it is a variable, or a `Product`: of several factors, or of one that is
neither sum nor multiple (a division, a load), which is opaque.

Expansion is exact for arithmetic that wraps around. Looking through a cast to a wider type is not:
it assumes that index arithmetic does not overflow, as any access within its buffer does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache
from typing import Any

from tilewright.arith.linear import LinearForm, Terms, collect, linear_form, nonzero
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Add, Cast, Expr, IntImm, Mul, SizeVar, Sub, Var
from tilewright.ir.node import Node, Role
from tilewright.tir.substitute import variables_of

Key = Hashable


def structural_key(node: Node) -> Key:
    """A hashable value that is equal for expressions that are equal; variables by identity.

    It is for comparisons while the expressions live.
    """
    if isinstance(node, Var):
        return id(node)
    if isinstance(node, IntImm):
        return (IntImm, node.dtype, node.value)
    kind = node.__class__
    return (kind, *[_value_key(getattr(node, name), same) for name, same in _compared(kind)])


@cache
def _compared(kind: type[Node]) -> tuple[tuple[str, bool], ...]:
    """The fields that count of nodes of a class, and whether the nodes in them must be the same."""
    return tuple(
        (field.name, field.role in (Role.USE, Role.BINDS))
        for field in kind.__node_fields__
        if field.role not in (Role.META, Role.DERIVED)
    )


def _value_key(value: object, same: bool) -> Key:
    if isinstance(value, Node):
        return id(value) if same else structural_key(value)
    if isinstance(value, tuple):
        return tuple([_value_key(item, same) for item in value])
    return value if isinstance(value, Hashable) else id(value)


class Product:
    """A product as a term; equal where the factors are, in any order, by structure.

    Attributes:
        factors: in the order of the text.
    """

    __slots__ = ("_hash", "_key", "factors")

    def __init__(self, factors: tuple[Expr, ...]) -> None:
        keys = [structural_key(factor) for factor in factors]
        if len(keys) > 1:
            keys.sort(key=hash)
        self.factors, self._key = factors, keys
        self._hash = hash(tuple(keys))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Product) and self._key == other._key


def factors_of(term: Any) -> tuple[Expr, ...]:
    """The factors of a term: those of a product, or the variable that it is."""
    return term.factors if term.__class__ is Product else (term,)


def affine(expr: Expr) -> LinearForm:
    """The expanded form of an integer expression."""
    return linear_form(expr, _add_factor)


def difference(left: Expr, right: Expr) -> LinearForm:
    """The expanded form of `left - right`."""
    terms: Terms = {}
    constant = collect(left, 1, terms, _add_factor) + collect(right, -1, terms, _add_factor)
    return LinearForm(nonzero(terms), constant)


def _add_factor(expr: Any, scale: int, terms: Terms) -> int:
    """Add a multiple of a product or of an opaque expression; returns the constant part."""
    if expr.__class__ is Mul:
        return _add_product(affine(expr.a), affine(expr.b), scale, terms)
    if expr.__class__ is Cast and _widens(expr):
        inner = affine(expr.value)
        for term, coefficient in inner.terms.items():
            widened = tuple(cast(expr.dtype, factor) for factor in factors_of(term))
            _add_term(terms, scale * coefficient, widened)
        return scale * inner.constant
    _add_term(terms, scale, (expr,))
    return 0


def _widens(expr: Cast) -> bool:
    source, target = expr.value.dtype, expr.dtype
    if expr.value.__class__ not in (Add, Sub, Mul):
        return False
    return source.is_index and target.is_int and source.bits <= target.bits


def _add_product(a: LinearForm, b: LinearForm, scale: int, terms: Terms) -> int:
    for x, n in a.terms.items():
        for y, m in b.terms.items():
            _add_term(terms, scale * n * m, factors_of(x) + factors_of(y))
        if b.constant:
            terms[x] = terms.get(x, 0) + scale * n * b.constant
    return b.add_to(terms, scale * a.constant) if a.constant else 0


def _add_term(terms: Terms, scale: int, factors: tuple[Expr, ...]) -> None:
    is_variable = len(factors) == 1 and factors[0].__class__ in (Var, SizeVar)
    term = factors[0] if is_variable else Product(factors)
    terms[term] = terms.get(term, 0) + scale


def to_expr(form: LinearForm, dtype: DType) -> Expr:
    """The expression of an expanded form: products with constants last, subtraction for minus."""
    result: Expr | None = None
    negative: list[tuple[Any, int]] = []
    for term, coefficient in form.terms.items():
        if coefficient < 0:
            negative.append((term, coefficient))
            continue
        product = _product(term, coefficient, dtype)
        result = product if result is None else Add(result, product)
    constant = form.constant
    if constant > 0 or (result is None and (constant or not negative)):
        imm = _constant(constant, dtype)
        result = imm if result is None else Add(result, imm)
        constant = 0
    for term, coefficient in negative:
        if result is None:
            result = _product(term, coefficient, dtype)
        else:
            result = Sub(result, _product(term, -coefficient, dtype))
    if constant < 0 and result is not None:
        result = Sub(result, _constant(-constant, dtype))
    assert result is not None
    return result


def plus_constant(expr: Expr | None, constant: int, dtype: DType) -> Expr:
    """`expr + constant`, as `to_expr` writes it where `expr` subtracts nothing; None is 0."""
    if expr is None:
        return _constant(constant, dtype)
    if constant > 0:
        return Add(expr, _constant(constant, dtype))
    return Sub(expr, _constant(-constant, dtype)) if constant else expr


def _product(term: Any, coefficient: int, dtype: DType) -> Expr:
    first, *others = factors_of(term)
    for factor in others:
        first = Mul(first, factor)
    return first if coefficient == 1 else Mul(first, _constant(coefficient, dtype))


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


def mentions(form: LinearForm, variables: Iterable[Var]) -> bool:
    """Whether any of the variables occurs, also inside of opaque factors."""
    wanted = set(variables)
    return any(
        var in wanted for term in form.terms for f in factors_of(term) for var in variables_of(f)
    )


def split(form: LinearForm, var: Var) -> tuple[LinearForm, LinearForm] | None:
    """`(coefficient, rest)` with `form = coefficient * var + rest`, neither mentioning `var`.

    In place of `var` there may also be a cast of it to a wider type. None if `form` is not linear
    in `var`.
    """
    slope: Terms = {}
    rest: Terms = {}
    constant = form.terms.get(var, 0)
    for term, coefficient in form.terms.items():
        if term.__class__ is not Product:
            if term is not var:
                rest[term] = coefficient
            continue
        others = tuple(f for f in term.factors if f is not var and not _is_widened(f, var))
        if len(term.factors) - len(others) > 1 or any(occurs(var, f) for f in others):
            return None
        if len(others) == len(term.factors):
            rest[term] = coefficient
        elif others:
            _add_term(slope, coefficient, others)
        else:
            constant += coefficient
    return LinearForm(nonzero(slope), constant), LinearForm(rest, form.constant)


def stride_along(form: LinearForm, var: Var) -> int | None:
    """What a form grows by with `var`, if that is a number; 0 if `var` does not occur."""
    if not any(term.__class__ is Product for term in form.terms):
        return form.terms.get(var, 0)
    parts = split(form, var)
    return parts[0].constant if parts is not None and parts[0].is_constant() else None


def _is_widened(factor: Expr, var: Var) -> bool:
    """Whether a factor is `var` as a wider integer, which has the same value."""
    if factor.__class__ is not Cast or factor.value is not var:  # type: ignore[attr-defined]
        return False
    return factor.dtype.is_int and var.dtype.is_int and factor.dtype.bits >= var.dtype.bits
