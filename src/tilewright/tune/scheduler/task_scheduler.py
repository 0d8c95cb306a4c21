"""Which task gets the next trials, and the loop that spends them."""

from __future__ import annotations


class TaskScheduler:
    """Shares trials among tasks; subclasses define `next_task_id`."""

    def next_task_id(self) -> int:
        """The task that gets the next batch of trials, or -1 when all tasks are done."""
        raise NotImplementedError(f"{type(self).__name__} does not define `next_task_id`")
