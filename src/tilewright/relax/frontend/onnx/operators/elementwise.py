"""Functions of one operand or two, element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

from tilewright import topi
from tilewright.ir.dtype import DType
from tilewright.relax import op
from tilewright.relax.frontend.onnx.graph import Graph
from tilewright.relax.frontend.onnx.table import convert_by, converts
from tilewright.relax.frontend.table import UnsupportedError

_FUNCTIONS: Final = {
    "Abs": op.abs, "Acos": op.acos, "Acosh": op.acosh, "Asin": op.asin, "Asinh": op.asinh,
    "Atan": op.atan, "Atanh": op.atanh, "BitwiseNot": op.bitwise_not, "Ceil": op.ceil,
    "Cos": op.cos, "Cosh": op.cosh, "Erf": op.erf, "Exp": op.exp, "Floor": op.floor,
    "IsNaN": op.isnan, "Log": op.log, "Neg": op.negative, "Not": op.logical_not,
    "Round": op.round, "Sigmoid": op.sigmoid, "Sign": op.sign, "Sin": op.sin, "Sinh": op.sinh,
    "Sqrt": op.sqrt, "Tan": op.tan, "Tanh": op.tanh,
}  # fmt: skip
_PAIRS: Final = {
    "Add": op.add, "And": op.logical_and, "BitwiseAnd": op.bitwise_and,
    "BitwiseOr": op.bitwise_or, "BitwiseXor": op.bitwise_xor, "Equal": op.equal,
    "Greater": op.greater, "GreaterOrEqual": op.greater_equal, "Less": op.less,
    "LessOrEqual": op.less_equal, "Mul": op.multiply, "Or": op.logical_or, "Sub": op.subtract,
    "Xor": op.logical_xor,
}  # fmt: skip
_ANY: Final = {"Max": op.maximum, "Min": op.minimum, "Sum": op.add}


def _one(function: Callable[[Any], Any]) -> Any:
    return lambda graph, x: function(x)


def _pair(function: Callable[[Any, Any], Any]) -> Any:
    return lambda graph, x, y: function(x, y)


def _any(function: Callable[[Any, Any], Any]) -> Any:
    return lambda graph, *operands: reduce(lambda x, y: graph.emit(function(x, y)), operands)


convert_by({name: _one(function) for name, function in _FUNCTIONS.items()})
convert_by({name: _pair(function) for name, function in _PAIRS.items()})
convert_by({name: _any(function) for name, function in _ANY.items()})


@converts("Mean")
def mean(graph: Graph, *operands: Any) -> Any:
    """The mean of arrays."""
    return op.multiply(reduce(op.add, operands), 1 / len(operands))


@converts("Div")
def divide(graph: Graph, x: Any, y: Any) -> Any:
    """``x / y``; of integers, towards zero."""
    if graph.is_float(x):
        return op.divide(x, y)
    return graph.emit_te(topi.trunc_divide, x, y, primfunc_name_hint="trunc_divide")


@converts("Mod")
def modulo(graph: Graph, x: Any, y: Any, *, fmod: int = 0) -> Any:
    """The remainder, with the sign of the divisor, or with that of the dividend."""
    return op.mod(x, y) if fmod else op.floor_mod(x, y)


@converts("Pow")
def power(graph: Graph, x: Any, exponent: Any) -> Any:
    """``x`` to the power `exponent`, in the dtype of `x`."""
    dtype = graph.dtype_of(x)
    known = graph.elements(exponent)
    if known is not None and known.is_constant and known.values.size == 1:
        value = float(known.values.reshape(-1)[0])
        is_scalar = graph.rank_of(exponent) <= graph.rank_of(x)
        if is_scalar and value == 2:
            return op.multiply(x, x)
        if is_scalar and value == 0.5 and graph.is_float(x):
            return op.sqrt(x)
    if graph.is_float(x):
        return op.power(x, graph.cast(exponent, dtype))
    wide = op.power(graph.cast(x, "float64"), graph.cast(exponent, "float64"))
    # Powers of integers are exact in float64 up to 2**53; what is a little below is one.
    return op.astype(op.round(wide) if not graph.is_float(exponent) else op.trunc(wide), dtype)


@converts("BitShift")
def shift(graph: Graph, x: Any, y: Any, *, direction: str) -> Any:
    """`x` shifted by `y` bits; if these are more than it has, no bit is left but the sign."""
    if direction not in ("LEFT", "RIGHT"):
        raise UnsupportedError(f"the direction {direction!r} is not supported")
    dtype = graph.dtype_of(x)
    bits = DType(dtype).bits
    inside = op.less(y, graph.operand(bits, dtype))
    if not dtype.startswith("u"):
        inside = op.logical_and(inside, op.greater_equal(y, graph.operand(0, dtype)))
    inside = graph.emit(inside)
    most = graph.operand(bits - 1, dtype)
    if direction == "RIGHT" and not dtype.startswith("u"):
        return op.right_shift(x, op.where(inside, y, most))
    shifted = (op.left_shift if direction == "LEFT" else op.right_shift)(
        x, op.where(inside, y, graph.operand(0, dtype))
    )
    return op.where(inside, shifted, graph.operand(0, dtype))


@converts("IsInf")
def is_infinite(graph: Graph, x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    """Whether elements are infinite, with the signs that count."""
    infinite = op.isinf(x)
    zero = graph.scalar_like(0, x)
    if not detect_negative:
        infinite = op.logical_and(infinite, op.greater(x, zero))
    if not detect_positive:
        infinite = op.logical_and(infinite, op.less(x, zero))
    return infinite


@converts("Where")
def where(graph: Graph, condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds, otherwise `y`."""
    return op.where(condition, x, y)


@converts("Clip")
def clip(graph: Graph, x: Any, min: Any = None, max: Any = None) -> Any:
    """`x`, but not less than `min` nor more than `max`."""
    for function, limit in ((op.maximum, min), (op.minimum, max)):
        if limit is not None:
            bound = limit if isinstance(limit, float) else graph.reshape(limit, [])
            x = function(x, graph.operand(bound, graph.dtype_of(x)))
            x = graph.emit(x)
    return x


convert_by({
    "Reciprocal": lambda graph, x: op.divide(graph.scalar_like(1, x), x),
})  # fmt: skip


@converts("ai.onnx.ml.Binarizer")
def binarizer(graph: Graph, x: Any, *, threshold: float = 0.0) -> Any:
    """1 for what is over a threshold, and 0."""
    is_over = graph.emit(op.greater(x, graph.scalar_like(threshold, x)))
    return graph.cast(is_over, graph.dtype_of(x))
