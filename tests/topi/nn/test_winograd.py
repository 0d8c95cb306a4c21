"""Convolutions as products of transformed tiles."""

from fractions import Fraction

import numpy as np
import pytest
from tests.topi.running import real, run, whole

import tilewright as tvm
from tilewright import nd, te, topi
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.topi import testing
from tilewright.topi.nn.winograd import (
    POINTS,
    winograd_conv2d_nhwc,
    winograd_transforms,
    winograd_weights,
)


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


@pytest.mark.parametrize(("results", "kernel"), [(2, 3), (3, 2), (4, 3), (2, 5), (5, 2), (3, 4)])
def test_transforms_are_exact(results, kernel):
    numbers = np.random.default_rng(0)
    transforms = winograd_transforms(results, kernel)
    extent = results + kernel - 1
    image = [Fraction(int(n)) for n in numbers.integers(-9, 10, extent)]
    weights = [Fraction(int(n)) for n in numbers.integers(-9, 10, kernel)]
    pairs = zip(times(transforms.kernel, weights), times(transforms.image, image), strict=True)
    found = times(transforms.result, [a * b for a, b in pairs])
    direct = [sum(image[i + j] * weights[j] for j in range(kernel)) for i in range(results)]
    assert found == direct


def test_all_numbers_of_the_transforms_are_floats():
    for extent in POINTS:
        for kernel in (2, 3):
            transforms = winograd_transforms(extent - kernel + 1, kernel)
            numbers = [
                n for matrix in (transforms.image, transforms.result) for r in matrix for n in r
            ]
            assert all(Fraction(float(np.float32(float(n)))) == n for n in numbers)


@pytest.mark.parametrize(("results", "kernel"), [(2, 3), (4, 3), (2, 5), (3, 2)])
@pytest.mark.parametrize("padding", [0, 1, (0, 1, 2, 0), "SAME"])
def test_convolution(results, kernel, padding):
    a, w = real(2, 7, 6, 3, dtype="float64"), real(kernel, kernel, 3, 5, dtype="float64", seed=1)
    transformed = winograd_weights(w, results)
    found = run(lambda A, W: winograd_conv2d_nhwc(A, W, results, padding), a, transformed)
    expected = testing.conv2d_nhwc_python(a, w, 1, padding)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_any_number_of_images():
    a, w = whole(3, 5, 5, 2), whole(3, 3, 2, 4, seed=1)
    found = run(
        lambda A, W: winograd_conv2d_nhwc(A, W, 2, 1), a, winograd_weights(w, 2),
        dims=(("batch", 5, 5, 2), (4, 4, 2, 4)),
    )  # fmt: skip
    expected = testing.conv2d_nhwc_python(a, w, 1, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("results", [2, 4])
@pytest.mark.parametrize("size", [12, 13])
def test_errors_are_like_those_of_long_sums(results, size):
    """Compiled for this machine, beside numpy in float64, and a sum of all products in order."""
    channels = 256
    a = np.maximum(real(1, size, size, channels), 0)
    w = real(3, 3, channels, 16, seed=1) * np.float32((9 * channels / 2) ** -0.5)
    x = te.placeholder(a.shape, name="x")
    u = te.placeholder((results + 2, results + 2, channels, 16), name="u")
    func = te.create_prim_func([x, u, winograd_conv2d_nhwc(x, u, results, 1)])
    result = nd.array(np.zeros((1, size, size, 16), "float32"))
    tvm.build(func, "llvm")["main"](nd.array(a), nd.array(winograd_weights(w, results)), result)
    exact = testing.conv2d_nhwc_python(a.astype("float64"), w.astype("float64"), 1, 1)
    padded = np.pad(a, ((0, 0), (1, 1), (1, 1), (0, 0)))
    in_order = np.zeros_like(result.numpy())
    for i in range(3):
        for j in range(3):
            for c in range(channels):
                in_order += padded[:, i : i + size, j : j + size, c : c + 1] * w[i, j, c]
    scale = np.sqrt((exact**2).mean())
    errors = [np.sqrt(((r - exact) ** 2).mean()) / scale for r in (result.numpy(), in_order)]
    assert errors[0] < 2e-6
    assert errors[0] < 3 * errors[1]


def test_tiles_without_points_are_refused():
    with pytest.raises(ArgumentValueError, match=r"extent in \[4, 6\]; 6 results of a kernel of 3"):
        winograd_transforms(6, 3)
    x, w = te.placeholder((1, 8, 8, 4), name="x"), te.placeholder((5, 5, 4, 4), name="w")
    with pytest.raises(ArgumentValueError, match="3 results of a kernel of 3 need 5"):
        topi.nn.winograd_conv2d_nhwc(x, w, 3)


@pytest.mark.parametrize("shape", [(1, 8, 8, 3), (1, 1, 8, 4), (1, te.var("n"), 8, 4)])
def test_shapes_that_do_not_fit_are_refused(shape):
    x, w = te.placeholder(shape, name="x"), te.placeholder((4, 4, 4, 4), name="w")
    with pytest.raises(ShapeError, match="do not fit weights"):
        topi.nn.winograd_conv2d_nhwc(x, w, 2)
