"""Products of matrices in numpy."""

from __future__ import annotations

import numpy as np


def dense(
    x: np.ndarray,
    y: np.ndarray,
    bias: np.ndarray | None = None,
    use_bias: bool = False,
    use_relu: bool = False,
    out_dtype: str | None = None,
) -> np.ndarray:
    """``x @ y.T``, with a bias and the maximum with 0 if asked for."""
    dtype = out_dtype or x.dtype
    result = x.astype(dtype) @ y.T.astype(dtype)
    if use_bias and bias is not None:
        result = result + bias.astype(dtype)
    return np.maximum(result, 0) if use_relu else result


def batch_matmul(
    x: np.ndarray,
    y: np.ndarray,
    out_dtype: str | None = None,
    trans_x: bool = False,
    trans_y: bool = True,
) -> np.ndarray:
    """The products of the matrices of two batches."""
    dtype = out_dtype or x.dtype
    left = x.swapaxes(1, 2) if trans_x else x
    right = y.swapaxes(1, 2) if trans_y else y
    return left.astype(dtype) @ right.astype(dtype)
