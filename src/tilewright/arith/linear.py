"""Linear normal form: an integer expression as ``sum(coefficient * term) + constant``.

A term is a variable or any expression that is not itself a sum or a multiple. Terms keep the order
in which they were written, so that an expression that is rebuilt reads as a person wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Add, Expr, IntImm, Mul, SizeVar, Sub, Var
from tilewright.ir.folding import fold_constants
from tilewright.ir.node import Node

Terms = dict[Expr, int]

LINEAR_NODES = frozenset({Add, Sub, Mul, IntImm})
_ARITHMETIC = LINEAR_NODES - {IntImm}


def keep(expr: Expr) -> Expr:
    """The expression itself: for `collect`, when terms need no further treatment."""
    return expr


def collect(expr: Any, scale: int, terms: Terms, opaque: Callable[[Expr], Expr] = keep) -> int:
    """Add ``scale * expr`` to `terms` and return its constant part.

    Args:
        expr: an expression of scalar integers.
        scale: its multiple.
        terms: the coefficients so far, by identity of the term; a term may end up with 0.
        opaque: called on what is not a sum, multiple, variable or constant; if it returns a sum or
            a multiple, that is taken apart too.
    """
    kind = expr.__class__
    if kind is Var or kind is SizeVar:
        terms[expr] = terms.get(expr, 0) + scale
        return 0
    if kind is IntImm:
        return scale * expr.value
    if kind in _ARITHMETIC:
        # A number that the dtype does not hold is not an index: it wraps around.
        folded = fold_constants(kind, expr.a, expr.b)
        if folded is not None:
            return scale * folded.value  # type: ignore[attr-defined]
    if kind is Add:
        left = collect(expr.a, scale, terms, opaque)
        return left + collect(expr.b, scale, terms, opaque)
    if kind is Sub:
        left = collect(expr.a, scale, terms, opaque)
        return left + collect(expr.b, -scale, terms, opaque)
    if kind is Mul:
        a, b = expr.a, expr.b
        if b.__class__ is IntImm:
            return collect(a, scale * b.value, terms, opaque)
        if a.__class__ is IntImm:
            return collect(b, scale * a.value, terms, opaque)
    known = opaque(expr)
    if known is not expr and known.__class__ in LINEAR_NODES:
        return collect(known, scale, terms)
    terms[known] = terms.get(known, 0) + scale
    return 0


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
