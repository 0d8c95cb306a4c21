"""Task schedulers: which task gets the next trials."""

from tilewright.tune.scheduler.schedulers import GradientBased, RoundRobin
from tilewright.tune.scheduler.task_record import TaskRecord
from tilewright.tune.scheduler.task_scheduler import TaskScheduler

__all__ = ["GradientBased", "RoundRobin", "TaskRecord", "TaskScheduler"]
