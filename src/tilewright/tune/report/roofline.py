"""All candidates below what the machine can do at most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from tilewright.runtime.peaks import Peaks
from tilewright.tune.report import quantities
from tilewright.tune.report.chart import WIDTH, Scale, circle, line, picture, text, upright
from tilewright.tune.report.summary import TaskSummary

HEIGHT: Final = 440
LEFT, RIGHT, TOP, BOTTOM = 74, 700, 16, HEIGHT - 46
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
    x, y = _scales(shown, peaks, dtypes)
    height = max(HEIGHT, TOP + ROW * (len(shown) + 2))
    parts = [*_grid(x, y), *_roofs(x, y, peaks, dtypes)]
    for number, task in enumerate(shown, 1):
        parts += _marks(number, task, x, y)
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


def _scales(
    shown: Sequence[TaskSummary], peaks: Peaks, dtypes: Sequence[str]
) -> tuple[Scale, Scale]:
    top = max(peaks.operations[dtype] for dtype in dtypes)
    speeds = [task.flop / r.mean_secs for task in shown for r in task.trials if r.is_valid]
    intensities = [_intensity(task) for task in shown]
    # The bends of the roofs of all memories are in the picture.
    bends = [top / bandwidth for bandwidth in peaks.bandwidth.values()]
    x = Scale(min([*intensities, *bends]) / 2, max([*intensities, *bends]) * 2, LEFT, RIGHT)
    slowest = min([*speeds, top / 100])
    return x, Scale(slowest / 1.6, max([*speeds, top]) * 1.6, BOTTOM, TOP)


def _grid(x: Scale, y: Scale) -> list[str]:
    parts = []
    for value in x.ticks():
        parts.append(line("grid", x(value), TOP, x(value), BOTTOM))
        parts.append(text((x(value), BOTTOM + 18), f"{value:g}", "small", "middle"))
    for value in y.ticks():
        parts.append(line("grid", LEFT, y(value), RIGHT, y(value)))
        parts.append(text((LEFT - 8, y(value) + 4), f"{value * 1e-9:g}", "small", "end"))
    middle = (LEFT + RIGHT) / 2
    return [
        *parts,
        text((middle, BOTTOM + 38), "operations per byte of arguments", "small", "middle"),
        upright((14, (TOP + BOTTOM) / 2), "GFLOP/s"),
    ]


def _roofs(x: Scale, y: Scale, peaks: Peaks, dtypes: Sequence[str]) -> list[str]:
    """Slopes of the memories up to the highest peak, and a level line for each dtype."""
    top = max(peaks.operations[dtype] for dtype in dtypes)
    parts = []
    for name, bandwidth in peaks.bandwidth.items():
        low, high = max(x.low, y.low / bandwidth), min(x.high, top / bandwidth)
        if low >= high:
            continue
        start, stop = (x(low), y(low * bandwidth)), (x(high), y(high * bandwidth))
        parts.append(line("roof", *start, *stop))
        parts.append(_along(start, stop, f"{name} {quantities.digits(bandwidth * 1e-9)} GB/s"))
    fastest = max(peaks.bandwidth.values())
    for dtype in dtypes:
        peak = peaks.operations[dtype]
        parts.append(line("roof", x(max(x.low, peak / fastest)), y(peak), RIGHT, y(peak)))
        label = f"{dtype} {quantities.rate(peak)}"
        parts.append(text((RIGHT - 4, y(peak) - 6), label, "small", "end"))
    return parts


def _along(start: tuple[float, float], stop: tuple[float, float], content: str) -> str:
    """Text on a line, close to its lower end."""
    angle = math.degrees(math.atan2(stop[1] - start[1], stop[0] - start[0]))
    length = math.dist(start, stop)
    part = 10 / length if length > 10 else 0
    px = start[0] + part * (stop[0] - start[0]) - 5 * math.sin(math.radians(-angle))
    py = start[1] + part * (stop[1] - start[1]) - 5 * math.cos(math.radians(-angle))
    turned = f'transform="rotate({angle:.1f} {px:.1f} {py:.1f})"'
    return f'<text class="small" x="{px:.1f}" y="{py:.1f}" {turned}>{content}</text>'


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
