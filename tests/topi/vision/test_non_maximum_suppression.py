"""Boxes that overlap no better one too much."""

import numpy as np
import pytest
from tests.topi.running import run

from tilewright import te, topi
from tilewright.error import ArgumentValueError, DTypeError, ShapeError


def boxes(count, seed):
    """Boxes of two classes in random order, some of them the same."""
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 6, (count, 2))
    rows = np.concatenate([corners, corners + rng.integers(1, 5, (count, 2))], 1)
    scores = rng.permutation(count)[:, None] / count
    return np.concatenate([rng.integers(0, 2, (count, 1)), scores, rows], 1).astype("float32")


def chosen(data, count, limit, threshold, all_classes, best):
    """The places of the chosen boxes in numpy."""
    order = sorted(range(count), key=lambda n: -data[n, 1])[: best if best > 0 else None]
    kept = []
    for n in order:
        left, top, right, bottom = data[n, 2:]
        fits = limit <= 0 or len(kept) < limit
        for m in kept:
            u, v, w, z = data[m, 2:]
            common = max(min(right, w) - max(left, u), 0) * max(min(bottom, z) - max(top, v), 0)
            area = (right - left) * (bottom - top) + (w - u) * (z - v) - common
            competes = all_classes or data[n, 0] == data[m, 0]
            fits = fits and not (competes and common > threshold * area)
        if fits:
            kept.append(n)
    return kept, order


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("limit", "threshold", "all_classes", "best"),
    [(-1, 0.5, False, -1), (3, 0.3, True, -1), (-1, 0.0, True, 5), (2, 0.9, False, 6)],
)
def test_non_max_suppression(limit, threshold, all_classes, best, symbolic):
    data, counts = np.stack([boxes(9, 1), boxes(9, 2)]), np.array([9, 6], "int32")
    names = np.arange(18, dtype="int32").reshape(2, 9)
    dims = [("n", "m", 6), ("n",), ("n", "m")] if symbolic else None

    def operator(return_indices, bottom=False):
        return lambda *tensors: topi.vision.non_max_suppression(
            *tensors, limit, threshold, all_classes, best, 2, 1, 0, return_indices, bottom
        )

    found, number = run(operator(True), data, counts, names, dims=dims)
    in_order = run(operator(False), data, counts, names, dims=dims)
    first = run(operator(False, True), data, counts, names, dims=dims)
    for b in range(2):
        kept, order = chosen(data[b], counts[b], limit, threshold, all_classes, best)
        assert number[b] == len(kept)
        np.testing.assert_array_equal(found[b, : len(kept)], names[b, kept])
        np.testing.assert_array_equal(found[b, len(kept) :], -1)
        np.testing.assert_array_equal(first[b, : len(kept)], data[b, kept])
        np.testing.assert_array_equal(first[b, len(kept) :], -1)
        for t, n in enumerate(order):
            np.testing.assert_array_equal(in_order[b, t], data[b, n] if n in kept else -1)


def test_mistakes_are_named():
    data, counts = te.placeholder((2, 9, 6)), te.placeholder((2,), "int32")
    names = te.placeholder((2, 9), "int32")
    with pytest.raises(ArgumentValueError, match="a box has 6 numbers"):
        topi.vision.non_max_suppression(data, counts, names, coord_start=3)
    with pytest.raises(DTypeError, match="`indices` has int32 or int64"):
        topi.vision.non_max_suppression(data, counts, te.placeholder((2, 9)))
    with pytest.raises(ShapeError, match="the boxes of `data` and `indices`: 9 and 8 differ"):
        topi.vision.non_max_suppression(data, counts, te.placeholder((2, 8), "int32"))
