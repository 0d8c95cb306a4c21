"""The space of a template, as the tuner searches it."""

from __future__ import annotations

import random
from typing import Final

from tilewright.autotvm.task.task import Task
from tilewright.autotvm.template_step import template_trace
from tilewright.error import ArgumentError, InstantiationError, TuningError
from tilewright.ir.module import IRModule
from tilewright.tir.schedule import Schedule
from tilewright.tune.space import SpaceGenerator

ATTEMPTS: Final = 64
"""How many random configs are tried before the last refusal is reported."""


class TemplateSpace(SpaceGenerator):
    """All configs of a task: one sketch, which chooses the knobs and applies the template.

    What the template makes is measured as it is: no rule, postprocessor or default schedule adds
    to it. Configs that the template refuses, and those with which it fails, are refused candidates
    like those of any other space.

    Args:
        task: the task; the program to tune is ``task.mod``.
    """

    sch_rules = None
    postprocs = None
    mutator_probs = None

    def __init__(self, task: Task) -> None:
        if not isinstance(task, Task):
            raise ArgumentError(
                f"TemplateSpace: expected a task of autotvm.task.create, got {task!r}"
            )
        self.task = task

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The sketch, with a random config that the template accepts.

        Raises:
            TuningError: if the template has no knobs, or refused all of many random configs.
            ScheduleError: if `mod` is the program of another task.
        """
        task, space = self.task, self.task.config_space
        if not space.space_map:
            raise TuningError(
                f"the template {task.name!r} defines no knobs, so there is nothing to tune: call "
                "cfg.define_split, define_reorder, define_annotate or define_knob in it"
            )
        first = self.fresh_schedule(mod)
        source = random.Random(self._seed)
        refusal: InstantiationError | None = None
        for _ in range(ATTEMPTS):
            config = space.get(space.get_rand_index(source=source))
            sch = first.copy()
            try:
                template_trace(task, config).apply_to_schedule(sch)
            except InstantiationError as error:
                refusal = error
            else:
                return [sch]
        raise TuningError(
            f"the template {task.name!r} refused {ATTEMPTS} random configs; the last: {refusal}"
        )
