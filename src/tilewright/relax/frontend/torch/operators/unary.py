"""Functions of one operand, element by element."""

from __future__ import annotations

import math
from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import CONVERTERS, converts

_FUNCTIONS: Final = {
    name: getattr(op, name)
    for name in (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf",
        "exp", "floor", "log", "log10", "log2", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh",
        "sqrt", "square", "tan", "tanh",
    )
} | {"neg": op.negative}  # fmt: skip
_TESTS: Final = {"isnan": op.isnan, "isinf": op.isinf, "isfinite": op.isfinite}


def _function(function: Any) -> Any:
    def convert(graph: Graph, x: Any) -> Any:
        return graph.emit(function(graph.cast(x, graph.dtype)))

    return convert


def _test(function: Any) -> Any:
    def convert(graph: Graph, x: Any) -> Any:
        return graph.emit(function(x))

    return convert


CONVERTERS.update({f"aten.{name}": _function(function) for name, function in _FUNCTIONS.items()})
CONVERTERS.update({f"aten.{name}": _test(function) for name, function in _TESTS.items()})


def scaled(graph: Graph, x: Any, factor: float) -> Any:
    """``factor x``."""
    return op.multiply(x, factor)


@converts("aten.reciprocal")
def reciprocal(graph: Graph, x: Any) -> Any:
    """``1 / x``."""
    return graph.emit(op.divide(1, graph.cast(x, graph.dtype)))


@converts("aten.exp2")
def exp2(graph: Graph, x: Any) -> Any:
    """2 to the power `x`."""
    return graph.emit(op.exp(scaled(graph, graph.cast(x, graph.dtype), math.log(2))))


@converts("aten.log1p")
def log1p(graph: Graph, x: Any) -> Any:
    """``log(1 + x)``, also for small `x`: Kahan's correction of what ``1 + x`` rounds off."""
    x = graph.cast(x, graph.dtype)
    rounded = graph.emit(op.add(x, 1))
    exact = graph.emit(op.equal(rounded, 1))
    lost = op.where(exact, 1, op.subtract(rounded, 1))
    corrected = op.multiply(op.log(rounded), op.divide(x, lost))
    infinite = op.isinf(rounded)
    return graph.emit(op.where(exact, x, op.where(infinite, rounded, corrected)))


@converts("aten.expm1")
def expm1(graph: Graph, x: Any) -> Any:
    """``exp(x) - 1``, also for small `x`, by the same correction."""
    x = graph.cast(x, graph.dtype)
    power = graph.emit(op.exp(x))
    difference = graph.emit(op.subtract(power, 1))
    exact = graph.emit(op.equal(power, 1))
    corrected = op.multiply(difference, op.divide(x, op.log(op.where(exact, x, power))))
    near = op.less(op.abs(x), 1)
    return graph.emit(op.where(exact, x, op.where(near, corrected, difference)))


@converts("aten.erfc", "aten.special_erfc")
def erfc(graph: Graph, x: Any) -> Any:
    """``1 - erf(x)``."""
    return graph.emit(op.subtract(1, op.erf(graph.cast(x, graph.dtype))))


@converts("aten.signbit")
def signbit(graph: Graph, x: Any) -> Any:
    """Whether an element has a minus sign; a zero may have one, too."""
    if not graph.dtype_of(x).startswith(("float", "bfloat")):
        return graph.emit(op.less(x, 0))
    return graph.emit(op.less(op.where(op.equal(x, 0), op.divide(1, x), x), 0))


@converts("aten.logical_not")
def logical_not(graph: Graph, x: Any) -> Any:
    """Whether an element is zero."""
    return graph.emit(op.logical_not(graph.cast(x, "bool")))


@converts("aten.bitwise_not")
def bitwise_not(graph: Graph, x: Any) -> Any:
    """The complement of each bit, or of a truth."""
    return graph.emit(op.logical_not(x) if graph.dtype == "bool" else op.bitwise_not(x))
