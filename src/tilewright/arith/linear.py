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

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import gcd
from typing import Any, NamedTuple

from tilewright.arith.facts import Interval
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Add, Expr, IntImm, Mul, SizeVar, Sub, Var
from tilewright.ir.folding import fold_constants
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk_once

Terms = dict[Any, int]
"""Coefficients by term."""

Opaque = Callable[[Any, int, Terms], int]
"""Adds a multiple of an expression that is not a sum to terms, and returns its constant part."""

LINEAR_NODES = frozenset({Add, Sub, Mul, IntImm})


MOST_VISITS = 256
"""Summands that are looked at before those that are shared are looked at once only."""


def collect(
    expr: Any,
    scale: int,
    terms: Terms,
    opaque: Opaque | None = None,
    known: Mapping[Any, LinearForm] | None = None,
) -> int:
    """Add ``scale * expr`` to `terms` and return its constant part.

    The time is linear in the number of distinct nodes, also where a sum has the same part many
    times, as ``y + y`` with ``y = x + x``.

    Args:
        expr: an expression of scalar integers.
        scale: its multiple.
        terms: the coefficients so far; a term may end up with 0.
        opaque: called as ``opaque(part, scale, terms)`` on what is not a sum, multiple, variable or
            constant; without it, such a part is a term by its identity.
        known: what variables stand for; for one that is missing, `opaque` is called. Without it,
            each variable is a term.
    """
    part: Any = expr
    factor = scale
    constant, visits = 0, 0
    waiting: list[tuple[Any, int]] = []
    while visits < MOST_VISITS:
        kind = part.__class__
        if kind is Add or kind is Mul or kind is Sub:
            a, b = part.a, part.b
            if b.__class__ is IntImm:
                if a.__class__ is IntImm:
                    folded = fold_constants(kind, a, b)
                    # A number that the dtype does not hold is not an index: it wraps around.
                    if folded is not None:
                        part = folded
                        continue
                part = a
                if kind is Mul:
                    factor *= b.value
                else:
                    constant += factor * b.value if kind is Add else -factor * b.value
                continue
            if kind is not Mul:
                waiting.append((b, factor if kind is Add else -factor))
                visits += 1
                part = a
                continue
            if a.__class__ is IntImm:
                part = b
                factor *= a.value
                continue
        if kind is IntImm:
            constant += factor * part.value
        elif known is None and (opaque is None or kind is Var or kind is SizeVar):
            terms[part] = terms.get(part, 0) + factor
        else:
            constant += _add_term(part, factor, terms, opaque, known)
        if not waiting:
            return constant
        part, factor = waiting.pop()
    waiting.append((part, factor))
    return constant + _collect_shared(waiting[::-1], terms, opaque, known)


def _add_term(
    part: Any,
    scale: int,
    terms: Terms,
    opaque: Opaque | None,
    known: Mapping[Any, LinearForm] | None,
) -> int:
    """`collect` for an expression that is neither a sum nor a number."""
    if part.__class__ is Var or part.__class__ is SizeVar:
        form = single(part) if known is None else known.get(part)
        if form is not None:
            return form.add_to(terms, scale)
    if opaque is not None:
        return opaque(part, scale, terms)
    terms[part] = terms.get(part, 0) + scale
    return 0


def _collect_shared(
    multiples: Sequence[tuple[Any, int]],
    terms: Terms,
    opaque: Opaque | None,
    known: Mapping[Any, LinearForm] | None,
) -> int:
    """Add multiples of several expressions; like `collect`, but each node is looked at once."""
    summands = _summands_outer_first([part for part, _ in multiples])
    scales = dict.fromkeys(summands, 0)
    for part, scale in multiples:
        scales[part] += scale
    constant = 0
    for part, addends in summands.items():
        scale = scales[part]
        if part.__class__ is IntImm:
            constant += scale * part.value
        elif not addends:
            constant += _add_term(part, scale, terms, opaque, known)
        for addend, factor in addends:
            scales[addend] += scale * factor
    return constant


Summands = tuple[tuple[Any, int], ...]
"""The summands with their factors; empty for anything but a sum."""


def _summands_outer_first(roots: Sequence[Any]) -> dict[Any, Summands]:
    """The summands of `roots` and of all their parts.

    A part comes after all sums that it is a part of, and otherwise in the order of writing.
    """
    found: dict[Any, Summands] = {}
    inner_first: list[Any] = []
    waiting = [(root, False) for root in roots]
    while waiting:
        part, is_done = waiting.pop()
        if is_done:
            inner_first.append(part)
        elif part not in found:
            found[part] = _summands(part)
            waiting.append((part, True))
            waiting += [(summand, False) for summand, _ in found[part]]
    return {part: found[part] for part in reversed(inner_first)}


def _summands(expr: Any) -> Summands:
    kind = expr.__class__
    if kind is not Add and kind is not Sub and kind is not Mul:
        return ()
    a, b = expr.a, expr.b
    if a.__class__ is IntImm and b.__class__ is IntImm:
        folded = fold_constants(kind, a, b)
        if folded is not None:
            return ((folded, 1),)
    if kind is not Mul:
        return (a, 1), (b, 1 if kind is Add else -1)
    if b.__class__ is IntImm:
        return ((a, b.value),)
    return ((b, a.value),) if a.__class__ is IntImm else ()


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


def without_low_digits(
    form: LinearForm, bounds: Callable[[LinearForm], Interval]
) -> LinearForm | None:
    """A shorter form that is negative where `form` is, and nowhere else; None if there is none.

    ``8 * i + j - 128`` with ``0 <= j < 8`` gives ``i - 16``: ``g * (upper + q) + lower`` with
    ``0 <= lower < g`` is negative if and only if ``upper + q`` is.
    """
    factors = [abs(factor) for factor in form.terms.values()]
    for g in sorted({*factors, gcd(*factors)}, reverse=True):
        if g == 1:
            break
        lower = {term: factor for term, factor in form.terms.items() if factor % g}
        if len(lower) == len(form.terms):
            continue
        low, high = bounds(LinearForm(lower, form.constant % g))
        if low >= 0 and high < g:
            upper = {term: factor // g for term, factor in form.terms.items() if not factor % g}
            return LinearForm(upper, form.constant // g)
    return None


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
    return any(node in wanted for node in walk_once(expr))


def variables_of(expr: Node) -> set[Expr]:
    """The variables that `expr` mentions."""
    return {node for node in walk_once(expr) if isinstance(node, Var)}


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
