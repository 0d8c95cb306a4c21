"""Elements that are infinite or NaN reach only the results that depend on them."""

import numpy as np
import pytest
from tests.topi.running import real, run

from tilewright import topi
from tilewright.topi.nn.conv_transpose import transposed_convolution

ODD = [np.inf, -np.inf, np.nan]
PLACES = [(0, 0), (2, 3), (4, 5)]


def images(value, place):
    x = real(1, 2, 5, 6)
    x[0, 0][place] = value
    return x


def transposed(x, w, stride, padding=0, dilation=1):
    """Each element spread over the window of the result that belongs to it."""
    (_, inputs, *extents), (_, outputs, *window) = x.shape, w.shape
    reach = [(k - 1) * dilation + 1 for k in window]
    size = [(e - 1) * stride + r for e, r in zip(extents, reach, strict=True)]
    result = np.zeros((1, outputs, *size), "float32")
    for c in range(inputs):
        for y, row in np.ndindex(*extents):
            at = tuple(
                slice(n * stride, n * stride + r, dilation)
                for n, r in zip((y, row), reach, strict=True)
            )
            result[0, :, at[0], at[1]] += x[0, c, y, row] * w[c]
    return result[:, :, padding : size[0] - padding, padding : size[1] - padding]


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize(
    ("window", "stride", "padding"),
    [((3, 3), 2, 0), ((3, 3), 2, 1), ((4, 4), 2, 1), ((2, 5), 3, 1), ((1, 3), 2, 0), ((2, 2), 4, 0),
     ((3, 3), 1, 1)],
)  # fmt: skip
def test_transposed_convolutions(window, stride, padding, value):
    w = real(2, 3, *window, seed=1)
    for place in PLACES:
        x = images(value, place)
        result = run(lambda a, b: topi.nn.conv2d_transpose_nchw(a, b, stride, padding, None), x, w)
        with np.errstate(invalid="ignore"):
            expected = transposed(x, w, stride, padding)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("operand", ["data", "weight"])
@pytest.mark.parametrize(
    ("window", "stride", "dilation"),
    [((3, 3), 2, 2), ((3, 2), 3, 2), ((2, 3), 2, 3), ((3, 3), 4, 2), ((2, 2), 4, 6),
     ((4, 1), 6, 4), ((2, 3), 1, 1)],
)  # fmt: skip
def test_nothing_is_inserted_between_elements(window, stride, dilation, operand):
    x, w = images(1, (0, 0)), real(2, 3, *window, seed=1)
    cut = 0
    if operand == "data":
        x[0, 1, 1, 2], x[0, 0, 4, 5] = np.inf, np.nan
    else:  # the zeros around the images are multiplied by weights, as in all convolutions
        w[1, 0, 1, 0], cut = np.inf, (max(window) - 1) * dilation
    result = run(
        lambda a, b: transposed_convolution(
            "transposed", a, b, stride, cut, dilation, 0, 1, None,
            data_layout="NCHW", kernel_layout="IOHW",
        ),
        x, w,
    )  # fmt: skip
    with np.errstate(invalid="ignore"):
        expected = transposed(x, w, stride, cut, dilation)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
def test_phases_of_groups(groups):
    x, w = real(1, 4, 4, 4), real(4, 3, 3, 3, seed=1)
    result = run(
        lambda a, b: topi.nn.group_conv2d_transpose_nchw(a, b, 2, 1, None, 1, groups), x, w
    )
    parts = [
        np.pad(transposed(x[:, p], w[p], 2), ((0, 0), (0, 0), (0, 1), (0, 1)))[:, :, 1:-1, 1:-1]
        for p in (slice(n * 4 // groups, (n + 1) * 4 // groups) for n in range(groups))
    ]
    np.testing.assert_allclose(result, np.concatenate(parts, 1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("options", [{}, {"method": "cubic"},
    {"method": "cubic", "bicubic_exclude": 1}], ids=str)  # fmt: skip
def test_resizing_to_the_same_size_changes_nothing(options, mode):
    x = np.concatenate([images(value, place) for value in ODD for place in PLACES])
    result = run(
        lambda a: topi.image.resize2d(
            a, None, (5, 6), coordinate_transformation_mode=mode, **options
        ),
        x,
    )
    np.testing.assert_allclose(result, x, rtol=1e-6)


@pytest.mark.parametrize("value", ODD)
def test_pixels_beside_the_borders_do_not_count_where_they_are_excluded(value):
    x = images(value, (0, 0))
    result = run(
        lambda a: topi.image.resize2d(
            a, None, (10, 12), method="cubic", bicubic_exclude=1,
            coordinate_transformation_mode="half_pixel",
        ),
        x,
    )  # fmt: skip
    assert np.isfinite(result[0, 0, 5:, 6:]).all()
    assert np.isfinite(result[0, 1]).all()


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_what_lies_outside_of_a_sampled_image_is_zero(method, value):
    grid = np.full((1, 2, 1, 2), -3, "float32")
    result = run(lambda a, g: topi.image.grid_sample(a, g, method), images(value, (0, 0)), grid)
    np.testing.assert_array_equal(result, np.zeros((1, 2, 1, 2)))


@pytest.mark.parametrize("value", ODD)
def test_sampling_at_the_pixels_themselves(value):
    y, x = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 3), indexing="ij")
    grid = np.stack([x, y])[None].astype("float32")
    data = real(1, 1, 5, 3)
    data[0, 0, 2, 1] = value
    result = run(topi.image.grid_sample, data, grid)
    np.testing.assert_allclose(result, data, rtol=1e-5)


@pytest.mark.parametrize("value", ODD)
def test_boxes_beside_a_pixel_do_not_see_it(value):
    data = real(1, 1, 6, 6)
    data[0, 0, 0, 0] = value
    boxes = np.array([[0, 2, 2, 5, 5], [0, -9, -9, -4, -4]], "float32")
    result = run(lambda a, b: topi.vision.roi_align_nchw(a, b, (2, 2), 1.0, "avg", 2), data, boxes)
    assert np.isfinite(result[0]).all()
    np.testing.assert_array_equal(result[1], 0)
