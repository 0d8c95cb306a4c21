"""Patterns of several values of a dataflow block, and how they use each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tilewright.error import ArgumentError
from tilewright.ir.op import Op
from tilewright.ir.recursion import ScopeStack
from tilewright.ir.rewrite import walk
from tilewright.relax.dpl.matching import Matching
from tilewright.relax.dpl.pattern import DFPattern, duplicated
from tilewright.relax.expr import Call, DataflowBlock, DataflowVar, Tuple, Var, VarBinding

Matches = dict[DFPattern, Any]
"""The variable that stands for each pattern; what is bound to none, such as a constant, itself."""

_CALLS_OF_KERNELS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_dps_packed")


class Use(NamedTuple):
    """That one value uses another one.

    Attributes:
        producer: the pattern of what is used.
        consumer: the pattern of what uses it.
        argument: as which argument; -1 for any.
        only: whether nothing else uses it.
    """

    producer: DFPattern
    consumer: DFPattern
    argument: int
    only: bool


def ways_of_uses(uses: Sequence[Use], block: DataflowBlock) -> Iterator[Matches]:
    """All ways in which values of a block stand for patterns that use each other."""
    return _Search(uses, block).ways()


class _Search:
    """Values of a block that stand for patterns, tried one after the other.

    Each pattern comes after one that it is related to, if there is one, so that only the values
    that use it, or that it uses, are tried.
    """

    def __init__(self, uses: Sequence[Use], block: DataflowBlock) -> None:
        self.uses = uses
        self.patterns = _in_order(uses)
        # What a cast promises is lost where it is looked through.
        self.values = {b.var: b.value for b in block.bindings if isinstance(b, VarBinding)}
        self.names = {value: var for var, value in reversed(self.values.items())}
        self.outputs = {b.var for b in block.bindings if not isinstance(b.var, DataflowVar)}
        self.inputs: dict[Var, None] = {}
        self.users: dict[Var, list[Var]] = {}
        for binding in block.bindings:
            for var in _variables_of(binding.value):
                self.users.setdefault(var, []).append(binding.var)
                if var not in self.values:
                    self.inputs[var] = None
        self.matching = Matching(self.values.get)
        self.chosen: dict[DFPattern, Var] = {}

    def ways(self) -> Iterator[Matches]:
        """The ways in which values stand for the patterns that are not chosen yet."""
        if len(self.chosen) == len(self.patterns):
            if self.matching.is_settled():
                parts = {p: self._name(value) for p, value in self.matching.found.items()}
                yield {**parts, **self.chosen}
            return
        pattern = self.patterns[len(self.chosen)]
        for var in list(self._candidates(pattern)):
            if any(var is other for other in self.chosen.values()):
                continue
            self.chosen[pattern] = var
            if all(self._holds(use) for use in self.uses):
                for _ in self.matching.ways(pattern, var):
                    yield from self.ways()
            del self.chosen[pattern]

    def _candidates(self, pattern: DFPattern) -> Iterable[Var]:
        if pattern in self.matching.found:
            name = self._name(self.matching.found[pattern])
            return [name] if isinstance(name, Var) else []
        for use in self.uses:
            if use.consumer is pattern and use.producer in self.chosen:
                return self.users.get(self.chosen[use.producer], ())
            if use.producer is pattern and use.consumer in self.chosen:
                return _variables_of(self.values.get(self.chosen[use.consumer]))
        return (*self.inputs, *self.values)

    def _name(self, value: Any) -> Any:
        return value if isinstance(value, Var) else self.names.get(value, value)

    def _holds(self, use: Use) -> bool:
        """Whether a use is as it should be, as far as both sides are chosen."""
        producer, consumer = self.chosen.get(use.producer), self.chosen.get(use.consumer)
        if use.only and producer is not None and not self._has_one_user(producer):
            return False
        if producer is None or consumer is None:
            return True
        if use.argument < 0:
            return any(user is consumer for user in self.users.get(producer, ()))
        places = [n for n, arg in enumerate(self._arguments(consumer)) if arg is producer]
        return use.argument in places and not (use.only and len(places) > 1)

    def _has_one_user(self, var: Var) -> bool:
        return var not in self.outputs and len(self.users.get(var, ())) == 1

    def _arguments(self, consumer: Var) -> tuple[Any, ...]:
        value = self.values.get(consumer)
        if isinstance(value, Tuple):
            return value.fields
        if not isinstance(value, Call):
            return ()
        is_kernel = isinstance(value.op, Op) and value.op.name in _CALLS_OF_KERNELS
        operands = value.args[1] if is_kernel else None
        return operands.fields if isinstance(operands, Tuple) else value.args


def _variables_of(value: Any) -> list[Var]:
    """The variables that a value mentions, each once."""
    found = () if value is None else (node for node in walk(value) if isinstance(node, Var))
    return list(dict.fromkeys(found))


def _in_order(uses: Sequence[Use]) -> list[DFPattern]:
    """The patterns of some uses, each after one that it is related to, if there is one."""
    mentioned = dict.fromkeys(pattern for use in uses for pattern in (use.producer, use.consumer))
    ordered: dict[DFPattern, None] = {}
    while len(ordered) < len(mentioned):
        ordered[next(pattern for pattern in mentioned if pattern not in ordered)] = None
        changed = True
        while changed:
            changed = False
            for use in uses:
                if (use.producer in ordered) != (use.consumer in ordered):
                    ordered.update({use.producer: None, use.consumer: None})
                    changed = True
    return list(ordered)


_scopes: ScopeStack[PatternContext] = ScopeStack()


class Link(NamedTuple):
    """How a pattern of a sequence uses the one before: see `Use`."""

    argument: int
    only: bool


class PatternSeq:
    """Patterns, each of which uses the one before.

    Args:
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
        """A copy of the patterns and their uses, which stands for other values."""
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
