"""Reference values of mathematical functions, in the precision of the arguments given.

They are numpy's, which uses the C library; what numpy lacks is here.
"""

from __future__ import annotations

import math

import numpy as np

TWO_ARGUMENTS = frozenset(("pow", "atan2", "hypot"))


def _exp10(x):
    return np.power(x.dtype.type(10), x)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _rsqrt(x):
    return 1 / np.sqrt(x)


def _erf(x):
    """2 / sqrt(pi) exp(-x**2) sum(2**n x**(2n+1) / (2n+1)!!), whose terms all have one sign."""
    size = np.minimum(np.abs(x), 8)
    near = np.minimum(size, 3)
    square = near * near
    term = total = near * 1
    for n in range(1, 70):
        term = term * (2 * square / (2 * n + 1))
        total = total + term
    pi = 4 * np.arctan(x.dtype.type(1))
    series = total * np.exp(-square) * (2 / np.sqrt(pi))
    # Beyond 3 the complement is below 3e-5: in float64 it is exact enough for any result here.
    far = 1 - _ERFC(size.astype(np.float64)).astype(x.dtype)
    return np.where(np.isnan(x), x, np.copysign(np.where(size <= 3, series, far), x))


_ERFC = np.vectorize(math.erfc, otypes=[np.float64])

REFERENCES = {
    "exp": np.exp, "exp2": np.exp2, "exp10": _exp10, "exp_nonpositive": np.exp,
    "sigmoid": _sigmoid, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "erf": _erf,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "atan2": np.arctan2, "pow": np.power, "hypot": np.hypot, "rsqrt": _rsqrt,
}  # fmt: skip
