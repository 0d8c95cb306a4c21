"""Comparing an expression with a pattern.

A pattern may fit in several ways, as the operands of a sum may come in any order. All of them are
tried, one after the other, until the rest fits, too: what fits here may not fit there, where the
same pattern stands for the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tilewright.ir.structural import structural_equal
from tilewright.relax.analysis.variables import definition
from tilewright.relax.expr import DataTypeImm, PrimValue, ShapeExpr, StringImm, Var

if TYPE_CHECKING:
    from tilewright.relax.dpl.pattern import DFPattern

Found = dict["DFPattern", Any]
"""What each pattern stands for: a variable for what is just a value, the value itself, such as a
call, for what looks into it."""

_LITERALS = (DataTypeImm, PrimValue, ShapeExpr, StringImm)
"""What is the same value where it is written again."""


class Matching:
    """One comparison.

    Args:
        lookup: the value that a variable is bound to; None for a parameter.

    Attributes:
        found: what the patterns stand for, in the way that is looked at.
    """

    def __init__(self, lookup: Callable[[Var], Any]) -> None:
        self._lookup = lookup
        self.found: Found = {}
        self._questions: list[Callable[[Found], bool]] = []

    def value(self, expr: Any) -> Any:
        """What `expr` is computed by; itself if that is not known."""
        return definition(self._lookup, expr)

    def match(self, pattern: DFPattern, expr: Any) -> Found | None:
        """What the parts of `pattern` stand for, if `expr` looks like it; None otherwise."""
        for _ in self.ways(pattern, expr):
            if self.is_settled():
                return dict(self.found)
        return None

    def would_match(self, pattern: DFPattern, expr: Any) -> bool:
        """Whether `expr` looks like `pattern`, which stands for nothing then."""
        trial = Matching(self._lookup)
        trial.found.update(self.found)
        return trial.match(pattern, expr) is not None

    def ways(self, pattern: DFPattern, expr: Any) -> Iterator[Any]:
        """What `pattern` stands for, for each way in which `expr` looks like it."""
        if pattern in self.found:
            found = self.found[pattern]
            if self._is_same(found, expr):
                yield found
            return
        for found in pattern.ways(expr, self):
            self.found[pattern] = found
            try:
                yield found
            finally:
                del self.found[pattern]

    def ways_of_all(self, patterns: Sequence[DFPattern], exprs: Sequence[Any]) -> Iterator[None]:
        """The ways in which each expression looks like the pattern at its place."""
        if not patterns:
            yield
            return
        pairs = list(zip(patterns, exprs, strict=False))
        open_ways = [self.ways(*pairs[0])]
        while open_ways:
            if next(open_ways[-1], None) is None:
                open_ways.pop()
            elif len(open_ways) == len(pairs):
                yield
            else:
                open_ways.append(self.ways(*pairs[len(open_ways)]))

    def ways_in_any_order(
        self, patterns: Sequence[DFPattern], exprs: Sequence[Any]
    ) -> Iterator[None]:
        """The ways in which the expressions look like the patterns in some order."""
        if not patterns:
            yield
            return
        for position, expr in enumerate(exprs):
            for _ in self.ways(patterns[0], expr):
                others = [*exprs[:position], *exprs[position + 1 :]]
                yield from self.ways_in_any_order(patterns[1:], others)

    @contextmanager
    def asking(self, question: Callable[[Found], bool]) -> Iterator[None]:
        """Ask something of the match when all parts of it are found."""
        self._questions.append(question)
        try:
            yield
        finally:
            self._questions.pop()

    def is_settled(self) -> bool:
        """Whether all questions about the match, which is complete, have a good answer."""
        return all(question(self.found) for question in self._questions)

    def _is_same(self, one: Any, other: Any) -> bool:
        a, b = self.value(one), self.value(other)
        return a is b or (isinstance(a, _LITERALS) and structural_equal(a, b))
