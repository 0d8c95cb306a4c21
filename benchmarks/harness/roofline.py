"""The records as a roofline: speed over arithmetic intensity, below what the machine can do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from benchmarks.harness.label_placement import Box, place
from benchmarks.harness.record import Record
from benchmarks.harness.units import unit
from tilewright.runtime.peaks import Peaks
from tilewright.tune.report.chart import Scale, circle, line
from tilewright.tune.report.roofline import Edges, Free, plane_of

WIDTH, HEIGHT = 1240, 620
LEFT, RIGHT, TOP, BOTTOM = EDGES = Edges(70, 800, 60, 560)
"""The edges of the plot; the list of works is to its right."""
ROW: Final = 17
NAME_LENGTH: Final = 44
STYLE: Final = """
text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.small { font-size: 11px; fill: #59636e; }
.title { font-size: 15px; font-weight: 600; }
.ground { fill: #ffffff; }
.grid { stroke: #d1d9e0; stroke-width: 0.6; }
.roof { stroke: #59636e; stroke-width: 1.6; fill: none; }
.hand { fill: #0969da; stroke: #0969da; }
.default { fill: none; stroke: #0969da; stroke-width: 1.8; }
.peer { stroke: #bc4c00; stroke-width: 1.8; fill: none; }
.gap { stroke: #9aa4ae; stroke-width: 0.8; stroke-dasharray: 2 2; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .small { fill: #9198a1; }
  .ground { fill: #0d1117; }
  .grid { stroke: #2d343c; }
  .roof { stroke: #9198a1; }
  .hand { fill: #4493f8; stroke: #4493f8; }
  .default { stroke: #4493f8; }
  .peer { stroke: #f0883e; }
  .gap { stroke: #6e7681; }
}
"""


@dataclass
class Point:
    """A work in the plot.

    Attributes:
        work: its name.
        intensity: operations per byte of compulsory traffic.
        hand: operations per second under the hand-written schedule, if there is one.
        default: under the default schedule.
        peer: of the fastest peer.
        peer_name: its name.
    """

    work: str
    intensity: float
    hand: float | None = None
    default: float | None = None
    peer: float | None = None
    peer_name: str = ""

    @property
    def speeds(self) -> list[float]:
        return [s for s in (self.hand, self.default, self.peer) if s is not None]


def points(records: Sequence[Record]) -> list[Point]:
    """One for each work that has operations and traffic and was measured."""
    found: dict[str, Point] = {}
    for record in records:
        if not (record.flop and record.bytes and record.seconds):
            continue
        point = found.setdefault(record.work, Point(record.work, record.flop / record.bytes))
        ours = record.flop / record.seconds
        if record.schedule == "hand":
            point.hand = max(ours, point.hand or 0)
        else:
            point.default = max(ours, point.default or 0)
        if record.their_seconds and not record.peer.startswith("ours"):
            theirs = record.flop / record.their_seconds
            if theirs > (point.peer or 0):
                point.peer, point.peer_name = theirs, record.peer
    return sorted(found.values(), key=lambda point: point.intensity)


def as_svg(records: Sequence[Record], peaks: Peaks, title: str) -> str:
    """The picture; empty if there is nothing to show."""
    shown = points(records)
    dtypes = list(dict.fromkeys(r.dtype for r in records if r.dtype in peaks.operations))
    if not shown or not dtypes:
        return ""
    speeds = [speed for point in shown for speed in point.speeds]
    plane = plane_of([p.intensity for p in shown], speeds, peaks, dtypes, EDGES)
    x, y = plane
    height = max(HEIGHT, TOP + ROW * (len(shown) + 7))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}" role="img">',
            f"<title>{escape(title)}</title><style>{STYLE}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
            f'<text class="title" x="{LEFT}" y="24">Roofline on {peaks.threads} '
            f"thread{'s' if peaks.threads > 1 else ''}</text>",
            f'<text class="small" x="{LEFT}" y="42">{escape(title)}</text>',
            *plane.grid(
                "operations per byte of compulsory traffic", "billion operations per second"
            ),
            *plane.roofs(peaks, dtypes, _rate, distance_from(x, y, shown)),
            *marks(x, y, shown),
            *listing(shown),
            "</svg>\n",
        ]
    )


def distance_from(x: Scale, y: Scale, shown: Sequence[Point]) -> Free:
    """How far a place in the plot is from the nearest point."""
    places = [(x(point.intensity), y(speed)) for point in shown for speed in point.speeds]
    return lambda px, py: min(math.dist((px, py), place) for place in places)


def _rate(dtype: str, peak: float) -> str:
    return f"{peak * 1e-9:.3g} {unit(dtype)}"


def marks(x: Scale, y: Scale, shown: Sequence[Point]) -> list[str]:
    """Every point with its number beside it."""
    lines, taken = [], []
    for point in shown:
        at = x(point.intensity)
        heights = [y(speed) for speed in point.speeds]
        lines.append(line("gap", at, min(heights), at, max(heights)))
        if point.peer:
            lines.append(_cross(at, y(point.peer)))
        if point.default:
            lines.append(circle("default", (at, y(point.default)), 5.0))
        if point.hand:
            lines.append(circle("hand", (at, y(point.hand)), 4.0))
        taken += [Box(at - 6, height - 6, 12, 12) for height in heights]
    anchors = [(x(point.intensity), y(point.hand or point.default or 1)) for point in shown]
    sizes = [(7.5 * len(str(number)), 12.0) for number in range(1, len(shown) + 1)]
    area = Box(LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP)
    for number, (anchor, box) in enumerate(
        zip(anchors, place(anchors, sizes, taken, area), strict=True), 1
    ):
        if box.distance(*anchor) > 12:
            lines.append(line("gap", *anchor, *box.centre))
        lines.append(f'<text x="{box.x:.1f}" y="{box.y + 10:.1f}">{number}</text>')
    return lines


def listing(shown: Sequence[Point]) -> list[str]:
    """What the marks mean, and the works by number with their speeds."""
    left, top = RIGHT + 40, TOP + 6
    lines = [
        circle("hand", (left, top), 4.0),
        f'<text x="{left + 12}" y="{top + 4}">hand-written schedule</text>',
        circle("default", (left, top + ROW), 5.0),
        f'<text x="{left + 12}" y="{top + ROW + 4}">default schedule</text>',
        _cross(left, top + 2 * ROW),
        f'<text x="{left + 12}" y="{top + 2 * ROW + 4}">fastest peer</text>',
        f'<text class="small" x="{WIDTH - 12}" y="{top + 3.4 * ROW:.1f}" text-anchor="end">'
        "10\u2079/s: ours, peer's</text>",
    ]
    for number, point in enumerate(shown, 1):
        at = top + (number + 3.6) * ROW
        ours = max(point.hand or 0, point.default or 0) * 1e-9
        theirs = f", {number_text(point.peer * 1e-9)}" if point.peer else ""
        lines += [
            f'<text x="{left - 8}" y="{at:.1f}">{number} {escape(shortened(point.work))}</text>',
            f'<text class="small" x="{WIDTH - 12}" y="{at:.1f}" text-anchor="end">'
            f"{number_text(ours)}{theirs}</text>",
        ]
    return lines


def number_text(value: float) -> str:
    """Three digits, without a power of ten."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def shortened(name: str) -> str:
    """What fits the list."""
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "\u2026"


def _cross(x: float, y: float) -> str:
    return f'<path class="peer" d="M{x - 4:.1f} {y - 4:.1f}l8 8M{x - 4:.1f} {y + 4:.1f}l8 -8"/>'
