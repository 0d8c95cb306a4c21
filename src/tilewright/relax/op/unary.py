"""Operators that map each element on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright import topi
from tilewright.ir.dtype import BOOL, DType
from tilewright.relax.expr import Call
from tilewright.relax.op.broadcasting import exact_number
from tilewright.relax.op.rules import checked, scalar_argument
from tilewright.relax.op.table import Inference, call, kernel, named, register
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.topi.math import limit

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_not", "ceil", "clip",
    "cos", "cosh", "erf", "exp", "floor", "isfinite", "isinf", "isnan", "log", "log2", "log10",
    "logical_not", "negative", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "square", "tan", "tanh", "trunc",
]  # fmt: skip

FLOAT: Final = {
    "acos": "Inverse cosine, in radians.",
    "acosh": "Inverse hyperbolic cosine.",
    "asin": "Inverse sine, in radians.",
    "asinh": "Inverse hyperbolic sine.",
    "atan": "Inverse tangent, in radians.",
    "atanh": "Inverse hyperbolic tangent.",
    "cos": "Cosine of an angle in radians.",
    "cosh": "Hyperbolic cosine.",
    "erf": "Gauss error function.",
    "exp": "e to the power of each element.",
    "log": "Natural logarithm.",
    "log2": "Logarithm to base 2.",
    "log10": "Logarithm to base 10.",
    "rsqrt": "1 / sqrt(x).",
    "sigmoid": "1 / (1 + exp(-x)).",
    "sin": "Sine of an angle in radians.",
    "sinh": "Hyperbolic sine.",
    "sqrt": "Square root.",
    "tan": "Tangent of an angle in radians.",
    "tanh": "Hyperbolic tangent.",
}
"""Functions of floats."""

NUMBER: Final = {
    "abs": "The absolute value.",
    "ceil": "The smallest whole number that is not below each element.",
    "floor": "The largest whole number that is not above each element.",
    "negative": "The element with the other sign.",
    "round": "The nearest whole number; halves go to the even neighbour.",
    "sign": "-1, 0 or 1; NaN stays NaN.",
    "square": "x * x.",
    "trunc": "The element without its fraction.",
}
"""Functions of numbers."""

TEST: Final = {
    "isfinite": "Whether the element is neither infinite nor NaN.",
    "isinf": "Whether the element is infinite.",
    "isnan": "Whether the element is not a number.",
}
"""Questions about numbers."""


def infer_same(
    inference: Inference,
    is_allowed: Callable[[DType], bool],
    wanted: str,
    result: DType | None = None,
) -> TensorStructInfo:
    """An array like the first argument, whose dtype must be allowed."""
    info = inference.tensor(0)
    if info.dtype is not None and not is_allowed(info.dtype):
        inference.error(
            f"{inference.name_of(0)} must have {wanted}, it has {info.dtype!s}; convert it with "
            "astype"
        )
    return TensorStructInfo(info.shape, result or info.dtype, info.vdevice, info.ndim)


def is_number(dtype: DType) -> bool:
    """Whether elements of the dtype are numbers."""
    return dtype.is_float or (dtype.is_integral and not dtype.is_bool)


def is_float(dtype: DType) -> bool:
    """Whether elements of the dtype are floats."""
    return dtype.is_float


def is_signed(dtype: DType) -> bool:
    """Whether elements of the dtype may be negative."""
    return dtype.is_float or dtype.is_int


def _unary(
    name: str,
    doc: str,
    is_allowed: Callable[[DType], bool],
    wanted: str,
    result: DType | None = None,
) -> Callable[[Any], Call]:
    def infer(inference: Inference) -> TensorStructInfo:
        return infer_same(inference, is_allowed, wanted, result)

    op = register(name, ("x",), infer, kernel(getattr(topi, name), name=name))

    @named(name, doc)
    def function(x: Any) -> Call:
        return call(op, x)

    return function


acos, acosh, asin, asinh, atan, atanh, cos, cosh, erf, exp, log, log2, log10, rsqrt, sigmoid, sin, \
    sinh, sqrt, tan, tanh = (
        _unary(name, doc, is_float, "a float dtype")
        for name, doc in FLOAT.items()
    )  # fmt: skip
abs, ceil, floor, negative, round, sign, square, trunc = (
    _unary(
        name,
        doc,
        is_signed if name == "negative" else is_number,
        "a signed dtype" if name == "negative" else "numbers",
    )
    for name, doc in NUMBER.items()
)
isfinite, isinf, isnan = (
    _unary(name, doc, is_number, "numbers", BOOL) for name, doc in TEST.items()
)
logical_not = _unary(
    "logical_not", "Whether each element is false.", lambda dtype: dtype.is_bool, "dtype bool"
)
bitwise_not = _unary(
    "bitwise_not", "All bits the other way.", lambda dtype: dtype.is_integral, "integers or bools"
)


def _infer_clip(inference: Inference) -> TensorStructInfo:
    info = infer_same(inference, is_number, "numbers")
    for position in (1, 2):
        value = scalar_argument(inference, position)
        if value is not None and info.dtype is not None:
            checked(inference, limit, value, info.dtype)
    return info


_CLIP = register("clip", ("x", "min", "max"), _infer_clip, kernel(topi.clip))


def clip(x: Any, min: Any, max: Any) -> Call:
    """Each element where it is between `min` and `max`, else the nearer bound."""
    dtype = getattr(getattr(x, "struct_info", None), "dtype", None)
    return call(_CLIP, x, exact_number(min, dtype), exact_number(max, dtype))
