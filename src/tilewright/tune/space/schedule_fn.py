"""Sketches that a user's function makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.tir.schedule import Schedule, ScheduleError
from tilewright.tune.mutator import Mutator
from tilewright.tune.postproc import Postproc
from tilewright.tune.rule import ScheduleRule
from tilewright.tune.space.distinct import distinct
from tilewright.tune.space.space_generator import (
    FROM_TARGET,
    GENERATORS,
    SpaceGenerator,
    given_parts,
)

ATTEMPTS: Final = 32
"""How often the function is called before a refusal is reported."""


@GENERATORS.add("schedule-fn")
class ScheduleFn(SpaceGenerator):
    """The space that a function of a schedule describes.

    The function transforms the schedule that it gets, and samples what is to be tuned::

        def tile(sch):
            i, j, k = sch.get_loops("C")
            factors = sch.sample_perfect_tile(j, n=2)
            sch.split(j, factors)

        TuneContext(matmul, target="llvm", space_generator=ScheduleFn(tile), ...)

    Args:
        sch_fn: the function. It returns None, a schedule, or a list of schedules: the sketches.
        sch_rules: not applied.
        postprocs: what is applied to each candidate after its trace.
        mutator_probs: how the search changes decisions, and how often each way is tried.
    """

    def __init__(
        self,
        sch_fn: Callable[[Schedule], Any],
        sch_rules: Sequence[ScheduleRule] | str | None = None,
        postprocs: Sequence[Postproc] | str | None = FROM_TARGET,
        mutator_probs: Mapping[Mutator, float] | str | None = FROM_TARGET,
    ) -> None:
        if not callable(sch_fn):
            raise ArgumentError(f"ScheduleFn: expected a function of a schedule, got {sch_fn!r}")
        self.sch_fn = sch_fn
        given_parts(self, sch_rules=sch_rules, postprocs=postprocs, mutator_probs=mutator_probs)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """What the function makes of a schedule of the program.

        What it samples may lead to a step that is refused; then it is called again.
        """
        first = self.fresh_schedule(mod)
        for _ in range(ATTEMPTS - 1):
            try:
                return distinct(self.sketches_of(first.copy()))
            except ScheduleError:
                continue
        return distinct(self.sketches_of(first))

    def sketches_of(self, sch: Schedule) -> list[Schedule]:
        """What the function makes of a schedule."""
        returned = self.sch_fn(sch)
        if returned is None:
            return [sch]
        found = list(returned) if isinstance(returned, (list, tuple)) else [returned]
        for item in found:
            if not isinstance(item, Schedule):
                raise ArgumentError(
                    "ScheduleFn: the function returns None, a schedule, or a list of schedules; "
                    f"got {item!r}"
                )
        return found
