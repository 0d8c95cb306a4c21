"""What can be watched while the tuner runs."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tilewright.error import DatabaseError
from tilewright.tune.database.record import machine_name
from tilewright.tune.measure.interfaces import CANCELLED

if TYPE_CHECKING:
    from tilewright.tir.schedule import Schedule
    from tilewright.tune.measure import BuilderResult, RunnerResult
    from tilewright.tune.scheduler.task_record import TaskRecord
    from tilewright.tune.scheduler.task_scheduler import TaskScheduler


class TuningObserver:
    """Is told what happens; subclasses define what they want to know."""

    def begin(self, scheduler: TaskScheduler) -> None:
        """The tasks and the budget of `scheduler` are set."""

    def task_begins(self, task: TaskRecord, spaces: Sequence[Schedule]) -> None:
        """The sketches `spaces` of a task were made."""

    def task_picked(self, task: TaskRecord) -> None:
        """A task gets the next batch."""

    def sending(self, task: TaskRecord, count: int, where: str) -> None:
        """Candidates go to the ``"builder"`` or wait for the ``"runner"``."""

    def built(self, task: TaskRecord, result: BuilderResult) -> None:
        """A candidate was built, or could not be."""

    def measured(self, task: TaskRecord, result: RunnerResult) -> None:
        """A candidate was measured, or failed."""

    def batch_ends(self, task: TaskRecord) -> None:
        """The results of a batch were taken in."""

    def task_ends(self, task: TaskRecord, reason: str) -> None:
        """A task gets no more trials."""

    def failed(self, messages: Sequence[str]) -> None:
        """Of some tasks, but not of all, no candidate ran; a message for each."""

    def end(self, scheduler: TaskScheduler) -> None:
        """The run has ended, for whatever reason."""


COLUMNS: Final = (
    "ID", "Name", "FLOP", "Weight", "Speed (GFLOPS)", "Latency (us)", "Weighted Latency (us)",
    "Trials", "Done",
)  # fmt: skip

UNKNOWN: Final = "N/A"


def cells(task: TaskRecord) -> tuple[str, ...]:
    """The row of a task."""
    speed, latency, weighted = UNKNOWN, UNKNOWN, UNKNOWN
    if task.is_measured:
        microseconds = task.latency * 1e6
        about = "~" if task.is_estimated else ""
        latency = f"{about}{microseconds:.4f}"
        weighted = f"{about}{microseconds * task.task_weight:.4f}"
        speed = UNKNOWN if task.gflops is None else f"{task.gflops:.4f}"
    return (
        str(task.task_id), task.title, number(task.flop) if task.flop else UNKNOWN,
        number(task.task_weight), speed, latency, weighted, str(task.trials),
        "Y" if task.is_terminated else "",
    )  # fmt: skip


def totals(tasks: Sequence[TaskRecord]) -> str:
    """All trials, and the latency of all tasks together."""
    latency = math.fsum(task.latency * 1e6 * task.task_weight for task in tasks if task.is_measured)
    return (
        f"Total trials: {sum(task.trials for task in tasks)}\nTotal latency (us): {number(latency)}"
    )


def statistics_table(tasks: Sequence[TaskRecord]) -> str:
    """The tasks in columns, and the totals below."""
    rows = [COLUMNS, *(cells(task) for task in tasks)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    lines = [
        " | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    rule = "-" * (len(lines[0]) + 2)
    body = [f" {line} " for line in lines]
    return "\n".join([body[0], rule, *body[1:], rule, totals(tasks)])


def number(value: float) -> str:
    """A number with six digits at least, without an exponent."""
    return f"{value:.0f}" if value == int(value) or abs(value) >= 1e5 else f"{value:.6g}"


TUNER: Final = logging.getLogger("tilewright.tune")
"""Above the loggers of all parts of the tuner."""

PREFIX: Final = "tvm.meta_schedule.logging"
"""Log files have the names that existing scripts look for."""

_FORMAT: Final = "%(asctime)s [%(levelname)s] [%(filename)s:%(lineno)d] %(message)s"
_DATE: Final = "%Y-%m-%d %H:%M:%S"


@contextmanager
def log_files(
    work_dir: str | Path | None, task_names: Sequence[str]
) -> Iterator[list[logging.Logger]]:
    """While inside, the tuner logs to files under ``work_dir/logs``; None for no files.

    One file has what all parts of the tuner log; each task has another one of its own.

    Returns:
        a logger for each task.
    """
    loggers = [logging.getLogger(name) for name in _logger_names(task_names)]
    if work_dir is None:
        yield loggers
        return
    directory = Path(work_dir) / "logs"
    attached = [(TUNER, directory / f"{PREFIX}.task_scheduler.log")]
    attached += [
        (logger, directory / f"{PREFIX}.{logger.name.rpartition('.')[2]}.log") for logger in loggers
    ]
    handlers: list[tuple[logging.Logger, logging.Handler, int]] = []
    try:
        for logger, path in attached:
            handler = _file_handler(path)
            handler.setFormatter(logging.Formatter(_FORMAT, _DATE))
            handlers.append((logger, handler, logger.level))
            logger.addHandler(handler)
            logger.setLevel(logging.DEBUG)
        for logger in loggers:
            logger.propagate = False
        TUNER.info("Logging directory: %s", directory)
        yield loggers
    finally:
        for logger, handler, level in handlers:
            logger.removeHandler(handler)
            logger.setLevel(level)
            handler.close()
        for logger in loggers:
            logger.propagate = True


def _file_handler(path: Path) -> logging.FileHandler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise DatabaseError(
            f"cannot write the log {path}: {error.strerror or error}; "
            "choose another `work_dir`, or None for no logs"
        ) from None


def _logger_names(task_names: Sequence[str]) -> list[str]:
    digits = len(str(max(len(task_names) - 1, 0)))
    return [
        f"tilewright.tuning_task.task_{i:0{digits}d}_{re.sub(r'[^A-Za-z0-9_-]', '_', name)[:80]}"
        for i, name in enumerate(task_names)
    ]


logger = logging.getLogger(__name__)


class LogObserver(TuningObserver):
    """Logs what happens: a table after each batch, and details of each task to its own logger."""

    def __init__(self) -> None:
        self._tasks: Sequence[TaskRecord] = ()
        self._best: dict[int, float] = {}

    def begin(self, scheduler: TaskScheduler) -> None:
        """Note the tasks."""
        self._tasks = scheduler.tasks

    def task_begins(self, task: TaskRecord, spaces: Sequence[Schedule]) -> None:
        """Log the task, and its sketches to its own logger."""
        logger.info("Initializing %s", _name(task))
        task.ctx.logger.info("%s: %d sketch(es)\n%s", _name(task), len(spaces), task.mod)
        for number, space in enumerate(spaces):
            is_default = space is task.ctx.default_schedule
            name = "default schedule" if is_default else "of the rules"
            task.ctx.logger.info("Sketch #%d, %s:\n%s\n%s", number, name, space.mod, space.trace)
        if task.is_estimated:
            logger.warning(
                "%s: there is no device %r here; candidates are compiled, and their times are "
                "estimates (%s)",
                _name(task), task.target.kind.device_type, machine_name(task.ctx.machine or {}),
            )  # fmt: skip
        if task.is_measured:
            logger.info("%s goes on from %.4f us", _name(task), task.latency * 1e6)
        if task.task_id == len(self._tasks) - 1:
            self._log_table()

    def task_picked(self, task: TaskRecord) -> None:
        """Log which task is next."""
        logger.info("TaskScheduler picks %s", _name(task))

    def sending(self, task: TaskRecord, count: int, where: str) -> None:
        """Log the number of candidates that are built or run."""
        logger.info("Sending %d sample(s) to %s", count, where)

    def measured(self, task: TaskRecord, result: RunnerResult) -> None:
        """Log why a candidate failed to the logger of the task."""
        if result.error_msg is not None and result.error_kind != CANCELLED:
            task.ctx.logger.warning(
                "Candidate failed (%s): %s", result.error_kind, result.error_msg
            )

    def batch_ends(self, task: TaskRecord) -> None:
        """Log the table, and the best candidate to the logger of the task."""
        logger.info("[Updated] %s", _name(task))
        self._log_table()
        if task.fastest and task.latency < self._best.get(task.task_id, math.inf):
            self._best[task.task_id] = task.latency
            schedule = task.fastest[0][1].sch
            task.ctx.logger.info(
                "Best after %d trials: %.4f us\n%s\n%s",
                task.trials, task.latency * 1e6, schedule.mod, schedule.trace,
            )  # fmt: skip

    def task_ends(self, task: TaskRecord, reason: str) -> None:
        """Log that a task is done, and why."""
        remaining = sum(not other.is_terminated for other in self._tasks)
        logger.info(
            "%s has finished: %s. Remaining task(s): %d", f"Task #{task.task_id}", reason, remaining
        )
        if task.is_measured and math.isfinite(task.default_latency):
            logger.info(
                "%s: %.4f us with the default schedule, %.4f us with the best one, which is %s%s",
                _name(task), task.default_latency * 1e6, task.latency * 1e6,
                "the same" if task.fastest[0][1].is_default else "another one",
                "; all of that is estimated" if task.is_estimated else "",
            )  # fmt: skip
        if task.failures.total:
            logger.info("Failed candidates of %s: %s", _name(task), task.failures)
            task.ctx.logger.info("Failed candidates:\n%s", task.failures.describe())

    def failed(self, messages: Sequence[str]) -> None:
        """Log which tasks have no result."""
        for message in messages:
            logger.warning("%s", message)

    def end(self, scheduler: TaskScheduler) -> None:
        """Log the last table."""
        if scheduler.was_interrupted:
            logger.info("Tuning was interrupted; measurements so far are kept")
        self._log_table()

    def _log_table(self) -> None:
        logger.debug("\n%s\n", statistics_table(self._tasks))


def _name(task: TaskRecord) -> str:
    return f'Task #{task.task_id}: "{task.title}"'
