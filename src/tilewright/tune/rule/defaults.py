"""The rules for each kind of target, in the order in which they are applied."""

from __future__ import annotations

from tilewright.tune.rule.schedule_rule import RULE_SETS, ScheduleRule


@RULE_SETS.add("llvm", "c")
def for_llvm() -> list[ScheduleRule]:
    """The rules for CPUs."""
    return []
