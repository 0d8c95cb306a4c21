"""Boxes of images in a size of their own."""

import numpy as np
import pytest
from tests.topi.running import real, run

from tilewright import te, topi
from tilewright.error import ArgumentValueError, DTypeError, ShapeError


def sampled(image, y, x):
    """The mixture of the pixels around a place, of one channel."""
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    b, r = y - top, x - left
    upper = image[top, left] * (1 - r) + image[top, right] * r
    return upper * (1 - b) + (image[bottom, left] * (1 - r) + image[bottom, right] * r) * b


def aligned(data, rois, size, scale, ratio, reduce, offset=0.0, least=1):
    """The operator in numpy."""
    result = np.zeros((len(rois), data.shape[1], *size))
    for box, c, i, j in np.ndindex(*result.shape):
        left, top, right, bottom = rois[box, 1:] * scale - offset
        h, w = max(bottom - top, least) / size[0], max(right - left, least) / size[1]
        samples = [
            sampled(
                data[int(rois[box, 0]), c],
                top + (i + (a + 0.5) / ratio) * h, left + (j + (b + 0.5) / ratio) * w,
            )
            for a in range(ratio) for b in range(ratio)
        ]  # fmt: skip
        result[box, c, i, j] = reduce(samples)
    return result


ROIS = np.array(
    [[0, 0, 0, 7, 6], [1, 2.5, 1, 6, 9.5], [0, -4, -3, 2, 2], [1, 3, 3, 3, 3], [1, 6, 5, 30, 20]],
    "float32",
)


@pytest.mark.parametrize("mode", ["avg", "max", b"avg"])
@pytest.mark.parametrize(("size", "ratio"), [((2, 3), 2), ((1, 1), 3)])
def test_roi_align(mode, size, ratio):
    data = real(2, 2, 6, 7)
    reduce = np.max if mode == "max" else np.mean
    expected = aligned(data.astype("float64"), ROIS, size, 0.75, ratio, reduce)
    result = run(
        lambda X, R: topi.vision.roi_align_nchw(X, R, size, 0.75, mode, ratio), data, ROIS
    )  # fmt: skip
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    last = np.ascontiguousarray(data.transpose(0, 2, 3, 1))
    result = run(
        lambda X, R: topi.vision.roi_align_nhwc(X, R, size, 0.75, mode, ratio), last, ROIS,
        dims=[("n", "h", "w", "c"), ("boxes", 5)],
    )  # fmt: skip
    np.testing.assert_allclose(result, expected.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)


def test_coordinates_of_the_borders_of_pixels():
    data, rois = real(2, 2, 6, 7), ROIS[:4]
    wide = data.astype("float64")
    expected = aligned(wide, rois, (2, 3), 0.75, 2, np.mean, offset=0.5, least=-np.inf)
    result = run(
        lambda X, R: topi.vision.roi_align_nchw(X, R, (2, 3), 0.75, "avg", 2, True), data, rois
    )
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_mistakes_are_named():
    X, R = te.placeholder((1, 2, 4, 4)), te.placeholder((3, 5))
    with pytest.raises(ArgumentValueError, match="`sample_ratio`"):
        topi.vision.roi_align_nchw(X, R, 2, 1.0, "avg", -1)
    with pytest.raises(ArgumentValueError, match="`mode` is 'avg' or 'max'"):
        topi.vision.roi_align_nchw(X, R, 2, 1.0, "min")
    with pytest.raises(ShapeError, match="the numbers of a box, and 5: 4 and 5 differ"):
        topi.vision.roi_align_nchw(X, te.placeholder((3, 4)), 2, 1.0)
    with pytest.raises(DTypeError, match="one float dtype"):
        topi.vision.roi_align_nchw(X, te.placeholder((3, 5), "int32"), 2, 1.0)
