"""Graph operators of normalisation, padding and losses."""

import numpy as np
import pytest
from tests.relax.op.graphs import compute, infer, real, tensor

from tilewright.error import ArgumentError, ArgumentValueError, StructInfoError
from tilewright.relax import op
from tilewright.topi import testing

KNOWN = pytest.mark.parametrize("known", ["shape", "symbolic", "rank"])


def close(result, expected, tolerance=1e-5):
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@KNOWN
@pytest.mark.parametrize("axes", [-1, (1, 2), (0,)])
def test_layer_norm(axes, known):
    x = real(3, 4, 5)
    shape = [x.shape[axis] for axis in (axes if isinstance(axes, tuple) else (axes,))]
    gamma, beta = real(*shape, seed=1), real(*shape, seed=2)
    result = compute(lambda a, b, c: op.nn.layer_norm(a, b, c, axes), x, gamma, beta, known=known)
    close(result, testing.layer_norm_python(x, gamma, beta, axes))


def test_layer_norm_without_scale_and_center():
    x, gamma, beta = real(3, 5), real(5, seed=1), real(5, seed=2)
    result = compute(
        lambda a, b, c: op.nn.layer_norm(a, b, c, -1, 1e-3, False, False), x, gamma, beta
    )
    close(result, testing.layer_norm_python(x, np.ones_like(gamma), None, -1, 1e-3))


@KNOWN
def test_group_norm_and_instance_norm(known):
    x, gamma, beta = real(2, 4, 3, 2), real(4, seed=1), real(4, seed=2)
    result = compute(
        lambda a, b, c: op.nn.group_norm(a, b, c, 2, 1, (2, 3)), x, gamma, beta, known=known
    )
    close(result, testing.group_norm_python(x, gamma, beta, 2, 1, (2, 3)))
    result = compute(
        lambda a, b, c: op.nn.instance_norm(a, b, c, 1, [2, 3]), x, gamma, beta, known=known
    )
    close(result, testing.instance_norm_python(x, gamma, beta, 1, (2, 3)))


@KNOWN
def test_rms_norm(known):
    x, weight = real(3, 8), real(8, seed=1)
    close(compute(op.nn.rms_norm, x, weight, known=known), testing.rms_norm_python(x, weight, -1))


@KNOWN
@pytest.mark.parametrize("training", [False, True])
def test_batch_norm(training, known):
    x = real(4, 3, 5, 2)
    gamma, beta, mean = (real(3, seed=seed) for seed in (1, 2, 3))
    var = np.abs(real(3, seed=4)) + 1
    results = compute(
        lambda *args: op.nn.batch_norm(*args, 1, 1e-3, momentum=0.3, training=training),
        x, gamma, beta, mean, var, known=known,
    )  # fmt: skip
    expected = testing.batch_norm(
        x, gamma, beta, mean, var, 1, 1e-3, training=training, momentum=0.3
    )
    for result, wanted in zip(results, expected, strict=True):
        close(result, wanted)


def test_dropout_drops_nothing():
    x = real(3, 4)
    result, mask = compute(op.nn.dropout, x, known="symbolic")
    np.testing.assert_array_equal(result, x)
    np.testing.assert_array_equal(mask, np.ones_like(x))


PADS = {
    "constant": {"mode": "constant", "constant_values": 7},
    "reflect": {"mode": "reflect"},
    "symmetric": {"mode": "symmetric"},
    "replicate": {"mode": "edge"},
    "circular": {"mode": "wrap"},
}


@KNOWN
@pytest.mark.parametrize("mode", list(PADS))
def test_pad(mode, known):
    x = real(3, 4)
    width = (1, 2, 3, 0)
    result = compute(lambda a: op.nn.pad(a, width, mode, 7.0), x, known=known)
    np.testing.assert_array_equal(result, np.pad(x, ((1, 2), (3, 0)), **PADS[mode]))
    nested = compute(lambda a: op.nn.pad(a, ((1, 2), (3, 0)), mode, 7.0), x)
    np.testing.assert_array_equal(nested, result)


@KNOWN
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nll_loss(reduction, known):
    predictions, weights = real(4, 3, 2), np.abs(real(3, seed=1))
    targets = np.random.default_rng(2).integers(0, 3, (4, 2))
    targets[1, 1] = 7
    result = compute(
        lambda p, t, w: op.nn.nll_loss(p, t, w, reduction, 7),
        predictions, targets, weights, known=known,
    )  # fmt: skip
    close(result, testing.nll_loss(predictions, targets, weights, reduction, 7))
    result = compute(
        lambda p, t: op.nn.nll_loss(p, t, None, reduction, 7), predictions, targets, known=known
    )
    close(result, testing.nll_loss(predictions, targets, np.ones(3, "float32"), reduction, 7))


@KNOWN
def test_cross_entropy_with_logits(known):
    x, y = real(4, 3), real(4, 3, seed=1)
    close(compute(op.nn.cross_entropy_with_logits, x, y, known=known), -(x * y).sum() / 4)
    close(compute(op.nn.cross_entropy_with_logits, x[0], y[0]), -(x[0] * y[0]).sum())


def test_mistakes_are_named():
    x = tensor(2, 4)
    with pytest.raises(StructInfoError, match="dimension 1 of `data`, and argument `gamma`"):
        infer(op.nn.layer_norm(x, tensor(3), tensor(4), -1))
    with pytest.raises(StructInfoError, match="`beta` has 2 dimensions, not 1"):
        infer(op.nn.layer_norm(x, tensor(4), tensor(4, 4), -1))
    with pytest.raises(StructInfoError, match="3 groups do not divide 4 channels"):
        infer(op.nn.group_norm(x, tensor(4), tensor(4), 3, 1, []))
    with pytest.raises(StructInfoError, match="besides `channel_axis`"):
        infer(op.nn.group_norm(x, tensor(4), tensor(4), 2, 1, [1]))
    with pytest.raises(StructInfoError, match="2 numbers for each dimension, 4; it has 2"):
        infer(op.nn.pad(x, (1, 2)))
    with pytest.raises(StructInfoError, match="`targets` must be integers"):
        infer(op.nn.nll_loss(x, tensor(2)))
    with pytest.raises(ArgumentValueError, match="`pad_mode` is 'constant', "):
        op.nn.pad(x, (1, 2, 3, 4), "mirror")
    with pytest.raises(ArgumentValueError, match="strided_slice"):
        op.nn.pad(x, (1, -2, 3, 4))
    with pytest.raises(ArgumentError, match="axes are integers"):
        op.nn.layer_norm(x, tensor(4), tensor(4), "last")
