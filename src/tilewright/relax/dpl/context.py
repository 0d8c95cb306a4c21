"""Patterns of several values of a dataflow block, and how they use each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tilewright.error import ArgumentError
from tilewright.ir.scope_stack import ScopeStack
from tilewright.relax.dpl.pattern import DFPattern, duplicated
from tilewright.relax.dpl.search import Matches, Use, ways_of_uses
from tilewright.relax.expr import DataflowBlock

_scopes: ScopeStack[PatternContext] = ScopeStack()


class Link(NamedTuple):
    """How a pattern of a sequence uses the one before: see `Use`."""

    argument: int
    only: bool


class PatternSeq:
    """Patterns of which each one uses the one before.

    Args:
        *patterns: the patterns.
        links: how each one but the first uses the one before.
    """

    def __init__(self, *patterns: DFPattern, links: tuple[Link, ...] = ()) -> None:
        self.patterns, self.links = patterns, links

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """`other` uses the last value as argument `index`, -1 for any."""
        return self._then(other, Link(index, only=False))

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """`other`, and nothing else, uses the last value."""
        return self._then(other, Link(index, only=True))

    def dup(self) -> PatternSeq:
        """Patterns of the same look that use each other in the same way, for other values."""
        known: dict[DFPattern, DFPattern] = {}
        first, *others = (duplicated(pattern, known) for pattern in self.patterns)
        result = PatternSeq(first)
        for pattern, link in zip(others, self.links, strict=True):
            result = result._then(pattern, link)
        return result

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def __getitem__(self, position: int) -> DFPattern:
        return self.patterns[position]

    def _then(self, other: DFPattern | PatternSeq, link: Link) -> PatternSeq:
        if isinstance(other, DFPattern):
            other = PatternSeq(other)
        if not isinstance(other, PatternSeq):
            raise ArgumentError(f"used_by and only_used_by expect a pattern, got {other!r}")
        use = Use(self.patterns[-1], other.patterns[0], link.argument, link.only)
        PatternContext.require_current().uses.append(use)
        return PatternSeq(*self.patterns, *other.patterns, links=(*self.links, link, *other.links))


class PatternContext:
    """Patterns with the uses between them::

        with PatternContext() as ctx:
            conv = is_op("relax.nn.conv2d")(wildcard(), wildcard())
            relu = is_op("relax.nn.relu")(wildcard())
            conv.only_used_by(relu)
            found = ctx.match_dfb(block)

    Different patterns that are related stand for different values.

    Args:
        incremental: whether the uses of the context around belong to this one, too.
    """

    def __init__(self, incremental: bool = False) -> None:
        around = _scopes.innermost() if incremental else None
        self.uses: list[Use] = [] if around is None else list(around.uses)

    def __enter__(self) -> PatternContext:
        _scopes.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _scopes.leave()

    @staticmethod
    def current() -> PatternContext | None:
        """The innermost context."""
        return _scopes.innermost()

    @staticmethod
    def require_current() -> PatternContext:
        """The innermost context.

        Raises:
            ArgumentError: if there is none.
        """
        current = _scopes.innermost()
        if current is None:
            raise ArgumentError("used_by and only_used_by belong into `with PatternContext():`")
        return current

    def match_dfb(self, dfb: DataflowBlock) -> Matches | None:
        """The variable that stands for each pattern; None if the block has no such values."""
        return next(self.matches_in(dfb), None)

    def matches_in(self, dfb: DataflowBlock) -> Iterator[Matches]:
        """All ways in which values of the block stand for the patterns."""
        if not self.uses:
            raise ArgumentError("the PatternContext has no patterns; relate some by used_by")
        if not isinstance(dfb, DataflowBlock):
            raise ArgumentError(f"match_dfb: expected a dataflow block, got {dfb!r}")
        return ways_of_uses(self.uses, dfb)
