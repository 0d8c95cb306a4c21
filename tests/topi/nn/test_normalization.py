"""Softmax and normalisations."""

import numpy as np
import pytest
from tests.topi.running import real, run

from tilewright import te, topi
from tilewright.error import ArgumentValueError, ShapeError
from tilewright.topi import testing


def close(result, expected, rtol=1e-5, atol=1e-5):
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize(
    ("operator", "reference"),
    [
        (topi.nn.softmax, testing.softmax_python),
        (topi.nn.fast_softmax, testing.softmax_python),
        (topi.nn.log_softmax, testing.log_softmax_python),
    ],
)
def test_softmax(operator, reference, axis):
    x = 50 * real(3, 5, 4)
    close(run(lambda X: operator(X, axis), x), reference(x, axis))
    result = run(lambda X: operator(X, axis), x, dims=[("a", "b", "c")])
    close(result, reference(x, axis))


def test_layer_norm():
    x, gamma, beta = 3 + real(3, 4, 5), real(4, 5), real(4, 5, seed=1)
    result = run(lambda X, g, b: topi.nn.layer_norm(X, g, b, (1, 2)), x, gamma, beta)
    close(result, testing.layer_norm_python(x, gamma, beta, (1, 2)))
    result = run(
        lambda X, g: topi.nn.layer_norm(X, g, None, -1, 1e-3), x, gamma[0],
        dims=[("a", "b", "c"), ("c",)],
    )  # fmt: skip
    close(result, testing.layer_norm_python(x, gamma[0], None, -1, 1e-3))


def test_axes_in_any_order():
    x, gamma = real(3, 4, 2, 5), real(2, 3, seed=1)
    result = run(lambda X, g: topi.nn.layer_norm(X, g, None, (2, 0)), x, gamma)
    close(result, testing.layer_norm_python(x, gamma, None, (2, 0)))
    result = run(lambda X: topi.nn.group_norm(X, None, None, 2, 1, (3, 0)), x)
    close(result, testing.group_norm_python(x, None, None, 2, 1, (0, 3)))


def test_the_variance_of_large_numbers_that_are_close_to_each_other():
    x = np.float32(10000) + real(2, 64)
    ones = np.ones(64, "float32")
    result = run(lambda X, g, b: topi.nn.layer_norm(X, g, b, -1), x, ones, 0 * ones)
    exact = testing.layer_norm_python(x.astype("float64"), ones, 0 * ones, -1)
    np.testing.assert_allclose(result, exact, atol=1e-2)


def test_instance_norm():
    x, gamma, beta = real(2, 3, 4, 5), real(3), real(3, seed=1)
    result = run(lambda X, g, b: topi.nn.instance_norm(X, g, b, 1, (2, 3)), x, gamma, beta)
    close(result, testing.instance_norm_python(x, gamma, beta, 1, (2, 3)))


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_group_norm(groups):
    x, gamma, beta = real(2, 4, 3, 5), real(4), real(4, seed=1)
    result = run(lambda X, g, b: topi.nn.group_norm(X, g, b, groups, 1, (2, 3)), x, gamma, beta)
    close(result, testing.group_norm_python(x, gamma, beta, groups, 1, (2, 3)))
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    result = run(lambda X: topi.nn.group_norm(X, None, None, groups, -1, (1, 2)), last)
    close(result, testing.group_norm_python(last, None, None, groups, -1, (1, 2)))


def test_rms_norm():
    x, weight = real(3, 8), real(8, seed=1)
    result = run(lambda X, w: topi.nn.rms_norm(X, w, -1), x, weight, dims=[("n", 8), (8,)])
    close(result, testing.rms_norm_python(x, weight, -1))
    half = 100 * real(2, 256, dtype="float16")
    ones = np.ones(256, "float16")
    result = run(lambda X, w: topi.nn.rms_norm(X, w, -1), half, ones)
    close(result, testing.rms_norm_python(half, ones, -1), 2e-3, 2e-3)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("axis", [1, -1])
def test_batch_norm(training, axis):
    x = real(4, 3, 5, 3)
    gamma, beta, mean = (real(3, seed=seed) for seed in (1, 2, 3))
    var = np.abs(real(3, seed=4)) + 1
    results = run(
        lambda X, g, b, m, v: topi.nn.batch_norm(
            X, g, b, m, v, axis, 1e-3, training=training, momentum=0.3
        ),
        x, gamma, beta, mean, var,
    )  # fmt: skip
    expected = testing.batch_norm(
        x, gamma, beta, mean, var, axis, 1e-3, training=training, momentum=0.3
    )
    for result, wanted in zip(results, expected, strict=True):
        close(result, wanted)


def test_batch_norm_without_scale_and_center():
    x, one, var = real(2, 3, 4), np.ones(3, "float32"), np.full(3, 2, "float32")
    result = run(
        lambda X, g, b, m, v: topi.nn.batch_norm(X, g, b, m, v, 1, 1e-5, False, False)[0],
        x, 5 * one, 6 * one, one, var,
    )  # fmt: skip
    close(result, (x - 1) / np.sqrt(np.float32(2 + 1e-5)))


def test_lrn():
    x = real(2, 6, 3, 3)
    close(
        run(lambda X: topi.nn.lrn(X, 5, 1, 0.1, 0.75, 2.0), x),
        testing.lrn_python(x, 5, 1, 2.0, 0.1, 0.75),
    )


def test_mistakes_are_named():
    X, g = te.placeholder((3, 4), name="X"), te.placeholder((4,), name="gamma")
    with pytest.raises(ShapeError, match="axis 2 is out of range for 2 dimensions"):
        topi.nn.softmax(X, 2)
    with pytest.raises(ShapeError, match="dimension 0 and gamma"):
        topi.nn.layer_norm(X, g, None, 0)
    with pytest.raises(ShapeError, match="gamma has 1 dimensions, not 2"):
        topi.nn.layer_norm(X, g, None, (0, 1))
    with pytest.raises(ShapeError, match="in 3 groups"):
        topi.nn.group_norm(X, g, None, 3, 1, ())
    with pytest.raises(ArgumentValueError, match="odd"):
        topi.nn.lrn(X, 4)
