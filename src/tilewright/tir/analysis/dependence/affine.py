"""Integer expressions as isl reads them: linear forms over dimensions, sizes and unknowns.

Quotients and remainders by constants are exact. What is not affine becomes an *unknown*, an
existentially quantified integer of its own: ``A[idx[i] * 4 + j]`` may be any element whose index is
4 times something plus `j`. So a relation in which an unknown occurs holds too much, never too
little; `Affine.exact` tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tilewright.arith.linear import LinearForm, Terms, linear_form, single, variables_of
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    Call,
    Expr,
    IntImm,
    Let,
    Not,
    Or,
    SizeVar,
    Var,
)
from tilewright.ir.node import Node
from tilewright.tir.analysis.dependence.operators import LONGEST, OPERATORS
from tilewright.tir.analysis.dependence.solver import opaque_name, parameter_name, text_of
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import For

Scope = Mapping[Var, "str | Expr | For | None"]
"""What a variable is: a dimension, an expression, an inner loop, or None where nothing is known.

A variable that is missing is a size: it has one value in the whole function.
"""

_COMPARISONS: Final[dict[type, tuple[str, str]]] = {
    LT: ("<", ">="), LE: ("<=", ">"), GT: (">", "<="), GE: (">=", "<"), EQ: ("=", "!="),
    NE: ("!=", "="),
}  # fmt: skip


class Affine:
    """Translates expressions of one relation.

    Attributes:
        parameters: the sizes that occur.
        unknowns: names of the existentially quantified integers.
        constraints: what is known about them.
        exact: whether nothing was given up.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.parameters: dict[str, None] = {}
        self.unknowns: list[str] = []
        self.constraints: list[str] = []
        self.exact = True
        self._loops: dict[For, str] = {}
        self._forms: dict[Expr, LinearForm] = {}

    def points(self, names: Sequence[str], conditions: Sequence[str]) -> str:
        """``[names] : conditions``, with all that is known about the unknowns."""
        return f"[{', '.join(names)}] : {self._quantified(conditions)}"

    def relation(
        self, names: Sequence[str], values: Sequence[str], conditions: Sequence[str] = ()
    ) -> str:
        """``[names] -> [values] : conditions``, with all that is known about the unknowns."""
        if self.unknowns:
            results = [f"o{number}" for number in range(len(values))]
            equations = (f"{r} = {v}" for r, v in zip(results, values, strict=True))
            conditions, values = (*equations, *conditions), results
        head = f"[{', '.join(names)}] -> [{', '.join(values)}]"
        return f"{head} : {self._quantified(conditions)}"

    def _quantified(self, conditions: Sequence[str]) -> str:
        body = " and ".join((*conditions, *self.constraints)) or "true"
        return f"exists ({', '.join(self.unknowns)} : {body})" if self.unknowns else body

    def text(self, expr: Expr) -> str:
        """An integer expression."""
        return text_of(self.linear(expr))

    def unknown(self, *, exact: bool = False) -> str:
        """A new existentially quantified integer."""
        name = f"u{len(self.unknowns)}"
        self.unknowns.append(name)
        self.exact &= exact
        return name

    # --- integers ---------------------------------------------------------------------------

    def linear(self, expr: Any) -> LinearForm:
        """The linear form of an expression; its terms are names, and quotients."""
        kind = expr.__class__
        if kind is IntImm:
            return LinearForm({}, expr.value)
        if kind is Var or kind is SizeVar:
            return self._variable(expr)
        if not expr.dtype.is_index:
            return self._opaque(expr)  # it may wrap around
        return linear_form(expr, self._add, self._forms)

    def _add(self, expr: Any, scale: int, terms: Terms) -> int:
        kind = expr.__class__
        if kind is Var or kind is SizeVar:
            return self._variable(expr).add_to(terms, scale)
        handler = OPERATORS.get(kind)
        found = None if handler is None else handler(self, expr)
        return (self._opaque(expr) if found is None else found).add_to(terms, scale)

    def _variable(self, var: Var) -> LinearForm:
        if var not in self.scope:
            name = self._parameter(var)
        else:
            known = self.scope[var]
            if known is None:
                return single(self.unknown())
            if isinstance(known, Expr):
                return self.linear(known)
            name = known if isinstance(known, str) else self._loop(known)
        found = self._forms[var] = single(name)
        return found

    def _loop(self, loop: For) -> str:
        """The variable of a loop inside of the statement: any of its values."""
        name = self._loops.get(loop)
        if name is None:
            name = self._loops[loop] = self.unknown(exact=True)
            low, size = self.linear(loop.min), self.linear(loop.extent)
            end = text_of(low.plus(size))
            self.constraints.append(f"{text_of(low)} <= {name} < {end}")
        return name

    def _parameter(self, var: Var) -> str:
        name = parameter_name(var)
        self.parameters[name] = None
        return name

    def _opaque(self, expr: Expr) -> LinearForm:
        """A size of its own if only sizes occur, otherwise an unknown."""
        if expr.dtype.is_index and self._is_size(expr):
            name = opaque_name(self._key(expr), repr(expr))
            for var in variables_of(expr):
                self.parameters[parameter_name(self._resolved(var))] = None
            self.parameters[name] = None
            return single(name)
        return single(self.unknown())

    def _is_size(self, expr: Node) -> bool:
        if isinstance(expr, Var):
            return self._resolved(expr) not in self.scope
        if isinstance(expr, (BufferLoad, Call, Let)):
            return False
        return all(map(self._is_size, expr.children()))

    def _resolved(self, var: Any) -> Any:
        """The variable that `var` is another name of."""
        while isinstance(self.scope.get(var), Var):
            var = self.scope[var]
        return var

    def _key(self, expr: Any) -> str:
        """Equal for expressions of sizes that are the same."""
        if isinstance(expr, Var):
            return parameter_name(self._resolved(expr))
        operands = expr.children()
        if not operands:
            return repr(expr)
        return f"{type(expr).__name__}({', '.join(map(self._key, operands))})"

    # --- conditions -------------------------------------------------------------------------

    def formula(self, expr: Any, negated: bool = False) -> str:
        """A condition (or its opposite); what is not affine may hold, so it is ``true``."""
        kind = expr.__class__
        if kind is IntImm:
            return "true" if bool(expr.value) is not negated else "false"
        if kind is Not:
            return self.formula(expr.a, not negated)
        if kind is And or kind is Or:
            join = "and" if (kind is And) is not negated else "or"
            return f"({self.formula(expr.a, negated)} {join} {self.formula(expr.b, negated)})"
        if kind is Call and getattr(expr.op, "name", "") == "tir.likely":
            return self.formula(expr.args[0], negated)
        if kind is Var and isinstance(self.scope.get(expr), Expr):
            return self.formula(self.scope[expr], negated)
        if kind in _COMPARISONS and expr.a.dtype.is_index and expr.dtype.lanes == 1:
            a, b = self.text(expr.a), self.text(expr.b)
            if len(a) + len(b) < LONGEST:
                return f"{a} {_COMPARISONS[kind][negated]} {b}"
        self.exact = False
        return "true"
