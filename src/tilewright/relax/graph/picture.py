"""Drawing a graph function as SVG."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, Final

from tilewright.error import ArgumentError
from tilewright.relax.expr import Function
from tilewright.relax.graph.layout import Place, layered
from tilewright.relax.graph.model import Arrow, Box, Graph, Kind

FONT: Final = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

CHARACTER: Final = 7.3
"""The width of a character of the font, of 12 pixels and one width for all characters."""

LINE: Final = 16.0
"""The height of a line of text."""

LAYER_GAP: Final = 52.0
"""The distance between two layers, in which arrows run and their texts stand."""

MARGIN: Final = 20.0
LONGEST: Final = 48
"""Longer texts are cut in the middle."""

FILL: Final = {
    Kind.INPUT: ("#eef2f7", "#8795a8"),
    Kind.OPERATION: ("#fff6e5", "#c58a1b"),
    Kind.OUTPUT: ("#e9f5ec", "#4f9a63"),
}
"""The colours of the boxes, inside and around."""


class Picture:
    """A picture of a graph function, which notebooks show.

    Attributes:
        svg: the picture as SVG text, which needs nothing else.
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, whose name ends in ``.svg``."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="max-height: 800px; overflow: auto">{self.svg}</div>'

    def __str__(self) -> str:
        return self.svg


def draw(function: Any) -> Picture:
    """The picture of a graph function."""
    if not isinstance(function, Function):
        raise ArgumentError(
            f"only graph functions have a picture as a graph, this is a {type(function).__name__}"
        )
    graph = Graph(function)
    return Picture(_Drawing(graph).svg())


class _Drawing:
    """The elements of one picture."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        numbers = {box: number for number, box in enumerate(graph.boxes)}
        widths = [_width(box) for box in graph.boxes]
        pairs = [(numbers[arrow.source], numbers[arrow.target]) for arrow in graph.arrows]
        places, paths = layered(widths, list(dict.fromkeys(pairs)))
        self.places = dict(zip(graph.boxes, places, strict=True))
        self.paths = dict(zip(dict.fromkeys(pairs), paths, strict=True))
        self.numbers = numbers
        everywhere = {place for path in paths for place in path} | set(places)
        left = min(place.x - place.width / 2 for place in everywhere)
        for place in everywhere:
            place.x += MARGIN - left
        self.width = MARGIN + max(place.x + place.width / 2 for place in everywhere)
        self.tops, self.heights = self._rows()

    def _rows(self) -> tuple[list[float], list[float]]:
        """Where each layer begins, and how high its highest box is."""
        heights = [0.0] * (1 + max(place.layer for place in self.places.values()))
        for box, place in self.places.items():
            heights[place.layer] = max(heights[place.layer], _height(box))
        tops = [MARGIN]
        for height in heights:
            tops.append(tops[-1] + height + LAYER_GAP)
        return tops, heights

    def svg(self) -> str:
        """The picture."""
        width, height = self.width, self.tops[-1] - LAYER_GAP + MARGIN
        lines = [self._arrow(arrow) for arrow in self.graph.arrows]
        boxes = [self._box(box) for box in self.graph.boxes]
        texts = [text for box in self.graph.boxes for text in self._port_texts(box)]
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
                f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
                f'font-family="{FONT}" font-size="12">',
                '<rect width="100%" height="100%" fill="#ffffff"/>',
                '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
                'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#55606e"/>'
                "</marker></defs>",
                *lines,
                *texts,
                *boxes,
                "</svg>",
            ]
        )

    # --- boxes ------------------------------------------------------------------------------

    def _box(self, box: Box) -> str:
        place, height = self.places[box], _height(box)
        x, y = place.x - _box_width(box) / 2, self.tops[place.layer]
        fill, stroke = FILL[box.kind]
        radius = 4 if box.kind is Kind.OPERATION else height / 2
        lines = [_cut(box.title), *map(_cut, box.details)]
        texts = "".join(
            f'<text x="{place.x:.1f}" y="{y + 4 + LINE * (row + 0.75):.1f}" text-anchor="middle"'
            f"{_style(row)}>{escape(line)}</text>"
            for row, line in enumerate(lines)
        )
        return (
            f'<g><rect x="{x:.1f}" y="{y:.1f}" width="{_box_width(box):.1f}" '
            f'height="{height:.1f}" rx="{radius:.1f}" fill="{fill}" stroke="{stroke}"/>'
            f"{texts}</g>"
        )

    # --- arrows -----------------------------------------------------------------------------

    def _port_x(self, box: Box, port: tuple[int, ...]) -> float:
        """Where the arrows of a result begin: the texts of all stand side by side."""
        widths = [_port_width(text) for text in box.ports.values()]
        start = self.places[box].x - sum(widths) / 2
        index = list(box.ports).index(port)
        own = 0 if len(widths) == 1 else widths[index] / 2
        return start + sum(widths[:index]) + own if len(widths) > 1 else self.places[box].x

    def _port_texts(self, box: Box) -> list[str]:
        y = self._bottom(box) + LINE
        return [
            f'<text x="{self._port_x(box, port) + 5:.1f}" y="{y:.1f}" fill="#55606e" '
            f'font-size="11" stroke="#ffffff" stroke-width="3" paint-order="stroke">'
            f"{escape(_cut(text))}</text>"
            for port, text in box.ports.items()
        ]

    def _bottom(self, box: Box) -> float:
        return self.tops[self.places[box].layer] + _height(box)

    def _arrow(self, arrow: Arrow) -> str:
        path = self.paths[self.numbers[arrow.source], self.numbers[arrow.target]]
        x, y = self._port_x(arrow.source, arrow.port), self._bottom(arrow.source)
        line = [f"M{x:.1f},{y:.1f}"]
        # Straight down beside its text first, and through the layers that it passes.
        y = self.tops[path[0].layer] + self.heights[path[0].layer] + LINE + 4
        line.append(f"V{y:.1f}")
        for place in path[1:]:
            top = self.tops[place.layer]
            end = place.x if place.is_bend else self._entry_x(arrow.target, path)
            middle = (y + top) / 2
            line.append(f"C{x:.1f},{middle:.1f} {end:.1f},{middle:.1f} {end:.1f},{top:.1f}")
            x, y = end, top
            if place.is_bend:
                y += self.heights[place.layer] + LINE + 4
                line.append(f"V{y:.1f}")
        return f'<path d="{" ".join(line)}" fill="none" stroke="#55606e" marker-end="url(#arrow)"/>'

    def _entry_x(self, box: Box, path: list[Place]) -> float:
        """Where an arrow ends: the ends of all arrows of a box are spread along its top."""
        place = self.places[box]
        before = sorted(place.above, key=lambda other: other.x)
        position = next(i for i, other in enumerate(before) if other is path[-2])
        width = min(_box_width(box) - 16, 28.0 * (len(before) - 1))
        share = position / (len(before) - 1) if len(before) > 1 else 0.5
        return place.x + width * (share - 0.5)


# --- sizes and texts -------------------------------------------------------------------------


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2 - 1
    return f"{text[:half]}...{text[-half:]}"


def _style(row: int) -> str:
    return ' font-weight="600"' if row == 0 else ' fill="#55606e" font-size="11"'


def _box_width(box: Box) -> float:
    return max(len(_cut(line)) for line in [box.title, *box.details]) * CHARACTER + 24


def _port_width(text: str) -> float:
    return len(_cut(text)) * CHARACTER + 18


def _width(box: Box) -> float:
    """The room that a box needs, with the texts of its results below."""
    widths = [_port_width(text) for text in box.ports.values()]
    # A single text stands to the right of the middle.
    texts = 2 * widths[0] if len(widths) == 1 else sum(widths)
    return max(_box_width(box), texts)


def _height(box: Box) -> float:
    return LINE * (1 + len(box.details)) + 8
