"""`Postproc`: what is done to a candidate after its trace, and whether it is legal."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from tilewright.target import Target
from tilewright.tir.schedule import Schedule
from tilewright.tune.registry import Registry

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext

POSTPROC_SETS: Registry[list[Postproc]] = Registry("list of postprocessors for")
"""The postprocessors for a kind of target, in the order in which they are applied."""


class Postproc:
    """Completes a candidate, or rejects it.

    Subclasses define `apply`.

    Attributes:
        target: what the schedule is for. Without a task it is the current target, and without
            that one this machine.
    """

    _target: Target | None = None

    @property
    def target(self) -> Target:
        """What the schedule is for."""
        return self._target or Target.current() or Target("llvm")

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take what is needed of the task; called before anything else.

        Args:
            context: the task.
        """
        self._target = context.target

    def apply(self, sch: Schedule) -> bool:
        """Change the schedule, after its trace and `Schedule.enter_postproc`.

        Args:
            sch: the candidate.

        Returns:
            Whether it is worth measuring.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has to define apply(self, sch), which returns whether the "
            "schedule is worth measuring"
        )

    def clone(self) -> Postproc:
        """A postprocessor like this one for another task."""
        return copy.copy(self)

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """The postprocessors for a kind of target, new ones every time.

        Args:
            kind: ``"llvm"``, ``"c"``, ``"vnni"``, ``"avx512"``, ``"dotprod"``, ``"cuda"``,
                ``"cuda-tensorcore"``, ``"opencl"`` or ``"hexagon"``.
        """
        return POSTPROC_SETS.make(kind)
