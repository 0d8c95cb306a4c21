"""The best time so far, trial by trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.tune.database import TuningRecord
from tilewright.tune.report import quantities
from tilewright.tune.report.chart import WIDTH, Scale, circle, line, picture, text, upright
from tilewright.tune.report.summary import TaskSummary

HEIGHT: Final = 320
LEFT, RIGHT, TOP, BOTTOM = 74, WIDTH - 20, 16, HEIGHT - 46


def curve(task: TaskSummary) -> str:
    """The chart of a task; empty if no candidate ran."""
    times = [record.mean_secs for record in task.trials if record.is_valid]
    if not times:
        return ""
    low, high = min(times), max(times)
    room = max((high / low) ** 0.25, 1.02)  # below the best time, for its label
    x = Scale(0.5, max(len(task.trials), 2) + 0.5, LEFT, RIGHT, is_log=False)
    y = Scale(low / room, high * room**0.5, BOTTOM, TOP)
    parts = [*_grid(x, y), *_marks(task.trials, x, y), *_staircase(task, x, y)]
    return picture(HEIGHT, f"Best time of {task.name} by trial", parts)


def _grid(x: Scale, y: Scale) -> list[str]:
    parts = []
    for value in y.ticks():
        at = y(value)
        parts.append(line("grid", LEFT, at, RIGHT, at))
        parts.append(text((LEFT - 8, at + 4), quantities.seconds(value), "small", "end"))
    return [
        *parts,
        *(text((x(n), BOTTOM + 20), f"{n:g}", "small", "middle") for n in x.ticks()),
        line("axis", LEFT, BOTTOM, RIGHT, BOTTOM),
        text(((LEFT + RIGHT) / 2, BOTTOM + 38), "trial", "small", "middle"),
        upright((14, (TOP + BOTTOM) / 2), "time of one run"),
    ]


def _marks(trials: Sequence[TuningRecord], x: Scale, y: Scale) -> list[str]:
    parts = []
    for number, record in enumerate(trials, 1):
        at = x(number)
        if record.is_valid:
            tip = f"trial {number}: {quantities.seconds(record.mean_secs)}"
            parts.append(circle("point", (at, y(record.mean_secs)), 3.2, tip))
        else:
            parts.append(line("failed", at, BOTTOM - 1, at, BOTTOM - 8))
    return parts


def _staircase(task: TaskSummary, x: Scale, y: Scale) -> list[str]:
    best = float("inf")
    path, last = "", (0.0, 0.0)
    for number, record in enumerate(task.trials, 1):
        if record.mean_secs >= best:
            continue
        best = record.mean_secs
        at = x(number), y(best)
        path += f"H{at[0]:.1f}V{at[1]:.1f}" if path else f"M{at[0]:.1f} {at[1]:.1f}"
        last = at
    end = x(len(task.trials))
    label = quantities.seconds(best)
    if task.best is not None and task.best.supersedes:
        label += f", {quantities.seconds(task.best.mean_secs)} when measured again"
    if task.best_rate:
        label += f", {quantities.rate(task.best_rate)}"
    return [
        f'<path class="line" d="{path}H{end:.1f}"/>',
        circle("best", last, 5.0, f"best: {label}"),
        text((RIGHT, last[1] + 18), label, "", "end"),
    ]
