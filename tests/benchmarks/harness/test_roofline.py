"""The picture is well-formed, and everything lies where it belongs."""

import math
from xml.etree import ElementTree

import pytest
from benchmarks.harness.label_placement import Box, place
from benchmarks.harness.record import Record
from benchmarks.harness.roofline import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    as_svg,
    number_text,
    points,
    shortened,
)
from benchmarks.harness.timing import Sample

from tilewright.runtime.peaks import Peaks

PEAKS = Peaks(1, {"float32": 2e11, "int8": 8e11}, {"L1": 3e11, "DRAM": 1e10}, {"L1": 1 << 15})
SVG = "{http://www.w3.org/2000/svg}"


def record(work, seconds, theirs, flop=1e9, size=1e7, schedule="hand", peer="numpy", **fields):
    other = [Sample(theirs, theirs)] if theirs else []
    return Record(
        "family", work, schedule, peer, 1, flop=flop, bytes=size,
        ours=[Sample(seconds, seconds)], theirs=other, **fields,
    )  # fmt: skip


RECORDS = [
    record("a < b", 0.01, 0.02),
    record("a < b", 0.01, 0.016, peer="torch"),
    record("a < b", 0.04, 0.02, schedule="default"),
    record("int", 0.002, None, dtype="int8"),
    record("copy", 0.01, 0.01, flop=0),
]


def test_a_point_has_the_fastest_peer_and_both_schedules():
    first, second = points(RECORDS)
    assert first.work == "a < b"
    assert first.intensity == 100
    assert (first.hand, first.default) == pytest.approx((1e11, 2.5e10))
    assert first.peer == pytest.approx(1e9 / 0.016)
    assert first.peer_name == "torch"
    assert second.peer is None


def test_the_picture_is_whole():
    root = ElementTree.fromstring(as_svg(RECORDS, PEAKS, "a & b"))
    texts = ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]
    for text in ("1 a < b", "2 int", "a & b", "float32 200 GFLOP/s", "int8 800 GOP/s"):
        assert text in texts
    assert "prefers-color-scheme: dark" in root.find(f"{SVG}style").text
    marks = [node for node in root.iter(f"{SVG}circle") if float(node.get("cx")) <= RIGHT]
    assert len(marks) == 3
    for mark in marks:
        assert float(mark.get("cx")) >= LEFT
        assert TOP <= float(mark.get("cy")) <= BOTTOM
    x1, y1, x2, y2 = (
        [float(node.get(end)) for node in root.iter(f"{SVG}line") if node.get("class") == "roof"]
        for end in ("x1", "y1", "x2", "y2")
    )
    assert min(*x1, *x2) >= LEFT - 0.1
    assert max(*y1, *y2) <= BOTTOM + 0.1


def test_long_names_are_cut():
    assert shortened("a" * 44) == "a" * 44
    assert shortened("a" * 45) == "a" * 43 + "\u2026"
    assert number_text(1234.5) == "1234"
    assert number_text(0.12345) == "0.123"


def test_nothing_to_show():
    assert as_svg([], PEAKS, "") == ""
    assert as_svg([record("copy", 1, 1, flop=0)], PEAKS, "") == ""


def test_labels_keep_clear_of_each_other_and_stay_inside():
    anchors = [(50.0 + 3 * i, 50.0) for i in range(8)]
    points_there = [Box(x - 3, y - 3, 6, 6) for x, y in anchors]
    area = Box(0, 0, 120, 120)
    boxes = place(anchors, [(12.0, 10.0)] * 8, points_there, area)
    for number, box in enumerate(boxes):
        assert box.overlap(area) == pytest.approx(120)
        assert sum(box.overlap(other) for other in [*boxes[:number], *points_there]) == 0
        assert box.distance(*anchors[number]) < 80


def test_distance_and_overlap_of_boxes():
    box = Box(0, 0, 10, 10)
    assert box.distance(5, 5) == 0
    assert box.distance(13, 14) == math.hypot(3, 4)
    assert box.overlap(Box(5, 5, 10, 2)) == 10
    assert box.overlap(Box(10, 0, 5, 5)) == 0
