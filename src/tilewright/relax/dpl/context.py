"""Patterns of several values of a dataflow block, and how they use each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.error import ArgumentError
from tilewright.ir.rewrite import walk
from tilewright.ir.scope_stack import ScopeStack
from tilewright.relax.dpl.matching import Matching
from tilewright.relax.dpl.pattern import DFPattern
from tilewright.relax.expr import Call, DataflowBlock, DataflowVar, RelaxExpr, Tuple, Var

_scopes: ScopeStack[PatternContext] = ScopeStack()


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


class PatternSeq:
    """Patterns of which each one uses the one before."""

    def __init__(self, *patterns: DFPattern) -> None:
        self.patterns = patterns

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """`other` uses the last value as argument `index`, -1 for any."""
        return self._then(other, index, only=False)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """`other`, and nothing else, uses the last value."""
        return self._then(other, index, only=True)

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def __getitem__(self, position: int) -> DFPattern:
        return self.patterns[position]

    def _then(self, other: DFPattern | PatternSeq, index: int, *, only: bool) -> PatternSeq:
        following = other.patterns if isinstance(other, PatternSeq) else (other,)
        PatternContext.require_current().uses.append(
            Use(self.patterns[-1], following[0], index, only)
        )
        return PatternSeq(*self.patterns, *following)


class PatternContext:
    """Patterns with the uses between them::

    with PatternContext() as ctx:
        conv = is_op("relax.nn.conv2d")(wildcard(), wildcard())
        relu = is_op("relax.nn.relu")(wildcard())
        conv.only_used_by(relu)
        found = ctx.match_dfb(block)
    """

    def __init__(self) -> None:
        self.uses: list[Use] = []

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

    @property
    def patterns(self) -> list[DFPattern]:
        """The patterns that use each other, in the order in which they were mentioned."""
        found: dict[DFPattern, None] = {}
        for use in self.uses:
            found.update({use.producer: None, use.consumer: None})
        return list(found)

    def match_dfb(self, dfb: DataflowBlock) -> dict[DFPattern, Var] | None:
        """The variable that stands for each pattern; None if the block has no such values."""
        return next(self.matches_in(dfb), None)

    def matches_in(self, dfb: DataflowBlock) -> Iterator[dict[DFPattern, Var]]:
        """All ways in which values of the block stand for the patterns."""
        if not self.uses:
            raise ArgumentError("the PatternContext has no patterns; relate some by used_by")
        yield from _Search(self.uses, dfb).ways(self.patterns, {})


class _Search:
    """Values of a block that stand for patterns, tried one after the other."""

    def __init__(self, uses: Sequence[Use], block: DataflowBlock) -> None:
        self.uses = uses
        self.values: dict[Var, RelaxExpr] = {b.var: b.value for b in block.bindings}
        self.inputs: dict[Var, None] = {}
        self.users: dict[Var, list[Var]] = {}
        for binding in block.bindings:
            for var in dict.fromkeys(n for n in walk(binding.value) if isinstance(n, Var)):
                self.users.setdefault(var, []).append(binding.var)
                if var not in self.values:
                    self.inputs[var] = None

    def ways(
        self, patterns: Sequence[DFPattern], chosen: dict[DFPattern, Var]
    ) -> Iterator[dict[DFPattern, Var]]:
        if not patterns:
            yield dict(chosen)
            return
        first, *others = patterns
        for var in (*self.inputs, *self.values):
            if any(var is other for other in chosen.values()):
                continue
            if not Matching(self.values.get).match(first, var):
                continue
            trial = {**chosen, first: var}
            if all(self._holds(use, trial) for use in self.uses):
                yield from self.ways(others, trial)

    def _holds(self, use: Use, chosen: Mapping[DFPattern, Var]) -> bool:
        """Whether a use is as it should be, as far as both sides are chosen."""
        producer, consumer = chosen.get(use.producer), chosen.get(use.consumer)
        if producer is not None and use.only:
            outside = producer in self.values and not isinstance(producer, DataflowVar)
            if outside or len(self.users.get(producer, ())) != 1:
                return False
        if producer is None or consumer is None:
            return True
        if use.argument < 0:
            return any(user is consumer for user in self.users.get(producer, ()))
        return self._argument(consumer, use.argument) is producer

    def _argument(self, consumer: Var, index: int) -> Any:
        value = self.values.get(consumer)
        parts: tuple[Any, ...] = ()
        if isinstance(value, Tuple):
            parts = value.fields
        elif isinstance(value, Call):
            operands = value.args[1] if _is_kernel_call(value) else None
            parts = operands.fields if isinstance(operands, Tuple) else value.args
        return parts[index] if index < len(parts) else None


def _is_kernel_call(call: Call) -> bool:
    return getattr(call.op, "name", "") in ("relax.call_tir", "relax.call_dps_packed")
