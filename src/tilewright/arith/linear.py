"""Linear forms: an integer expression as ``sum(coefficient * term) + constant``.

There is one way to take an expression apart, `collect`: sums, differences, multiples and numbers.
What the rest of it is depends on who asks, and is a function of theirs that adds it to the terms.
By default a term is a variable, or any expression that is not itself a sum or a multiple, by
identity. Others take products and quotients apart, or know what variables stand for; then terms are
objects of their own, such as `tilewright.arith.quotients.Quotient`.

Terms keep the order in which they were written, so that an expression that is rebuilt reads as a
person wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tilewright.arith.facts import Interval
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Add, Expr, IntImm, Mul, SizeVar, Sub, Var
from tilewright.ir.folding import fold_constants
from tilewright.ir.node import Node

Terms = dict[Any, int]
"""Coefficients by term."""

Opaque = Callable[[Any, int, Terms], int]
"""Adds a multiple of an expression that is no sum to terms, and returns its constant part."""

LINEAR_NODES = frozenset({Add, Sub, Mul, IntImm})


def collect(
    expr: Any,
    scale: int,
    terms: Terms,
    opaque: Opaque | None = None,
    known: Mapping[Any, LinearForm] | None = None,
) -> int:
    """Add ``scale * expr`` to `terms` and return its constant part.

    Args:
        expr: an expression of scalar integers.
        scale: its multiple.
        terms: the coefficients so far; a term may end up with 0.
        opaque: called as ``opaque(part, scale, terms)`` on what is not a sum, multiple, variable or
            constant; without it, such a part is a term by its identity.
        known: what variables stand for; for one that is missing, `opaque` is called. Without it,
            each variable is a term.
    """
    kind = expr.__class__
    if kind is IntImm:
        return scale * expr.value
    if kind is Var or kind is SizeVar:
        if known is None:
            terms[expr] = terms.get(expr, 0) + scale
            return 0
        form = known.get(expr)
        if form is not None:
            for term, coefficient in form.terms.items():
                terms[term] = terms.get(term, 0) + scale * coefficient
            return scale * form.constant
    elif kind is Add or kind is Sub or kind is Mul:
        a, b = expr.a, expr.b
        if b.__class__ is IntImm and a.__class__ is IntImm:
            # A number that the dtype does not hold is not an index: it wraps around.
            folded = fold_constants(kind, a, b)
            if folded is not None:
                return scale * folded.value  # type: ignore[attr-defined]
        if kind is Add:
            left = collect(a, scale, terms, opaque, known)
            return left + collect(b, scale, terms, opaque, known)
        if kind is Sub:
            left = collect(a, scale, terms, opaque, known)
            return left + collect(b, -scale, terms, opaque, known)
        if b.__class__ is IntImm:
            return collect(a, scale * b.value, terms, opaque, known)
        if a.__class__ is IntImm:
            return collect(b, scale * a.value, terms, opaque, known)
    if opaque is not None:
        return opaque(expr, scale, terms)
    terms[expr] = terms.get(expr, 0) + scale
    return 0


class LinearForm(NamedTuple):
    """``sum(coefficient * term) + constant``.

    Attributes:
        terms: the coefficients, none of which is 0.
        constant: the constant.
    """

    terms: Terms
    constant: int

    def is_constant(self) -> bool:
        """Whether it is a number."""
        return not self.terms

    def add_to(self, terms: Terms, scale: int) -> int:
        """Add a multiple to `terms`, which may end up with 0, and return its constant part."""
        for term, coefficient in self.terms.items():
            terms[term] = terms.get(term, 0) + scale * coefficient
        return scale * self.constant

    def plus(self, other: LinearForm, times: int = 1) -> LinearForm:
        """``self + times * other``."""
        terms = dict(self.terms)
        constant = self.constant + other.add_to(terms, times)
        return LinearForm(nonzero(terms), constant)

    def times(self, factor: int) -> LinearForm:
        """``factor * self``."""
        return ZERO.plus(self, factor)

    def bounds(self, interval: Callable[[Any], Interval]) -> Interval:
        """The least and the largest value where each term lies in its interval."""
        low = high = self.constant
        for term, coefficient in self.terms.items():
            least, most = interval(term)
            if coefficient > 0:
                low += coefficient * least
                high += coefficient * most
            else:
                low += coefficient * most
                high += coefficient * least
        return low, high


ZERO = LinearForm({}, 0)


def single(term: Any) -> LinearForm:
    """The form that is one term."""
    return LinearForm({term: 1}, 0)


def nonzero(terms: Terms) -> Terms:
    """The terms but for those with coefficient 0."""
    if 0 not in terms.values():
        return terms
    return {term: coefficient for term, coefficient in terms.items() if coefficient}


def linear_form(
    expr: Any, opaque: Opaque | None = None, known: Mapping[Any, LinearForm] | None = None
) -> LinearForm:
    """The form of an expression of scalar integers; see `collect`."""
    terms: Terms = {}
    constant = collect(expr, 1, terms, opaque, known)
    return LinearForm(nonzero(terms), constant)


def constant_difference(a: Expr, b: Expr) -> int | None:
    """``a - b`` if it is a number that shows without further knowledge; scalar integers."""
    if a.dtype is not b.dtype:
        return None
    terms: Terms = {}
    constant = collect(a, 1, terms) + collect(b, -1, terms)
    return None if any(terms.values()) else constant


def mentions(expr: Node, variables: Iterable[Expr]) -> bool:
    """Whether `expr` contains one of `variables`."""
    wanted = set(variables)
    stack: list[Node] = [expr]
    while stack:
        node = stack.pop()
        if node in wanted:
            return True
        stack.extend(node.children())
    return False


def variables_of(expr: Node) -> set[Expr]:
    """The variables that `expr` mentions."""
    found: set[Expr] = set()
    stack: list[Node] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Var):
            found.add(node)
        stack.extend(node.children())
    return found


def detect_linear_equation(expr: object, variables: Iterable[Var]) -> list[Expr] | None:
    """The coefficients of `expr` as a linear function of `variables`.

    Args:
        expr: an integer expression.
        variables: the variables, in the order of the result.

    Returns:
        One coefficient per variable, then the rest, which mentions none of them:
        ``expr == sum(coefficient * variable) + rest``. Coefficients may be symbolic. None if the
        expression is not linear in the variables.
    """
    wanted = list(variables)
    source = as_expr(expr)
    dtype = source.dtype
    if not dtype.is_integral or dtype.lanes != 1:
        return None
    coefficients: dict[Expr, Expr] = dict.fromkeys(wanted, IntImm(dtype, 0))
    rest: Expr = IntImm(dtype, 0)
    dependent = _dependent(source, coefficients)
    waiting: list[tuple[Expr, Expr]] = [(source, IntImm(dtype, 1))]
    while waiting:  # a loop, as sums of thousands of terms nest as deeply
        part, scale = waiting.pop()
        if part in coefficients:
            coefficients[part] = coefficients[part] + scale
        elif part not in dependent:
            rest = rest + part * scale
        elif isinstance(part, (Add, Sub)):
            waiting.append((part.b, scale if isinstance(part, Add) else scale * -1))
            waiting.append((part.a, scale))
        elif isinstance(part, Mul) and part.b not in dependent:
            waiting.append((part.a, part.b * scale))
        elif isinstance(part, Mul) and part.a not in dependent:
            waiting.append((part.b, part.a * scale))
        else:
            return None
    return [*(coefficients[v] for v in wanted), rest]


def _dependent(expr: Expr, variables: Mapping[Expr, Any]) -> set[Node]:
    """The parts of `expr` that mention one of `variables`."""
    parts: list[Node] = [expr]
    for part in parts:
        parts.extend(part.children())
    found: set[Node] = set()
    for part in reversed(parts):  # children come after their parents
        if part in variables or not found.isdisjoint(part.children()):
            found.add(part)
    return found
