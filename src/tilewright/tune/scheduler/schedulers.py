"""Orders in which tasks get trials."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Final

from tilewright.error import ArgumentValueError, require_at_least
from tilewright.tune.scheduler.task_record import TaskRecord
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


_NOTHING: Final = 1e-12
"""Seconds per trial below which a task promises nothing."""

STEP: Final = 0.01
"""The part of a latency by which it is changed to see what that does to the objective."""


@SCHEDULERS.add("gradient")
class GradientBased(TaskScheduler):
    """The next batch goes to the task that promises the largest gain per trial.

    The gain of a task that went from ``t1`` to ``t2`` seconds in its last `window_size` batches of
    ``n`` trials, of ``N`` trials so far, is expected to be
    ``alpha * (t1 - t2) / n + (1 - alpha) * t2 / N`` seconds per trial, times its weight, or by how
    much the objective changes with the time of the task. Each task gets a batch first.

    Args:
        alpha: how much the recent past counts.
        window_size: number of batches of the recent past.
        seed: of the choice between equals; -1 for another one every time.
        objective: from the seconds of all tasks to what is to be small; by default their sum,
            weighted. It is asked when all of them are known.
    """

    def __init__(
        self,
        *,
        alpha: float = 0.2,
        window_size: int = 3,
        seed: int = -1,
        objective: Callable[[Sequence[float]], float] | None = None,
    ) -> None:
        if not 0 <= alpha <= 1:
            raise ArgumentValueError(f"GradientBased: alpha is from 0 to 1, got {alpha!r}")
        require_at_least("GradientBased: window_size", window_size, 1)
        self.alpha = alpha
        self.window_size = window_size
        self.objective = objective
        self._random = random.Random(None if seed == -1 else seed)

    def next_task_id(self) -> int:
        """The task that promises the most, or -1 when all tasks are done."""
        for task in self.tasks:
            self.touch_task(task.task_id)
        alive = [task for task in self.tasks if not task.is_terminated]
        for task in alive:
            if not task.history and not task.is_running:
                return task.task_id
        if self.is_on_fleet:
            return self._next_on_fleet()
        for task in alive:
            if not task.history:
                self.join_running_task(task.task_id)
        while alive := [task for task in alive if not task.is_terminated]:
            chosen = self._most_promising(alive)
            if chosen.is_running:
                self.join_running_task(chosen.task_id)
            if not chosen.is_terminated:  # by what came of its batch
                return chosen.task_id
        return -1

    def _next_on_fleet(self) -> int:
        """The task that promises the most of those that have no batch on the way.

        Workers would be idle if each task waited for the most promising one.
        """
        while alive := [task for task in self.tasks if not task.is_terminated]:
            idle = [task for task in alive if not task.is_running]
            if idle and self.has_room:
                return self._most_promising(idle).task_id
            self.wait_for_oldest_task()
        return -1

    def _most_promising(self, tasks: Sequence[TaskRecord]) -> TaskRecord:
        gains = [self.gain(task) for task in tasks]
        most = max(gains)
        return self._random.choice(tasks) if most < _NOTHING else tasks[gains.index(most)]

    def gain(self, task: TaskRecord) -> float:
        """Seconds that another trial is expected to save; infinity if nothing ran so far."""
        if not task.is_measured or not task.history:
            return math.inf
        now = task.history[-1]
        past = 0.0
        if len(task.history) > self.window_size:
            then = task.history[-1 - self.window_size]
            if math.isfinite(then.latency) and now.trials > then.trials:
                past = (then.latency - now.latency) / (now.trials - then.trials)
        mean = now.latency / max(now.trials, 1)
        return self._weight(task) * (self.alpha * past + (1 - self.alpha) * mean)

    def _weight(self, task: TaskRecord) -> float:
        """By how much what is to be small changes with the seconds of a task."""
        if self.objective is None or not all(other.is_measured for other in self.tasks):
            return task.task_weight
        now = [other.latency for other in self.tasks]
        step = STEP * task.latency
        then = list(now)
        then[task.task_id] -= step
        return max(self.objective(now) - self.objective(then), 0.0) / step
