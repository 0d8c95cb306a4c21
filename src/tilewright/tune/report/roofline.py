"""Rooflines: speed over arithmetic intensity, below what the machine can do at most.

`Plane` has the axes and the roofs of any of them; `roofline` is that of a report on tuning.

Source: S. Williams, A. Waterman and D. Patterson, "Roofline: an insightful visual performance model
for multicore architectures", Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from tilewright.runtime.peaks import Peaks
from tilewright.tune.report import quantities
from tilewright.tune.report.chart import WIDTH, Scale, circle, line, picture, text, upright
from tilewright.tune.report.summary import TaskSummary


class Edges(NamedTuple):
    """The edges of a plot."""

    left: float
    right: float
    top: float
    bottom: float


HEIGHT: Final = 440
LEFT, RIGHT, TOP, BOTTOM = EDGES = Edges(74, 700, 16, HEIGHT - 46)
ROW: Final = 20


def roofline(tasks: Sequence[TaskSummary], peaks: Peaks) -> str:
    """The chart of all tasks that have operations; empty if there is none.

    Speed is over operations per byte of the arguments, so the candidates of a task are above one
    another.
    """
    shown = [task for task in tasks if task.flop and task.traffic and task.best is not None]
    dtypes = list(dict.fromkeys(task.dtype for task in shown if task.dtype in peaks.operations))
    if not shown or not peaks.bandwidth:
        return ""
    dtypes = dtypes or [*peaks.operations][:1]
    speeds = [task.flop / r.mean_secs for task in shown for r in task.trials if r.is_valid]
    plane = plane_of(list(map(_intensity, shown)), speeds, peaks, dtypes, EDGES)
    height = max(HEIGHT, TOP + ROW * (len(shown) + 2))
    parts = plane.grid("operations per byte of arguments", "GFLOP/s")
    parts += plane.roofs(peaks, dtypes, lambda _, peak: quantities.rate(peak))
    for number, task in enumerate(shown, 1):
        parts += _marks(number, task, plane.x, plane.y)
    label = f"Roofline on {quantities.count(peaks.threads, 'thread')}"
    return picture(height, label, [*parts, *_listing(shown, peaks)])


def share(task: TaskSummary, peaks: Peaks) -> float | None:
    """Which part of what the machine can do at most the best candidate reaches."""
    if task.best is None:
        return None
    bound = peaks.bound(task.dtype, task.flop, task.traffic)
    return None if bound is None else bound.seconds / task.best.mean_secs


def _intensity(task: TaskSummary) -> float:
    return task.flop / task.traffic


Free = Callable[[float, float], float]
"""The distance of a position from what is drawn."""


class Plane(NamedTuple):
    """The plane of a roofline, with logarithmic axes."""

    x: Scale
    y: Scale

    def grid(self, intensity: str, speed: str) -> list[str]:
        """Lines and numbers, and what the axes are called; speeds are in billions."""
        x, y = self
        parts = []
        for value in x.ticks():
            parts.append(line("grid", x(value), y.stop, x(value), y.start))
            parts.append(text((x(value), y.start + 18), f"{value:g}", "small", "middle"))
        for value in y.ticks():
            parts.append(line("grid", x.start, y(value), x.stop, y(value)))
            parts.append(text((x.start - 8, y(value) + 4), f"{value * 1e-9:g}", "small", "end"))
        return [
            *parts,
            text(((x.start + x.stop) / 2, y.start + 38), intensity, "small", "middle"),
            upright((14, (y.start + y.stop) / 2), speed),
        ]

    def roofs(
        self,
        peaks: Peaks,
        dtypes: Sequence[str],
        rate: Callable[[str, float], str],
        free: Free = lambda x, y: 0.0,
    ) -> list[str]:
        """Slopes of the memories up to the highest peak, and a level line for each dtype.

        Args:
            peaks: what the machine can do.
            dtypes: of the level lines.
            rate: the text of a dtype's operations per second.
            free: the distance of a label from what is drawn, which should be large.
        """
        x, y = self
        top = max(peaks.operations[dtype] for dtype in dtypes)
        parts = []
        for name, bandwidth in peaks.bandwidth.items():
            low, high = max(x.low, y.low / bandwidth), min(x.high, top / bandwidth)
            if low < high:
                start, stop = (x(low), y(low * bandwidth)), (x(high), y(high * bandwidth))
                parts.append(line("roof", *start, *stop))
                label = f"{name} {quantities.digits(bandwidth * 1e-9)} GB/s"
                parts.append(_along(start, stop, label, free))
        fastest = max(peaks.bandwidth.values())
        for dtype in dtypes:
            peak = peaks.operations[dtype]
            start, stop = (x(max(x.low, peak / fastest)), y(peak)), (x.stop, y(peak))
            parts.append(line("roof", *start, *stop))
            parts.append(_along(start, stop, f"{dtype} {rate(dtype, peak)}", free))
        return parts


def plane_of(
    intensities: Sequence[float],
    speeds: Sequence[float],
    peaks: Peaks,
    dtypes: Sequence[str],
    edges: Edges,
) -> Plane:
    """Axes that hold all points and the bends of all roofs."""
    top = max(peaks.operations[dtype] for dtype in dtypes)
    bends = [top / bandwidth for bandwidth in peaks.bandwidth.values()]
    shown = [*intensities, *bends]
    x = Scale(min(shown) / 2, max(shown) * 2, edges.left, edges.right)
    slowest = min([*speeds, top / 100])
    return Plane(x, Scale(slowest / 1.6, max([*speeds, top]) * 1.6, edges.bottom, edges.top))


def _along(start: tuple[float, float], stop: tuple[float, float], label: str, free: Free) -> str:
    """Text that stands on the line from `start` to `stop`, where it is far from the points."""
    length = math.dist(start, stop)
    dx, dy = (stop[0] - start[0]) / length, (stop[1] - start[1]) / length
    width = 6.5 * len(label)

    def at(position: float) -> tuple[float, float]:
        return start[0] + dx * position + 5 * dy, start[1] + dy * position - 5 * dx

    def room(position: float) -> float:
        """The distance to the nearest point, from both ends and the middle."""
        parts = (position, position + width / 2, position + width)
        return min(free(*at(part)) for part in parts)

    steps = [step / 20 * (length - width) for step in range(1, 20)]
    px, py = at(max(steps, key=lambda position: min(room(position), 40)))
    angle = math.degrees(math.atan2(dy, dx))
    turned = f'transform="rotate({angle:.1f} {px:.1f} {py:.1f})"'
    return f'<text class="small" x="{px:.1f}" y="{py:.1f}" {turned}>{label}</text>'


def _marks(number: int, task: TaskSummary, x: Scale, y: Scale) -> list[str]:
    at = x(_intensity(task))
    parts = []
    for record in task.trials:
        if record.is_valid:
            speed = task.flop / record.mean_secs
            tip = f"{task.name}: {quantities.rate(speed)}"
            parts.append(circle("point", (at, y(speed)), 3.2, tip))
    speed = task.best_rate
    if speed is not None:
        tip = f"best of {task.name}: {quantities.rate(speed)}"
        parts.append(circle("best", (at, y(speed)), 5.5, tip))
        parts.append(text((at + 9, y(speed) + 4), str(number)))
    return parts


def _listing(shown: Sequence[TaskSummary], peaks: Peaks) -> list[str]:
    left, right = RIGHT + 30, WIDTH - 8
    parts = []
    for number, task in enumerate(shown, 1):
        at = TOP + ROW * number
        part = share(task, peaks)
        reached = "" if part is None else f", {100 * part:.0f} %"
        name = task.name if len(task.name) <= 24 else task.name[:23] + "\u2026"
        parts.append(text((left, at), f"{number} {name}"))
        speed = quantities.rate(task.best_rate or 0.0)
        parts.append(text((right, at), f"{speed}{reached}", "small", "end"))
    return parts
