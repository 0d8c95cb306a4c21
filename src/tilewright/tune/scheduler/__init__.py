"""Task schedulers: which task gets the next trials."""

from tilewright.tune.scheduler.task_scheduler import TaskScheduler

__all__ = ["TaskScheduler"]
