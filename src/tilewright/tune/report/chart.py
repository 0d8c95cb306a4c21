"""Charts: scales, axes and colours, and the best time by trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from tilewright.tune.database import TuningRecord
from tilewright.tune.report import quantities
from tilewright.tune.report.summary import TaskSummary

WIDTH: Final = 1040

STYLE: Final = """
.chart text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.chart .small { font-size: 11px; fill: #59636e; }
.chart .grid { stroke: #d1d9e0; stroke-width: 0.6; }
.chart .axis { stroke: #9aa4ae; stroke-width: 1; }
.chart .roof { stroke: #59636e; stroke-width: 1.6; fill: none; }
.chart .line { stroke: #0969da; stroke-width: 2.2; fill: none; stroke-linejoin: round; }
.chart .point { fill: #0969da; fill-opacity: 0.35; }
.chart .best { fill: #1a7f37; stroke: #ffffff; stroke-width: 1.2; }
.chart .failed { stroke: #cf222e; stroke-width: 1.4; stroke-opacity: 0.7; }
@media (prefers-color-scheme: dark) {
  .chart text { fill: #e6edf3; }
  .chart .small { fill: #9198a1; }
  .chart .grid { stroke: #2d343c; }
  .chart .axis { stroke: #59636e; }
  .chart .roof { stroke: #9198a1; }
  .chart .line { stroke: #4493f8; }
  .chart .point { fill: #4493f8; }
  .chart .best { fill: #3fb950; stroke: #0d1117; }
  .chart .failed { stroke: #f85149; }
}
"""


class Scale(NamedTuple):
    """From values to positions, logarithmic or linear."""

    low: float
    high: float
    start: float
    stop: float
    is_log: bool = True

    def __call__(self, value: float) -> float:
        if self.is_log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.stop - self.start)

    def ticks(self) -> list[float]:
        """Round values in the range, about half a dozen."""
        if not self.is_log:
            return _multiples(self.low, self.high, max(_round((self.high - self.low) / 8), 1))
        if self.high < 4 * self.low:
            return _multiples(self.low, self.high, _round((self.high - self.low) / 5))
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        values = [10.0**power for power in range(first, last + 1)]
        if math.log10(self.high / self.low) < 2.5:
            values = [value * part for value in values for part in (1, 2, 5)]
        return [value for value in values if self.low <= value <= self.high]


def _multiples(low: float, high: float, step: float) -> list[float]:
    return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _round(step: float) -> float:
    """The next larger number that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * part for part in (1, 2, 5, 10) if power * part >= step)


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text(at: tuple[float, float], content: str, kind: str = "", anchor: str = "start") -> str:
    """Text at a place."""
    return (
        f'<text class="{kind}" x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}">'
        f"{escape(content)}</text>"
    )


def upright(at: tuple[float, float], content: str) -> str:
    """Text that goes up, beside a vertical axis."""
    x, y = at
    return (
        f'<text class="small" x="{x}" y="{y}" text-anchor="middle" '
        f'transform="rotate(-90 {x} {y})">{escape(content)}</text>'
    )


def circle(kind: str, at: tuple[float, float], radius: float, tip: str = "") -> str:
    """A dot; `tip` is shown when the pointer is on it."""
    start = f'<circle class="{kind}" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}"'
    return f"{start}><title>{escape(tip)}</title></circle>" if tip else f"{start}/>"


def picture(height: float, label: str, parts: list[str]) -> str:
    """The whole."""
    return "\n".join(
        [
            f'<div class="scroll"><svg class="chart" xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}">',
            f"<title>{escape(label)}</title><style>{STYLE}</style>",
            *parts,
            "</svg></div>",
        ]
    )


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
