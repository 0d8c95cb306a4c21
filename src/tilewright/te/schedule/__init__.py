"""Schedules of tensor expressions: the loops of each operation, and how they are transformed."""

from tilewright.te.schedule.auto_inline import (
    AutoInlineBroadcast,
    AutoInlineElemWise,
    AutoInlineInjective,
)
from tilewright.te.schedule.function import InferBound, ScheduleOps, schedule_to_prim_func
from tilewright.te.schedule.schedule import Schedule, create_schedule
from tilewright.te.schedule.stage import Stage
