"""Displays of the tasks that change while the tuner runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tilewright.driver.notebook_display import REFRESHES, NotebookDisplay
from tilewright.tune.measure.interfaces import CANCELLED
from tilewright.tune.progress.log import TuningObserver, cells

if TYPE_CHECKING:
    from tilewright.tune.measure import RunnerResult
    from tilewright.tune.scheduler.budget import Budget
    from tilewright.tune.scheduler.task_record import TaskRecord
    from tilewright.tune.scheduler.task_scheduler import TaskScheduler


class Display(Protocol):
    """Something that shows a picture of the state until it is stopped."""

    def start(self) -> None:
        """Show it for the first time."""

    def refresh(self) -> None:
        """Show the present state."""

    def stop(self) -> None:
        """Leave the last state."""


class LineObserver(TuningObserver):
    """Writes a line about each batch, for logs of programs that nobody watches.

    Args:
        stream: where to; by default standard error.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream
        self._scheduler: TaskScheduler | None = None

    def begin(self, scheduler: TaskScheduler) -> None:
        """Note the budget."""
        self._scheduler = scheduler

    def batch_ends(self, task: TaskRecord) -> None:
        """Write the line."""
        if self._scheduler is None:
            return
        budget = self._scheduler.budget
        trials = sum(task.trials for task in self._scheduler.tasks)
        _, name, _, _, speed, latency, *_ = cells(task)
        failed = f" | failed: {task.failures}" if task.failures.total else ""
        print(
            f"{name}: {latency} us, {speed} GFLOP/s | {trials}/{budget.max_trials_global} trials, "
            f"{budget.seconds:.0f} s{failed}",
            file=self._stream or sys.stderr,
            flush=True,
        )


def progress_observer() -> TuningObserver:
    """A table where it can change in place, and a line about each batch elsewhere."""
    live = LiveObserver()
    return live if live.is_shown else LineObserver()


class LiveObserver(TuningObserver):
    """Shows each task with its best candidate, the speed of tuning, and failures by reason.

    In a terminal the table is drawn in place; in a notebook below the cell; elsewhere nothing is
    shown (see `progress_observer`).

    Args:
        console: where to show it; by default standard output.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()
        self._live: Display | None = None
        self._tasks: Sequence[TaskRecord] = ()
        self._budget: Budget | None = None
        self._doing = "making sketches"
        self._measured: dict[int, int] = {}

    @property
    def is_shown(self) -> bool:
        """Whether there is somebody to see it."""
        return self._console.is_terminal or self._console.is_jupyter

    def begin(self, scheduler: TaskScheduler) -> None:
        """Show the tasks."""
        self._tasks, self._budget = scheduler.tasks, scheduler.budget
        if self._console.is_jupyter:
            self._live = NotebookDisplay(self._render)
        elif self._console.is_terminal:
            self._live = Live(
                console=self._console, get_renderable=self._render, refresh_per_second=REFRESHES
            )
        if self._live is not None:
            self._live.start()

    def task_picked(self, task: TaskRecord) -> None:
        """Print the current activity."""
        self._show(f"{task.title}: searching")

    def sending(self, task: TaskRecord, count: int, where: str) -> None:
        """Print the current activity."""
        doing = "building" if where == "builder" else "running"
        self._show(f"{task.title}: {doing} {count} candidate(s)")

    def measured(self, task: TaskRecord, result: RunnerResult) -> None:
        """Count."""
        if result.error_kind != CANCELLED:
            self._measured[task.task_id] = self._measured.get(task.task_id, 0) + 1
            self._show(self._doing)

    def batch_ends(self, task: TaskRecord) -> None:
        """Print the current activity."""
        self._show(f"{task.title}: learning")

    def end(self, scheduler: TaskScheduler) -> None:
        """Leave the last table on the screen."""
        self._doing = "interrupted" if scheduler.was_interrupted else "done"
        if self._live is not None:
            self._live.stop()

    def _show(self, doing: str) -> None:
        self._doing = doing
        if self._live is not None:
            self._live.refresh()

    def _render(self) -> Group:
        table = Table("Task", "Weight", "GFLOPS", "Latency (us)", "Trials", "Failed", "")
        for column in table.columns[1:6]:
            column.justify = "right"
        for task in self._tasks:
            _, name, _, weight, speed, latency, _, _, done = cells(task)
            trials = str(self._measured.get(task.task_id, 0))
            failed = str(task.failures)
            table.add_row(name, weight, speed, latency, trials, failed, "done" if done else "")
        return Group(table, Text(self._status()))

    def _status(self) -> str:
        """One line: progress, speed, and remaining time."""
        budget = self._budget
        parts = [self._doing]
        if budget is None:
            return parts[0]
        measured = sum(self._measured.values())
        trials = f"{measured}/{budget.max_trials_global} trials"
        rate = measured / budget.seconds if measured and budget.seconds else 0.0
        parts += [f"{budget.seconds:.0f} s", trials]
        if rate:
            left = (budget.max_trials_global - measured) / rate
            if budget.max_seconds is not None:
                left = min(left, max(budget.max_seconds - budget.seconds, 0.0))
            parts.append(f"{rate:.1f} trials/s")
            if not all(task.is_terminated for task in self._tasks):
                parts.append(f"{left:.0f} s left at most")
        return " | ".join(parts)
