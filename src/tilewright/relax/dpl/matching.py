"""Comparing an expression with a pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.relax.analysis.variables import definition
from tilewright.relax.dpl.pattern import DFPattern
from tilewright.relax.expr import Var


class Matching:
    """One comparison.

    Args:
        lookup: the value that a variable is bound to; None for a parameter.

    Attributes:
        found: what each pattern stands for so far: a variable for what is just a value, the value
            itself, such as a call, for what looks into it.
    """

    def __init__(self, lookup: Callable[[Var], Any]) -> None:
        self._lookup = lookup
        self.found: dict[DFPattern, Any] = {}

    def value(self, expr: Any) -> Any:
        """What `expr` is computed by; itself if that is not known."""
        return definition(self._lookup, expr)

    def match(self, pattern: DFPattern, expr: Any) -> bool:
        """Whether `expr` looks like `pattern`, with all that has been found so far."""
        if pattern in self.found:
            return self.value(self.found[pattern]) is self.value(expr)
        before = dict(self.found)
        if pattern.matches(expr, self):
            self.found[pattern] = pattern.result(expr, self)
            return True
        self.found = before
        return False

    def match_all(self, patterns: Sequence[DFPattern], exprs: Sequence[Any]) -> bool:
        """Whether each expression looks like the pattern at its place; more may follow."""
        before = dict(self.found)
        if all(self.match(p, e) for p, e in zip(patterns, exprs, strict=False)):
            return True
        self.found = before
        return False

    def match_any_order(self, patterns: Sequence[DFPattern], exprs: Sequence[Any]) -> bool:
        """Whether the expressions look like the patterns in some order."""
        if not patterns:
            return not exprs
        before = dict(self.found)
        for position, expr in enumerate(exprs):
            others = [*exprs[:position], *exprs[position + 1 :]]
            if self.match(patterns[0], expr) and self.match_any_order(patterns[1:], others):
                return True
            self.found = dict(before)
        return False

    def would_match(self, pattern: DFPattern, expr: Any) -> bool:
        """`match` without noting what is found."""
        before = dict(self.found)
        result = self.match(pattern, expr)
        self.found = before
        return result
