"""The tasks take turns."""

from __future__ import annotations

from tilewright.tune.scheduler.task_scheduler import SCHEDULERS, TaskScheduler


@SCHEDULERS.add("round-robin")
class RoundRobin(TaskScheduler):
    """The next batch goes to the next task."""

    _last = -1

    def next_task_id(self) -> int:
        """The task after the last one that is not done, or -1 when all tasks are done."""
        for step in range(1, len(self.tasks) + 1):
            task_id = (self._last + step) % len(self.tasks)
            if self.tasks[task_id].is_running:
                self.join_running_task(task_id)
            if not self.tasks[task_id].is_terminated:
                self._last = task_id
                return task_id
        return -1
