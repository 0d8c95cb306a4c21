"""Where the boxes of graphs are."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.relax.graph.layout import GAP, crossings, layered


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 12))
    widths = draw(st.lists(st.floats(10, 200), min_size=count, max_size=count))
    pairs = [(a, b) for b in range(count) for a in range(b)]
    arrows = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else []
    return widths, arrows


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_boxes_are_below_what_they_come_from_and_do_not_overlap(graph):
    widths, arrows = graph
    places, paths = layered(widths, arrows)
    for (source, target), path in zip(arrows, paths, strict=True):
        assert path[0] is places[source]
        assert path[-1] is places[target]
        layers = [place.layer for place in path]
        assert layers == list(range(layers[0], layers[-1] + 1))
        assert len(layers) > 1
    everything = {place for path in paths for place in path} | set(places)
    for a, b in itertools.combinations(everything, 2):
        if a.layer == b.layer and not (a.is_bend or b.is_bend):
            assert abs(a.x - b.x) >= (a.width + b.width) / 2 + GAP - 1e-6
        elif a.layer == b.layer:
            assert abs(a.x - b.x) > (a.width + b.width) / 2


def test_inputs_are_right_above_their_first_use():
    # 0 -> 1 -> 2, and 3 is used by 2 only.
    places, _ = layered([10.0] * 5, [(0, 1), (1, 2), (3, 4), (2, 4)])
    assert [place.layer for place in places] == [0, 1, 2, 2, 3]


def test_arrows_that_need_not_cross_do_not():
    # Two chains whose boxes are listed alternately, the second time the other way round.
    places, paths = layered([10.0] * 6, [(0, 3), (1, 2), (3, 4), (2, 5)])
    layers = [[p for p in places if p.layer == layer] for layer in range(3)]
    for layer in layers:
        layer.sort(key=lambda place: place.x)
    assert crossings(layers) == 0
    assert all(abs(path[0].x - path[-1].x) < 1e-6 for path in paths)
