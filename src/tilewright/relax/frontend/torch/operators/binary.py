"""Arithmetic, comparisons and logic of two operands, which torch first gives one dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright import te, tir
from tilewright.relax import PrimValue, op
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import convert_by, converts

_ARITHMETIC: Final = {
    "mul": op.multiply,
    "maximum": op.maximum,
    "minimum": op.minimum,
    "max.other": op.maximum,
    "min.other": op.minimum,
    "floor_divide": op.floor_divide,
    "remainder": op.floor_mod,
    "fmod": op.mod,
    "bitwise_and": op.bitwise_and,
    "bitwise_or": op.bitwise_or,
    "bitwise_xor": op.bitwise_xor,
    "__and__": op.bitwise_and,
    "__or__": op.bitwise_or,
    "__xor__": op.bitwise_xor,
    "bitwise_left_shift": op.left_shift,
    "bitwise_right_shift": op.right_shift,
    "__lshift__": op.left_shift,
    "__rshift__": op.right_shift,
}
_OF_TRUTHS: Final = {
    op.multiply: op.logical_and,
    op.bitwise_and: op.logical_and,
    op.bitwise_or: op.logical_or,
    op.bitwise_xor: op.logical_xor,
}
_COMPARISONS: Final = {
    "eq": op.equal,
    "ne": op.not_equal,
    "lt": op.less,
    "le": op.less_equal,
    "gt": op.greater,
    "ge": op.greater_equal,
}
_LOGIC: Final = {
    "logical_and": op.logical_and,
    "logical_or": op.logical_or,
    "logical_xor": op.logical_xor,
}
_POWERS: Final = {
    0.5: op.sqrt,
    -0.5: op.rsqrt,
    1: lambda x: x,
    2: lambda x: op.multiply(x, x),
    3: lambda x: op.multiply(op.multiply(x, x), x),
}
"""Exponents for which there is something quicker and more exact than a general power."""


def combine(graph: Graph, function: Any, x: Any, y: Any, dtype: str) -> Any:
    """``function(x, y)`` of operands of one dtype."""
    if dtype == "bool":
        function = _OF_TRUTHS.get(function, function)
    return graph.emit(function(graph.operand(x, dtype), graph.operand(y, dtype)))


def _of_dtype(function: Any, dtype: Callable[[Graph], str]) -> Any:
    return lambda graph, x, y: combine(graph, function, x, y, dtype(graph))


for _functions, _dtype in (
    (_ARITHMETIC, lambda graph: graph.dtype),
    (_COMPARISONS, lambda graph: graph.common_dtype()),
    (_LOGIC, lambda graph: "bool"),
):
    convert_by({f"aten.{name}": _of_dtype(f, _dtype) for name, f in _functions.items()})


def _scaled(graph: Graph, x: Any, factor: Any) -> Any:
    return x if isinstance(factor, (int, float)) and factor == 1 else combine(
        graph, op.multiply, x, factor, graph.dtype
    )  # fmt: skip


@converts("aten.add")
def add(graph: Graph, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    """``x + alpha y``."""
    if graph.dtype == "bool":
        return combine(graph, op.logical_or, x, y, "bool")
    return combine(graph, op.add, x, _scaled(graph, y, alpha), graph.dtype)


@converts("aten.sub", "aten.subtract")
def sub(graph: Graph, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    """``x - alpha y``."""
    return combine(graph, op.subtract, x, _scaled(graph, y, alpha), graph.dtype)


@converts("aten.div", "aten.true_divide", "aten.divide")
def div(graph: Graph, x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    """``x / y``, or rounded down, or towards zero."""
    if rounding_mode == "floor":
        return combine(graph, op.floor_divide, x, y, graph.dtype)
    if rounding_mode == "trunc":
        return _truncated(graph, x, y)
    return combine(graph, op.divide, x, y, graph.dtype)


def _truncated(graph: Graph, x: Any, y: Any) -> Any:
    dtype = graph.dtype
    x, y = graph.operand(x, dtype), graph.operand(y, dtype)
    if dtype.startswith(("float", "bfloat")):
        return truncate(graph, op.divide(x, y))
    # The remainder has the sign of x, so that nothing is left to round.
    return graph.emit(op.floor_divide(op.subtract(x, op.mod(x, y)), y))


@converts("aten.trunc", "aten.fix")
def truncate(graph: Graph, x: Any) -> Any:
    """`x` rounded towards zero."""
    value = graph.emit(x)
    if not graph.dtype.startswith(("float", "bfloat")):
        return value
    return graph.emit(op.trunc(value))


@converts("aten.pow")
def power(graph: Graph, x: Any, exponent: Any) -> Any:
    """``x`` to the power `exponent`."""
    if isinstance(exponent, (int, float)) and exponent in _POWERS:
        return graph.emit(_POWERS[exponent](graph.operand(x, graph.dtype)))
    if not graph.dtype.startswith(("float", "bfloat")):
        return _integer_power(graph, x, exponent)
    return combine(graph, op.power, x, exponent, graph.dtype)


def _integer_power(graph: Graph, x: Any, exponent: Any) -> Any:
    """A power of integers by squaring: one product for each bit of the exponent, or two."""
    if not isinstance(exponent, int) or exponent < 0:
        raise UnsupportedError("powers of integers whose exponents are tensors are not supported")
    x = graph.operand(x, graph.dtype)
    if exponent == 0:
        return graph.emit(op.full(graph.shape, 1, graph.dtype))
    result = None
    while exponent:
        if exponent % 2:
            result = x if result is None else graph.emit(op.multiply(result, x))
        exponent //= 2
        x = graph.emit(op.multiply(x, x)) if exponent else x
    return result


@converts("aten.ldexp")
def ldexp(graph: Graph, x: Any, exponent: Any) -> Any:
    """``x`` times 2 to the power `exponent`."""
    factor = op.power(graph.operand(2, graph.dtype), graph.cast(exponent, graph.dtype))
    return combine(graph, op.multiply, x, graph.emit(factor), graph.dtype)


def _elementwise(function: Any) -> Any:
    """A conversion to a function of two numbers that is not an operator of graphs."""

    def compute(x: Any, y: Any) -> Any:
        return te.compute(x.shape, lambda *place: function(x(*place), y(*place)))

    def convert(graph: Graph, x: Any, y: Any) -> Any:
        shape, dtype = graph.shape, graph.dtype
        return graph.emit_te(compute, *(_filling(graph, v, shape, dtype) for v in (x, y)))

    return convert


def _filling(graph: Graph, value: Any, shape: list[Any], dtype: str) -> Any:
    """A tensor or a number, repeated to the shape of the result."""
    operand = graph.operand(value, dtype)
    if isinstance(operand, PrimValue):
        return graph.emit(op.full(shape, operand, dtype))
    return graph.emit(op.broadcast_to(operand, shape))


convert_by({
    f"aten.{name}": _elementwise(getattr(tir, name)) for name in ("atan2", "copysign", "hypot")
})  # fmt: skip


def _of_numbers(graph: Graph, function: Any, x: Any, y: Any) -> Any:
    dtype = graph.dtype
    x, y = graph.operand(x, dtype), graph.operand(y, dtype)
    if not dtype.startswith(("float", "bfloat")):
        return graph.emit(function(x, y))
    number = op.where(op.isnan(y), x, function(x, y))
    return graph.emit(op.where(op.isnan(x), y, number))


@converts("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def where(graph: Graph, condition: Any, x: Any, y: Any) -> Any:
    """`x` where the condition holds, otherwise `y`."""
    x, y = graph.operand(x, graph.dtype), graph.operand(y, graph.dtype)
    return graph.emit(op.where(condition, x, y))


@converts("aten.clamp", "aten.clip")
def clamp(graph: Graph, x: Any, lower: Any = None, upper: Any = None) -> Any:
    """`x`, but not less than `lower` nor more than `upper`."""
    x = graph.cast(x, graph.dtype)
    if lower is not None:
        x = combine(graph, op.maximum, x, lower, graph.dtype)
    if upper is not None:
        x = combine(graph, op.minimum, x, upper, graph.dtype)
    return x


convert_by({
    "aten.rsub.Tensor": lambda graph, x, y, *, alpha=1: sub(graph, y, x, alpha=alpha),
    "aten.rsub.Scalar": lambda graph, x, y, alpha=1: sub(graph, y, x, alpha=alpha),
    "aten.fmax": lambda graph, x, y: _of_numbers(graph, op.maximum, x, y),
    "aten.fmin": lambda graph, x, y: _of_numbers(graph, op.minimum, x, y),
    "aten.clamp_min": lambda graph, x, lower: clamp(graph, x, lower),
    "aten.clamp_max": lambda graph, x, upper: clamp(graph, x, None, upper),
})  # fmt: skip
