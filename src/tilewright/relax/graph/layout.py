"""Where the boxes of a graph are: in layers, from the inputs down to the result.

The method is that of Sugiyama, Tagawa and Toda (1981): each box is in a layer below those that it
has arrows from; arrows over several layers are split at each; the order within layers is improved
by barycentres, layer by layer, and the best order is kept; then each box moves as near to the
middle of its neighbours as those beside it allow. The last step is a least-squares problem with an
order, which the pool-adjacent-violators algorithm solves.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

SWEEPS = 12
"""Number of passes that improve the order, and then the positions, of all layers."""

MOST_WORK = 200_000
"""Limit of moves in all sweeps: large graphs, which nobody sees as a whole, get few sweeps."""

GAP = 24.0
"""Minimum distance between two boxes of a layer."""

BEND_GAP = 14.0
"""Minimum distance between an arrow that passes a layer and its neighbours."""


@dataclass(eq=False)
class Place:
    """Where a box is, or where an arrow passes a layer.

    Attributes:
        above: the places that lines come from.
        below: the places that lines go to.
    """

    width: float = 0.0
    x: float = 0.0
    layer: int = 0
    above: list[Place] = field(default_factory=list)
    below: list[Place] = field(default_factory=list)

    @property
    def is_bend(self) -> bool:
        """Whether an arrow passes here."""
        return not self.width


def layered(
    widths: Sequence[float], arrows: Sequence[tuple[int, int]]
) -> tuple[list[Place], list[list[Place]]]:
    """Place boxes, and lead arrows between them.

    Args:
        widths: of the boxes, each after those that it has arrows from.
        arrows: pairs of numbers of boxes, each once.

    Returns:
        The place of each box; and for each arrow the places that it passes, both ends among them.
    """
    places = [Place(width) for width in widths]
    _assign_layers(places, arrows)
    paths = [_path(places[source], places[target]) for source, target in arrows]
    layers: list[list[Place]] = [[] for _ in range(1 + max(p.layer for p in places))]
    for place in dict.fromkeys([*places, *(p for path in paths for p in path)]):
        layers[place.layer].append(place)
    _order(layers)
    _position(layers)
    return places, paths


def _assign_layers(places: list[Place], arrows: Sequence[tuple[int, int]]) -> None:
    """Below everything that comes before; what comes from nothing, right above its first use."""
    for source, target in sorted(arrows, key=lambda arrow: arrow[1]):
        places[target].layer = max(places[target].layer, places[source].layer + 1)
    targets = {target for _, target in arrows}
    uses: dict[int, list[int]] = {}
    for source, target in arrows:
        uses.setdefault(source, []).append(places[target].layer)
    for number, place in enumerate(places):
        if number not in targets and number in uses:
            place.layer = min(uses[number]) - 1


def _path(source: Place, target: Place) -> list[Place]:
    bends = [Place(layer=layer) for layer in range(source.layer + 1, target.layer)]
    path = [source, *bends, target]
    for upper, lower in itertools.pairwise(path):
        upper.below.append(lower)
        lower.above.append(upper)
    return path


# --- the order within layers -----------------------------------------------------------------


def _order(layers: list[list[Place]]) -> None:
    best, fewest = [list(layer) for layer in layers], crossings(layers)
    for sweep in range(_sweeps(layers)):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            _sort_by_neighbours(layer, layers, down)
        count = crossings(layers)
        if count < fewest:
            best, fewest = [list(layer) for layer in layers], count
    layers[:] = best


def _sweeps(layers: list[list[Place]]) -> int:
    return max(2, min(SWEEPS, MOST_WORK // sum(map(len, layers))))


def _sort_by_neighbours(layer: list[Place], layers: list[list[Place]], down: bool) -> None:
    neighbours = layer[0].layer + (-1 if down else 1)
    if not 0 <= neighbours < len(layers):
        return
    position = {place: index for index, place in enumerate(layers[neighbours])}
    own = {place: index for index, place in enumerate(layer)}

    def centre(place: Place) -> float:
        found = [position[other] for other in (place.above if down else place.below)]
        return sum(found) / len(found) if found else own[place]

    layer.sort(key=centre)


def crossings(layers: list[list[Place]]) -> int:
    """Number of pairs of lines between neighbouring layers that cross."""
    total = 0
    for upper, lower in itertools.pairwise(layers):
        position = {place: index for index, place in enumerate(lower)}
        ends = [sorted(position[other] for other in place.below) for place in upper]
        seen: list[int] = []
        for targets in ends:
            total += sum(len(seen) - bisect.bisect_right(seen, target) for target in targets)
            for target in targets:
                bisect.insort(seen, target)
    return total


# --- positions -------------------------------------------------------------------------------


def _position(layers: list[list[Place]]) -> None:
    for layer in layers:
        _spread(layer, [0.0] * len(layer))
    for sweep in range(2 * _sweeps(layers)):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wanted = [_middle(place, down) for place in layer]
            _spread(layer, wanted)


def _middle(place: Place, down: bool) -> float:
    """The middle of the neighbours on one side; of the others, if there are none."""
    neighbours = (place.above if down else place.below) or place.below or place.above
    if not neighbours:
        return place.x
    found = sorted(other.x for other in neighbours)
    half = len(found) // 2
    return found[half] if len(found) % 2 else (found[half - 1] + found[half]) / 2


def _spread(layer: list[Place], wanted: list[float]) -> None:
    """Put the places of a layer as near as possible to `wanted`, in order and apart."""
    offsets = [0.0]
    for left, right in itertools.pairwise(layer):
        gap = BEND_GAP if left.is_bend or right.is_bend else GAP
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + gap)
    groups: list[tuple[float, float, int]] = []  # sum of weighted positions, weight, count
    for place, target, offset in zip(layer, wanted, offsets, strict=True):
        weight = 4.0 if place.is_bend else 1.0  # straight lines are worth more
        group = ((target - offset) * weight, weight, 1)
        while groups and groups[-1][0] / groups[-1][1] > group[0] / group[1]:
            before = groups.pop()
            group = (before[0] + group[0], before[1] + group[1], before[2] + group[2])
        groups.append(group)
    positions = [total / weight for total, weight, count in groups for _ in range(count)]
    for place, position, offset in zip(layer, positions, offsets, strict=True):
        place.x = position + offset
