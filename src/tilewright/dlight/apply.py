"""The pass that applies rules to the functions of a module."""

from __future__ import annotations

from tilewright.dlight.rule import ScheduleRule
from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.transform import ModulePass
from tilewright.schedule_rules.eligible import IS_SCHEDULED, may_schedule
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import Schedule


class ApplyDefaultSchedule(ModulePass):
    """Schedule each function by the first rule that is for it.

    Functions with a schedule of their own stay as they are. Those that no rule is for do, too: they
    get the default schedule when they are built.

    Args:
        rules: instances of `ScheduleRule`, such as ``dlight.cpu.GEMV()``.
    """

    name = "ApplyDefaultSchedule"

    def __init__(self, *rules: ScheduleRule) -> None:
        for rule in rules:
            if not isinstance(rule, ScheduleRule):
                raise ArgumentError(
                    f"ApplyDefaultSchedule: expected rules such as dlight.cpu.GEMV(), got {rule!r}"
                )
        self.rules = rules

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        del ctx
        target, result = Target.given_or_current(), mod.clone()
        for var, func in mod.functions.items():
            if may_schedule(func):
                result.update_func(var, self._scheduled(func, target))
        return result

    def _scheduled(self, func: PrimFunc, target: Target) -> PrimFunc:
        for rule in self.rules:
            applied = rule.apply(func, target, False)
            if applied is None:
                continue
            sch = applied if isinstance(applied, Schedule) else next(iter(applied), None)
            if not isinstance(sch, Schedule):
                raise ArgumentError(
                    f"ApplyDefaultSchedule: {type(rule).__name__} gave {applied!r}, not a schedule"
                )
            return sch.mod["main"].with_attrs({**func.attrs, IS_SCHEDULED: True})
        return func
