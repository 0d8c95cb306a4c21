"""A database whose schedules are made by a function."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.schedule import Schedule
from tilewright.tune.database.memory import MemoryDatabase
from tilewright.tune.database.record import TuningRecord
from tilewright.tune.module_equality import ModuleEquality
from tilewright.tune.workload import normalized


class ScheduleFnDatabase(MemoryDatabase):
    """Answers every query by calling a function; keeps what is committed, and never uses it.

    Args:
        schedule_fn: gets a schedule, transforms it, and returns whether it knew how to.
        module_equality: when two modules are one workload; see `Database`.
    """

    def __init__(
        self,
        schedule_fn: Callable[[Schedule], bool],
        module_equality: str | ModuleEquality = "structural",
    ) -> None:
        super().__init__(module_equality)
        self.schedule_fn = schedule_fn

    def query_tuning_record(
        self,
        mod: IRModule | PrimFunc,
        target: Target | str | None = None,
        workload_name: str = "main",
    ) -> TuningRecord | None:
        """What the function does to `mod`, as a record without times."""
        sch = Schedule(normalized(mod))
        if not self.schedule_fn(sch):
            return None
        workload = self.commit_workload(mod)
        return TuningRecord(sch.trace, workload, None, target, task_name=workload_name)
