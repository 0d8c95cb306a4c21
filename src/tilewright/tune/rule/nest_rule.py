"""`NestRule`: what rules have in common that are about blocks without a schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tilewright.schedule_rules.machine import Machine, machine_of
from tilewright.schedule_rules.nest import DoesNotFitError, attempt
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.claim import claim
from tilewright.tune.rule.plain_nest import Nest, plain_nest
from tilewright.tune.rule.schedule_rule import ScheduleRule

Structure = Callable[[Schedule, Nest], object]
"""Transforms a block that has no schedule yet."""


class NestRule(ScheduleRule):
    """Tries some structures of loops on blocks that are as in a program without a schedule.

    Subclasses define `structures`. Each structure that the primitives accept is a sketch; a block
    for which there is none stays as it is.

    Args:
        machine: what the schedule is for; by default the machine of the target.
    """

    def __init__(self, machine: Machine | None = None) -> None:
        self._machine = machine

    @property
    def machine(self) -> Machine:
        """The vectors, caches and cores that the schedule is for."""
        return self._machine or machine_of(self.target)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The sketches for a block."""
        try:
            # Looking at it must leave no instructions in the traces of other sketches.
            view = sch.copy()
            structures = self.structures(view, plain_nest(view, block))
        except DoesNotFitError:
            return [sch]
        sketches = [attempt(sch, partial(self._apply, block, do)) for do in structures]
        return [sketch for sketch in sketches if sketch is not None] or [sch]

    def _apply(self, block: BlockRV, structure: Structure, sch: Schedule) -> None:
        structure(sch, plain_nest(sch, block))
        self.claim(sch, block)

    def claim(self, sch: Schedule, *blocks: BlockRV) -> None:
        """Keep other rules from scheduling some blocks."""
        for block in blocks:
            claim(sch, block, type(self).__name__)

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """The structures that fit a block, the one that is best as far as is known first.

        Args:
            sch: a copy of the schedule, to look at.
            nest: the block in it.
        """
        raise NotImplementedError
