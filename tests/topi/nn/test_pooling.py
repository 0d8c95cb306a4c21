"""Pooling, with windows that stick out, dilation, and sizes that nothing divides."""

import numpy as np
import pytest
from tests.topi.running import real, run, whole

from tilewright import te, topi
from tilewright.error import ArgumentValueError
from tilewright.topi import testing

WINDOWS = [
    # kernel, stride, dilation, padding, ceil_mode
    ((2, 2), (2, 2), (1, 1), (0, 0, 0, 0), False),
    ((3, 3), (2, 2), (1, 1), (1, 1, 1, 1), False),
    ((3, 2), (2, 3), (1, 1), (1, 0, 0, 1), True),
    ((3, 3), (2, 2), (1, 1), (0, 0, 0, 0), True),
    ((2, 2), (3, 3), (1, 1), (1, 1, 1, 1), True),
    ((2, 3), (1, 2), (3, 2), (1, 1, 2, 0), False),
    ((2, 3), (2, 2), (2, 2), (0, 1, 1, 0), True),
]


@pytest.mark.parametrize(("kernel", "stride", "dilation", "padding", "ceil_mode"), WINDOWS)
@pytest.mark.parametrize(
    ("pool_type", "count_include_pad"), [("max", True), ("avg", True), ("avg", False)]
)
def test_pool2d(kernel, stride, dilation, padding, ceil_mode, pool_type, count_include_pad):
    a = real(2, 2, 7, 8)
    result = run(
        lambda A: topi.nn.pool2d(
            A, kernel, stride, dilation, padding, pool_type, ceil_mode, "NCHW", count_include_pad
        ),
        a,
    )
    expected = testing.poolnd_python(
        a, kernel, stride, dilation, padding[:2], padding[2:], pool_type, count_include_pad,
        ceil_mode,
    )  # fmt: skip
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_symbolic_sizes():
    a = real(2, 1, 9, 6)
    for ceil_mode in (False, True):
        result = run(
            lambda A, mode=ceil_mode: topi.nn.pool2d(A, 3, 2, 1, 1, "avg", mode, "NCHW", False),
            a,
            dims=[("n", 1, "h", "w")],
        )
        expected = testing.poolnd_python(
            a, (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), "avg", False, ceil_mode
        )
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_sequences_volumes_and_other_layouts():
    a = real(2, 3, 9)
    result = run(lambda A: topi.nn.pool1d(A, 3, 2, 1, (1, 0), "max"), a)
    expected = testing.poolnd_python(a, (3,), (2,), (1,), (1,), (0,), "max")
    np.testing.assert_array_equal(result, expected)
    a = real(1, 2, 4, 5, 4)
    result = run(lambda A: topi.nn.pool3d(A, 2, 2, 1, 1, "avg"), a)
    expected = testing.poolnd_python(a, (2,) * 3, (2,) * 3, (1,) * 3, (1,) * 3, (1,) * 3, "avg")
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    a = real(1, 6, 5, 2)
    result = run(lambda A: topi.nn.pool2d(A, 3, 2, 1, 1, "max", False, "NHWC"), a)
    expected = testing.poolnd_python(
        a, (3, 3), (2, 2), (1, 1), (1, 1), (1, 1), "max", layout="NHWC"
    )
    np.testing.assert_array_equal(result, expected)


def test_integers_and_half_precision():
    a = whole(1, 2, 6, 6, dtype="int32")
    result = run(lambda A: topi.nn.pool2d(A, 2, 2, 1, 1, "max"), a)
    expected = testing.poolnd_python(a, (2, 2), (2, 2), (1, 1), (1, 1), (1, 1), "max")
    np.testing.assert_array_equal(result, expected)
    a = real(1, 1, 64, 64, dtype="float16")
    result = run(lambda A: topi.nn.pool2d(A, 64, 64, 1, 0, "avg"), a)
    np.testing.assert_allclose(result.item(), a.astype("float64").mean(), rtol=1e-3, atol=1e-5)


def test_a_maximum_of_negative_numbers_is_no_padding():
    a = -np.ones((1, 1, 4, 4), "float32")
    result = run(lambda A: topi.nn.pool2d(A, 2, 2, 1, 1, "max"), a)
    np.testing.assert_array_equal(result, -np.ones((1, 1, 3, 3)))


@pytest.mark.parametrize("pool_type", ["max", "avg"])
@pytest.mark.parametrize("size", [1, 2, (3, 5), (7, 4)])
def test_adaptive_pool(pool_type, size):
    a = real(2, 2, 6, 7)
    result = run(lambda A: topi.nn.adaptive_pool(A, size, pool_type), a)
    expected = testing.adaptive_pool(a, size, pool_type)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    last = np.ascontiguousarray(a.transpose(0, 2, 3, 1))
    result = run(
        lambda A: topi.nn.adaptive_pool(A, size, pool_type, "NHWC"),
        last, dims=[("n", "h", "w", "c")],
    )  # fmt: skip
    np.testing.assert_allclose(result, expected.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-6)


def test_adaptive_pool_of_sequences_and_volumes():
    a = real(2, 3, 7)
    result = run(lambda A: topi.nn.adaptive_pool1d(A, 3, "avg"), a)
    np.testing.assert_allclose(result, testing.adaptive_pool(a, 3, "avg", "NCW"), rtol=1e-5)
    a = real(1, 2, 4, 3, 5)
    result = run(lambda A: topi.nn.adaptive_pool3d(A, (2, 1, 3), "max"), a)
    np.testing.assert_array_equal(result, testing.adaptive_pool(a, (2, 1, 3), "max", "NCDHW"))


def test_places_of_adaptive_maxima():
    a = np.round(real(2, 1, 6, 7))
    a[1, 0, 2, 3] = np.nan
    result = run(lambda A: topi.nn.places_of_adaptive_maxima(A, (4, 3)), a)
    for place in np.ndindex(*result.shape):
        (top, bottom), (left, right) = (
            (i * extent // count, -(-(i + 1) * extent // count))
            for i, extent, count in zip(place[2:], (6, 7), (4, 3), strict=True)
        )
        window = a[place[0], 0, top:bottom, left:right]
        row, column = np.unravel_index(window.argmax(), window.shape)
        assert result[place] == (top + row) * 7 + left + column


def test_averages_with_a_divisor():
    a = real(1, 1, 5, 5)
    result = run(lambda A: topi.nn.pool2d(A, 2, 2, 1, 0, "avg", True, divisor=3), a)
    padded = np.pad(a, ((0, 0), (0, 0), (0, 1), (0, 1)))
    expected = padded.reshape(1, 1, 3, 2, 3, 2).sum((3, 5)) / 3
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_global_pool():
    a = real(2, 3, 4, 5)
    result = run(lambda A: topi.nn.global_pool(A, "avg"), a)
    np.testing.assert_allclose(result, a.mean((2, 3), keepdims=True), rtol=1e-5, atol=1e-6)


def test_mistakes_are_named():
    A = te.placeholder((1, 1, 4, 4), name="A")
    with pytest.raises(ArgumentValueError, match="'max' or 'avg'"):
        topi.nn.pool2d(A, 2, 2, 1, 0, "min")
    with pytest.raises(ArgumentValueError, match="`padding` 2 is not less than a window"):
        topi.nn.pool2d(A, 2, 2, 1, 2, "max")
