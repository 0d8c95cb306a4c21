"""The table of the tasks and what was reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tilewright.tune.scheduler.task_record import TaskRecord

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
        latency = f"{microseconds:.4f}"
        weighted = f"{microseconds * task.task_weight:.4f}"
        speed = UNKNOWN if task.gflops is None else f"{task.gflops:.4f}"
    return (
        str(task.task_id), task.name, number(task.flop) if task.flop else UNKNOWN,
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
