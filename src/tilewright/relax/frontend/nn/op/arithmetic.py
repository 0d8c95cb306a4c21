"""Elementwise operators and reductions."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentValueError
from tilewright.relax import op
from tilewright.relax.frontend.nn.op.calls import renamed, tensor_operator

__all__ = [
    "abs", "add", "argmax", "argmin", "astype", "ceil", "cos", "cumsum", "divide", "equal", "erf",
    "exp", "floor", "floor_divide", "gelu", "greater", "greater_equal", "less", "less_equal",
    "log", "logical_and", "logical_or", "logical_xor", "max", "maximum", "mean", "min", "minimum",
    "mod", "multiply", "negative", "not_equal", "power", "prelu", "relu", "relu6", "rsqrt",
    "sigmoid", "silu", "sin", "softplus", "sqrt", "square", "subtract", "sum", "tanh", "where",
]  # fmt: skip

# --- one operand ----------------------------------------------------------------------------

exp, log, sqrt, square, negative, sigmoid, tanh, floor, ceil, erf, sin, cos, rsqrt, abs = (
    renamed(getattr(op, name), name, "x")
    for name in (
        "exp", "log", "sqrt", "square", "negative", "sigmoid", "tanh", "floor", "ceil", "erf",
        "sin", "cos", "rsqrt", "abs",
    )
)  # fmt: skip
relu, silu = (renamed(getattr(op.nn, name), name, "x") for name in ("relu", "silu"))


@tensor_operator
def gelu(x: Any, approximate: str | None = None) -> Any:
    """Gaussian error linear unit.

    Args:
        x: the tensor.
        approximate: None for the exact function, ``"tanh"`` for its approximation by tanh.
    """
    if approximate not in (None, "none", "tanh"):
        raise ArgumentValueError(f"nn.op.gelu: approximate is None or 'tanh', got {approximate!r}")
    return op.nn.gelu_tanh(x) if approximate == "tanh" else op.nn.gelu(x)


@tensor_operator
def relu6(x: Any) -> Any:
    """Each element between 0 and 6."""
    return op.clip(x, 0, 6)


@tensor_operator
def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """``log(1 + exp(beta * x)) / beta``; `x` itself where ``beta * x`` exceeds `threshold`."""
    scaled = op.multiply(x, float(beta))
    smooth = op.divide(
        op.log(op.add(op.exp(op.minimum(scaled, float(threshold))), 1.0)), float(beta)
    )
    return op.where(op.greater(scaled, float(threshold)), x, smooth)


@tensor_operator
def prelu(x: Any, alpha: Any) -> Any:
    """`x` where it is positive, else `x` times the factor of its channel, dimension 1."""
    return op.nn.prelu(x, alpha)


astype = renamed(op.astype, "astype", "x", "dtype")

# --- two operands ---------------------------------------------------------------------------

add, subtract, multiply, divide, power, mod, floor_divide, maximum, minimum = (
    renamed(getattr(op, name), name, "a", "b")
    for name in (
        "add", "subtract", "multiply", "divide", "power", "mod", "floor_divide", "maximum",
        "minimum",
    )
)  # fmt: skip
less, less_equal, greater, greater_equal, equal, not_equal = (
    renamed(getattr(op, name), name, "a", "b")
    for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
)
logical_and, logical_or, logical_xor = (
    renamed(getattr(op, name), name, "a", "b")
    for name in ("logical_and", "logical_or", "logical_xor")
)


@tensor_operator
def where(condition: Any, x1: Any, x2: Any) -> Any:
    """`x1` where the condition holds, else `x2`; numbers count as true unless they are 0."""
    return op.where(op.astype(condition, "bool"), x1, x2)


sum, max, min, mean = (
    renamed(getattr(op, name), name, "x", "axis", "keepdims")
    for name in ("sum", "max", "min", "mean")
)
argmax, argmin = (
    renamed(getattr(op, name), name, "x", "axis", "keepdims") for name in ("argmax", "argmin")
)
cumsum = renamed(op.cumsum, "cumsum", "data", "axis", "dtype", "exclusive")
