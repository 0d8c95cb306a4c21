"""Sums of many elements, of large ones and of small differences."""

import ml_dtypes
import numpy as np
import pytest
from tests.topi.running import real, run, whole

from tilewright import te, topi
from tilewright.ir.convert import const
from tilewright.ir.dtype import BFLOAT16
from tilewright.topi import testing
from tilewright.topi.nn.activation import softmax_parts

HALVES = pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])


def close(result, exact, digits):
    """Equal in relation to the elements that are near 1."""
    np.testing.assert_allclose(result.astype("float64"), exact, rtol=digits, atol=digits)


def test_log_softmax_of_large_numbers():
    x = np.full((2, 5), 1e8, "float32")
    close(run(topi.nn.log_softmax, x), np.full((2, 5), -np.log(5)), 1e-6)


def test_softmax_of_minus_infinity():
    x = np.array([[-np.inf, 0, -np.inf], [-np.inf] * 3, [0, np.nan, 0]], "float32")
    none, both = np.full(3, np.nan), np.array([0, 1, 0])
    np.testing.assert_array_equal(run(topi.nn.softmax, x), np.stack([both, none, none]))
    np.testing.assert_array_equal(run(masked_softmax, x), np.stack([both, 0 * both, none]))


def masked_softmax(x):
    powers, inverse = softmax_parts(x, -1, masked=True)
    return te.compute(x.shape, lambda i, j: powers(i, j) * inverse(i))


@pytest.mark.parametrize("axis", [0, 1])
def test_parts_of_the_softmax_of_a_multiple(axis):
    """Powers may be rounded before they are added, and the last elements may not count."""
    x = real(7, 7)
    x[-1, :], x[:, -1] = x[-2, :], x[:, -2]

    def parts(x):
        options = {"factor": const(0.5, "float32"), "dtype": BFLOAT16, "count": const(6)}
        powers, inverse = softmax_parts(x, axis, **options)
        return te.compute(
            x.shape, lambda i, j: powers(i, j).astype("float32") * inverse(j if axis == 0 else i)
        )

    counted = x[:6] if axis == 0 else x[:, :6]
    powers = np.exp(0.5 * (counted - counted.max(axis, keepdims=True))).astype(ml_dtypes.bfloat16)
    powers = powers.astype("float64")
    expected = powers / powers.sum(axis, keepdims=True)
    result = run(parts, x)
    close(result[:6] if axis == 0 else result[:, :6], expected, 4e-3)
    np.testing.assert_array_equal(result[-1] if axis == 0 else result[:, -1], 0)


@HALVES
def test_norms_are_computed_in_single_precision(dtype):
    x = (10 + real(4, 96)).astype(dtype)
    exact, ones = x.astype("float64"), np.ones(96, dtype)
    close(
        run(lambda a, w: topi.nn.layer_norm(a, w, None, -1), x, ones),
        testing.layer_norm_python(exact, ones.astype("float64"), None, -1), 2e-2,
    )  # fmt: skip
    close(
        run(lambda a, w: topi.nn.rms_norm(a, w, -1), x, ones),
        testing.rms_norm_python(exact, ones.astype("float64"), -1), 1e-2,
    )  # fmt: skip
    close(
        run(lambda a: topi.nn.group_norm(a, None, None, 2, 1, ()), x),
        testing.group_norm_python(exact, None, None, 2, 1, ()), 2e-2,
    )  # fmt: skip


@HALVES
def test_the_statistics_of_a_batch_are_added_in_single_precision(dtype):
    x = (50 * real(300, 2)).astype(dtype)
    ones, zeros = np.ones(2, dtype), np.zeros(2, dtype)
    result, mean, variance = run(
        lambda *args: topi.nn.batch_norm(*args, training=True, momentum=0.5),
        x, ones, zeros, zeros, ones,
    )  # fmt: skip
    exact = x.astype("float64")
    close(mean, exact.mean(0) / 2, 2e-2)
    close(variance, 0.5 + exact.var(0) / 2, 2e-2)
    close(result, (exact - exact.mean(0)) / exact.std(0), 4e-2)


@HALVES
def test_products_of_einsum_and_tensordot_are_added_in_single_precision(dtype):
    a, b = whole(2, 600, low=1, dtype=dtype), whole(600, 2, low=1, seed=1, dtype=dtype)
    exact = (a.astype("float64") @ b.astype("float64")).astype(dtype)
    for operator in (
        lambda x, y: topi.einsum("ik,kj->ij", x, y),
        lambda x, y: topi.tensordot(x, y, 1),
    ):
        np.testing.assert_array_equal(run(operator, a, b), exact)


def test_averages_of_small_integers_do_not_wrap_around():
    x = np.array([[[200, 250, 255, 10]]], "uint8")
    result = run(lambda a: topi.nn.pool1d(a, 2, 2, 1, 0, "avg"), x)
    np.testing.assert_array_equal(result, [[[225, 132]]])


def test_the_loss_of_half_precision_does_not_overflow():
    x, targets = np.full((300, 2), -300, "float16"), np.zeros(300, "int64")
    weights = np.ones(2, "float16")
    loss = run(lambda p, t, w: topi.nn.nll_loss(p, t, w, "mean", -1), x, targets, weights)
    assert loss == 300


def test_resize2d_of_double_precision():
    x = real(1, 1, 3, 4, dtype="float64")
    result = run(lambda a: topi.image.resize2d(a, None, (7, 5), method="linear"), x)
    exact = testing.resize2d_python(x, (7 / 3, 5 / 4), "NCHW", "bilinear", "half_pixel")
    close(result, exact, 1e-12)


def test_lrn_of_half_precision():
    x = (100 * real(2, 5)).astype("float16")
    close(
        run(lambda a: topi.nn.lrn(a, 3, 1, 0.1), x),
        testing.lrn_python(x.astype("float64"), 3, 1, 2.0, 0.1, 0.75), 2e-3,
    )  # fmt: skip


@HALVES
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_sums_of_half_precision(dtype, exclusive):
    x = np.full((2, 600), 1.25, dtype)
    exact = np.cumsum(x.astype("float64"), 1) - (1.25 if exclusive else 0)
    equal = np.testing.assert_array_equal
    equal(run(lambda a: topi.cumsum(a, 1, exclusive=exclusive), x), exact.astype(dtype))
    turned = np.ascontiguousarray(x.T)
    equal(run(lambda a: topi.cumsum(a, 0, exclusive=exclusive), turned), exact.T.astype(dtype))
