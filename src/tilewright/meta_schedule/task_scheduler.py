"""Which task gets the next trials."""

from tilewright.tune.scheduler import GradientBased, RoundRobin, TaskRecord, TaskScheduler

PyTaskScheduler = TaskScheduler
create = TaskScheduler.create

__all__ = [
    "GradientBased",
    "PyTaskScheduler",
    "RoundRobin",
    "TaskRecord",
    "TaskScheduler",
    "create",
]
