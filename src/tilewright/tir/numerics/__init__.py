"""Mathematical functions as expressions over basic arithmetic, one file per family.

`KERNELS` lists them by the name of the operator that they expand. All float32 functions are within
2 ulp; those of `IN_DOUBLE` get there by computing in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.tir.numerics import (
    error_function,
    exponential,
    logarithm,
    trigonometric,
)
from tilewright.tir.numerics.kernel import Kernel

KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "exp10": exponential.exp10,
    "exp_nonpositive": exponential.exp_nonpositive,
    "sigmoid": exponential.sigmoid,
    "sinh": exponential.sinh,
    "cosh": exponential.cosh,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "asinh": logarithm.asinh,
    "acosh": logarithm.acosh,
    "atanh": logarithm.atanh,
    "tanh": exponential.tanh,
    "erf": error_function.erf,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "asin": trigonometric.asin,
    "acos": trigonometric.acos,
    "atan": trigonometric.atan,
    "atan2": trigonometric.atan2,
    "pow": logarithm.power,
    "hypot": logarithm.hypot,
}

IN_DOUBLE: Final = frozenset(
    ("sinh", "cosh", "tan", "asinh", "acosh", "atanh", "log1p", "asin", "atan2", "pow", "hypot")
)
"""Functions whose float32 form is computed in float64 and rounded once."""

FUSED: Final = frozenset(("sin", "cos", "tan", "pow"))
"""Functions that need what a product and a sum of it lose if each is rounded. Where no instruction
multiplies and adds at once, float32 is computed in float64, and float64 by a function."""

__all__ = ["FUSED", "IN_DOUBLE", "KERNELS", "Kernel"]
