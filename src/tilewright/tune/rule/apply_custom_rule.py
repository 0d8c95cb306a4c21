"""Blocks that name the rule by which they are scheduled."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.runtime.registry import get_global_func
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.block_facts import block_of
from tilewright.tune.rule.schedule_rule import ScheduleRule

SCHEDULE_RULE = "schedule_rule"
"""The annotation of a block that names its rule."""


class ApplyCustomRule(ScheduleRule):
    """Schedules a block by the function that its annotation `schedule_rule` names.

    For the annotation ``"my_rule"`` that is the function registered as
    ``meta_schedule.cpu.my_rule`` (or with another key of the target, such as ``cuda``), which gets
    the schedule and the block and returns schedules. ``"None"`` says that no rule is to touch the
    block::

        @tilewright.register_func("meta_schedule.cpu.my_rule")
        def my_rule(sch, block):
            sch.vectorize(sch.get_loops(block)[-1])
            return [sch]
    """

    takes_annotated_blocks = True

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """What the function of that name returns; `sch` for a block that names none."""
        name = custom_rule_of(sch, block)
        if name is None or name == "None":
            return [sch]
        keys = list(dict.fromkeys([*self.target.keys, self.target.kind.name]))
        for key in keys:
            function = get_global_func(f"meta_schedule.{key}.{name}", allow_missing=True)
            if function is not None:
                return _checked(function(sch, block), name)
        tried = ", ".join(f"meta_schedule.{key}.{name}" for key in keys)
        raise UnknownNameError(
            f"the block {block_of(sch, block).name_hint} has schedule_rule {name!r}, but no such "
            f"function is registered; looked for {tried}"
        )


def custom_rule_of(sch: Schedule, block: BlockRV) -> str | None:
    """The rule that a block names; None if it names none."""
    name = block_of(sch, block).annotations.get(SCHEDULE_RULE)
    return None if name is None else str(getattr(name, "value", name))


def _checked(returned: object, name: str) -> list[Schedule]:
    if isinstance(returned, Schedule):
        return [returned]
    try:
        found: list[Any] = list(returned)  # type: ignore[call-overload]
    except TypeError:
        found = [returned]
    if not all(isinstance(item, Schedule) for item in found):
        raise ArgumentError(f"the schedule rule {name!r} must return schedules, got {returned!r}")
    return found
