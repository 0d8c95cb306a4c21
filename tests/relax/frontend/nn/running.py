"""Methods of modules applied to arrays: compiled, and compared with numpy and torch."""

import numpy as np

from tilewright.relax.frontend import nn


class Function(nn.Module):
    """A module whose `forward` calls a function of tensors."""

    def __init__(self, function):
        self.function = function

    def forward(self, inputs):
        return self.function(*inputs)


def spec_of(array, name=None):
    """The spec of an array; with a name, its extents are symbolic."""
    shape = array.shape if name is None else [f"{name}_{n}" for n in range(array.ndim)]
    return nn.spec.Tensor(list(shape), str(array.dtype))


def apply(function, *arrays, symbolic=False):
    """What a function of tensors computes of arrays, as numpy arrays."""
    specs = [spec_of(a, f"n{position}" if symbolic else None) for position, a in enumerate(arrays)]
    compiled = Function(function).jit({"forward": {"inputs": specs}}, out_format="numpy")
    return compiled["forward"](arrays)


def same(result, expected, tolerance=1e-5):
    """Both must have the same structure, shapes, dtypes and, nearly, elements."""
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            same(one, other, tolerance)
        return
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def floats(*shape, seed=0, low=-2.0, high=2.0):
    """Random float32 numbers."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype("float32")
