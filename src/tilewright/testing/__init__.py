"""Helpers for tests of programs that use this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.testing.pytest_names import (
    device_enabled,
    enabled_targets,
    fixture,
    main,
    parameter,
    parametrize_targets,
    requires_cuda,
    requires_gpu,
    requires_llvm,
    requires_opencl,
    requires_package,
    slow,
    uses_gpu,
)


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raise AssertionError unless ``|actual - desired| <= atol + rtol |desired|`` everywhere.

    Args:
        actual: an `NDArray`, or what `numpy.asarray` takes.
        desired: likewise, of the same shape (no broadcasting).
        rtol: relative tolerance.
        atol: absolute tolerance.

    The message shows the first and the worst mismatch (`numpy.testing.assert_allclose`).
    """
    found, expected = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_allclose(found.shape, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, verbose=True)
