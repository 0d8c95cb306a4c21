"""`ScheduleRule`: one way to schedule a block; rules by name, and blocks that belong to a rule."""

from __future__ import annotations

from typing import Any, Final

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.runtime.registry import get_global_func
from tilewright.schedule_rules.nest import block_of, is_plain
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.parts import Registry, TargetPart

RULE_SETS: Registry[list[ScheduleRule]] = Registry("list of schedule rules for")
"""The rules for a kind of target, in the order in which they are applied."""


class ScheduleRule(TargetPart):
    """Makes sketches of a schedule of one block.

    Subclasses define `apply`.

    Attributes:
        takes_annotated_blocks: whether it is for blocks with the annotation ``schedule_rule``,
            which other rules are not applied to.
    """

    takes_annotated_blocks: bool = False

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules that this rule makes of one.

        Args:
            sch: the schedule so far; the rule may change it.
            block: the block to look at.

        Returns:
            Schedules; `sch` itself where there is nothing to do.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has to define apply(self, sch, block), which returns a list of "
            "schedules"
        )

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """New rules for a kind of target.

        Args:
            kind: ``"llvm"``, ``"c"``, ``"vnni"``, ``"avx512"``, ``"dotprod"``, ``"cuda"``,
                ``"cuda-tensorcore"``, ``"opencl"`` or ``"hexagon"``.
        """
        return RULE_SETS.make(kind)


CLAIMED: Final = "tune.claimed_by"
"""The annotation of such a block: the name of the rule."""


def claim(sch: Schedule, block: BlockRV, rule: str) -> None:
    """Keep other rules from scheduling a block."""
    sch.annotate(block, CLAIMED, rule)


def claim_changed(before: Schedule, after: Schedule, block: BlockRV, rule: str) -> None:
    """Claim a block, and those that a rule has scheduled or added with it.

    Args:
        before: the schedule before the steps of the rule.
        after: the schedule after them.
    """
    view = before.copy()  # looking at it leaves no instructions in the trace
    plain = {view.get(item).name_hint: is_plain(view, item) for item in siblings(view, block)}
    found = siblings(after, block)
    view = after.copy()
    for item in found:
        was_plain = plain.get(view.get(item).name_hint, True)
        if view.get(item) is view.get(block) or (was_plain and not is_plain(view, item)):
            claim(after, item, rule)


def is_claimed(sch: Schedule, block: BlockRV) -> bool:
    """Whether a rule has scheduled the block as a whole."""
    return CLAIMED in sch.get(block).annotations


def siblings(sch: Schedule, block: BlockRV) -> list[BlockRV]:
    """The blocks of the function that a block is in."""
    name, _ = sch.statement(block)
    return sch.get_child_blocks(sch.get_block(sch.mod[name].body.block.name_hint, name))


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
