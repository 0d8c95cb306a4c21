"""Mutators that have to look at the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.tune.mutator.mutator import Mutator
from tilewright.tune.replay import Replayer

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext


class ProgramMutator(Mutator):
    """A mutator that applies a part of the trace to see what is possible."""

    _replayer: Replayer | None = None

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take the program; without one, such as in a task of none, nothing is changed."""
        self._replayer = None if context.mod is None else Replayer(context.mod, capacity=256)

    def clone(self) -> Mutator:
        """A mutator like this one, which knows no program yet."""
        other = super().clone()
        assert isinstance(other, ProgramMutator)
        other._replayer = None
        return other
