"""Task schedulers: which task gets the next trials."""

from tilewright.tune.scheduler.gradient_based import GradientBased
from tilewright.tune.scheduler.round_robin import RoundRobin
from tilewright.tune.scheduler.task_record import TaskRecord
from tilewright.tune.scheduler.task_scheduler import TaskScheduler

__all__ = ["GradientBased", "RoundRobin", "TaskRecord", "TaskScheduler"]
