"""`SpaceGenerator`: from a program to sketches of schedules."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.tir.schedule import Schedule
from tilewright.tune.registry import Registry

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext
    from tilewright.tune.mutator.mutator import Mutator

GENERATORS: Registry[SpaceGenerator] = Registry("space generator")
"""Generators by name."""


class SpaceGenerator:
    """Makes the space in which the tuner looks: schedules with decisions that can be changed.

    Subclasses define `generate_design_space`. What they return are sketches: schedules whose traces
    have sampling instructions, the decisions of which the search changes.

    Attributes:
        sch_rules: the schedule rules that it applies, None if it has none.
        postprocs: what is applied to each candidate after its trace, None if nothing.
        mutator_probs: how the search changes decisions, and how often each way is tried; None for
            the ways of the target.
    """

    sch_rules: Any = None
    postprocs: Any = None
    mutator_probs: dict[Mutator, float] | None = None

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take what is needed of the task; called before the space is made.

        Args:
            context: the task.
        """

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The sketches for a program.

        Args:
            mod: the program.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has to define generate_design_space(self, mod), which returns "
            "a list of schedules"
        )

    def clone(self) -> SpaceGenerator:
        """A generator like this one for another task."""
        return copy.copy(self)

    @staticmethod
    def create(
        kind: str | Callable[[Schedule], Any] | SpaceGenerator = "post-order-apply",
        *args: Any,
        **kwargs: Any,
    ) -> SpaceGenerator:
        """A generator by name.

        Args:
            kind: ``"post-order-apply"``, ``"union"``, a function of a schedule (see `ScheduleFn`),
                or a generator, which is returned as it is.
            *args: arguments of its constructor.
            **kwargs: keyword arguments of its constructor.
        """
        if isinstance(kind, SpaceGenerator):
            return kind
        if callable(kind):
            return GENERATORS.make("schedule-fn", kind, *args, **kwargs)
        if not isinstance(kind, str):
            raise ArgumentError(
                "SpaceGenerator.create: expected a name, a function of a schedule, or a "
                f"SpaceGenerator, got {kind!r}"
            )
        return GENERATORS.make(kind, *args, **kwargs)
