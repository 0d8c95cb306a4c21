"""Where labels go beside their points so that they do not overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

DISTANCES: Final = (10, 18, 28, 40, 55, 75)
"""Of a label from its point, in the order in which they are tried."""
DIRECTIONS: Final = 12


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2

    def distance(self, x: float, y: float) -> float:
        """Of a point from the nearest edge; 0 inside."""
        outside_x = max(self.x - x, 0, x - self.x - self.width)
        outside_y = max(self.y - y, 0, y - self.y - self.height)
        return math.hypot(outside_x, outside_y)

    def overlap(self, other: Box) -> float:
        """The area in common."""
        width = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        height = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(width, 0) * max(height, 0)


def place(
    anchors: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    taken: Sequence[Box],
    area: Box,
) -> list[Box]:
    """A box for each label: the nearest free one of a number of candidates around its point.

    Args:
        anchors: the points.
        sizes: width and height of each label.
        taken: what labels must keep clear of.
        area: what they must stay in.
    """
    occupied = list(taken)
    result = []
    for anchor, size in zip(anchors, sizes, strict=True):
        box = min(
            candidates(anchor, size),
            key=lambda box: (
                sum(box.overlap(other) for other in occupied)
                + box.width * box.height - box.overlap(area)
            ),
        )  # fmt: skip
        occupied.append(box)
        result.append(box)
    return result


def candidates(anchor: tuple[float, float], size: tuple[float, float]) -> list[Box]:
    """Boxes around the point, the nearest first; of equally good ones `min` takes the first."""
    (x, y), (width, height) = anchor, size
    return [
        Box(
            x + math.cos(angle) * (distance + width / 2) - width / 2,
            y + math.sin(angle) * (distance + height / 2) - height / 2,
            width,
            height,
        )
        for distance in DISTANCES
        for angle in (2 * math.pi * step / DIRECTIONS for step in range(DIRECTIONS))
    ]
