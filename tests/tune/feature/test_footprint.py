import itertools
import random

import pytest
from tests.tune.feature.enumeration import reached

from tilewright.tune.feature.footprint import crowding, footprint

BOXES = [
    [(1, 8)],
    [(16, 4), (1, 8)],
    [(1, 8), (64, 3), (16, 4)],
    [(1, 5), (1, 3)],  # a window that walks
    [(10, 4), (1, 6), (10, 3), (1, 3)],  # the same in two dimensions
    [(2, 5), (1, 3)],  # with a stride
    [(12, 3), (4, 3), (1, 4)],  # rows that follow each other
    [(7, 3)],
    [(0, 9), (3, 2)],
]


@pytest.mark.parametrize("steps", BOXES)
def test_different_elements(steps):
    found = footprint(tuple(steps), 4)
    elements = set(reached([s for s, _ in steps], [n for _, n in steps]))
    assert found.elements == len(elements)
    assert found.span == 4 * (max(elements) - min(elements) + 1)
    run = next(n for n in itertools.count(1) if n not in elements)
    assert found.run == 4 * run


@pytest.mark.parametrize("steps", [[(1, 32)], [(32, 4), (1, 16)], [(64, 5), (16, 2), (1, 3)]])
def test_different_lines_of_aligned_rows(steps):
    elements = reached([s for s, _ in steps], [n for _, n in steps])
    assert footprint(tuple(steps), 4).lines == len({e * 4 // 64 for e in elements})


@pytest.mark.parametrize("steps", [[(20, 6), (1, 9)], [(33, 4), (1, 20)], [(5, 9)], [(100, 3)]])
def test_different_lines_are_right_on_average(steps):
    elements = reached([s for s, _ in steps], [n for _, n in steps])
    counts = [len({(e + start) * 4 // 64 for e in elements}) for start in range(16)]
    assert footprint(tuple(steps), 4).lines == pytest.approx(sum(counts) / 16, rel=0.3)


def test_rows_at_the_distance_of_a_page_compete_for_sets():
    def fitting(stride, rows, width):
        return crowding(((stride, rows), (1, width)), 4, 4096, 8)

    assert fitting(1024, 8, 16) == 1  # eight lines in the eight ways of one set
    assert fitting(1024, 16, 16) == 0.5
    assert fitting(1024, 16, 64) == 0.5
    assert fitting(512, 16, 16) == 1  # two sets
    assert fitting(1024 + 16, 64, 16) == 1  # 64 sets
    assert fitting(16, 64, 16) == 1


def test_loops_in_any_order_touch_the_same():
    generator = random.Random(1)
    for _ in range(20):
        steps = [(generator.choice([1, 4, 16, 48]), generator.randint(2, 5)) for _ in range(4)]
        found = {footprint(tuple(p), 4) for p in itertools.permutations(steps)}
        assert len(found) == 1
