"""The space of a template, as the tuner searches it."""

from __future__ import annotations

import random

from tilewright.autotvm.task.task import Task
from tilewright.autotvm.template_step import template_trace
from tilewright.error import ArgumentError, InstantiationError, TuningError
from tilewright.ir.module import IRModule
from tilewright.tir.schedule import Schedule
from tilewright.tune.space import ScheduleFn


class TemplateSpace(ScheduleFn):
    """All configs of a task: one sketch, which chooses the knobs and applies the template.

    What the template makes is measured as it is: no rule, postprocessor or default schedule adds
    to it. Configs that the template refuses, and those with which it fails, are refused candidates
    like those of any other space.

    Args:
        task: the task; the program to tune is ``task.mod``.
    """

    def __init__(self, task: Task) -> None:
        if not isinstance(task, Task):
            raise ArgumentError(
                f"TemplateSpace: expected a task of autotvm.task.create, got {task!r}"
            )
        super().__init__(self._apply_random, postprocs=None, mutator_probs=None)
        self.task = task

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The sketch, with a random config that the template accepts.

        Raises:
            TuningError: if the template has no knobs, or refused all of many random configs.
            ScheduleError: if `mod` is the program of another task.
        """
        name = self.task.name
        if not self.task.config_space.space_map:
            raise TuningError(
                f"the template {name!r} defines no knobs, so there is nothing to tune: call "
                "cfg.define_split, define_reorder, define_annotate or define_knob in it"
            )
        try:
            return super().generate_design_space(mod)
        except InstantiationError as error:
            raise TuningError(
                f"the template {name!r} refused all of many random configs; the last: {error}"
            ) from error

    def _apply_random(self, sch: Schedule) -> None:
        space = self.task.config_space
        index = space.get_rand_index(source=random.Random(sch.fork_seed()))
        template_trace(self.task, space.get(index)).apply_to_schedule(sch)
