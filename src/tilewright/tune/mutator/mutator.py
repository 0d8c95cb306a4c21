"""`Mutator`: one way to change the decisions of a candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.tir.schedule import Trace
from tilewright.tune.parts import Registry, TaskPart
from tilewright.tune.replay import Replayer

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext


MUTATOR_SETS: Registry[dict[Mutator, float]] = Registry("set of mutators for")
"""The mutators of a kind of target."""


class Mutator(TaskPart):
    """Changes one decision of a trace, which gives a similar candidate.

    Subclasses define `apply`.
    """

    def apply(self, trace: Trace, random_state: int | None = None) -> Trace | None:
        """A trace with another decision; None if there is nothing to change.

        Args:
            trace: the trace; it stays as it is.
            random_state: a seed of the random choice; None for another one every time.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has to define apply(self, trace, random_state), which returns "
            "another trace or None"
        )

    @staticmethod
    def create(kind: str) -> dict[Mutator, float]:
        """The mutators for a kind of target, and how often each is tried.

        Args:
            kind: ``"llvm"``, ``"c"``, ``"cuda"`` or ``"opencl"``.
        """
        return MUTATOR_SETS.make(kind)


class ProgramMutator(Mutator):
    """A mutator that applies a part of the trace to see what is possible."""

    _replayer: Replayer | None = None

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take the program; without one, such as in a task of none, nothing is changed."""
        self._replayer = None if context.mod is None else Replayer(context.mod, capacity=256)

    def clone(self) -> Mutator:
        """A copy of this mutator, without a program."""
        other = super().clone()
        assert isinstance(other, ProgramMutator)
        other._replayer = None
        return other
