"""Functions of one operand, element by element, and activation functions."""

from __future__ import annotations

import math
from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import CONVERTERS, UnsupportedError, converts

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


@converts("aten.relu")
def relu(graph: Graph, x: Any) -> Any:
    """``max(x, 0)``."""
    return graph.emit(op.nn.relu(x))


@converts("aten.relu6")
def relu6(graph: Graph, x: Any) -> Any:
    """`x`, but at least 0 and at most 6."""
    return hardtanh(graph, x, 0, 6)


@converts("aten.hardtanh")
def hardtanh(graph: Graph, x: Any, lower: float = -1, upper: float = 1) -> Any:
    """`x`, but at least `lower` and at most `upper`."""
    return graph.emit(op.clip(x, lower, upper))


@converts("aten.leaky_relu")
def leaky_relu(graph: Graph, x: Any, slope: float = 0.01) -> Any:
    """`x`, or ``slope x`` where it is negative."""
    return graph.emit(op.nn.leakyrelu(x, slope))


@converts("aten.prelu", "aten._prelu_kernel")
def prelu(graph: Graph, x: Any, slope: Any) -> Any:
    """`x`, or ``slope x`` where it is negative; a slope for each channel, or one for all."""
    rank = graph.rank_of(x)
    if graph.rank_of(slope) == 1 and rank > 1:
        slope = graph.reshape(slope, [1, graph.shape_of(slope)[0], *[1] * (rank - 2)])
    positive = op.greater(x, 0)
    return graph.emit(op.where(positive, x, op.multiply(x, slope)))


@converts("aten.threshold")
def threshold(graph: Graph, x: Any, limit: float, value: float) -> Any:
    """`x`, or `value` where it is not above `limit`."""
    above = op.greater(x, limit)
    return graph.emit(op.where(above, x, graph.operand(value, graph.dtype)))


@converts("aten.elu")
def elu(graph: Graph, x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    """``scale x``, or ``scale alpha (exp(input_scale x) - 1)`` where it is negative."""
    # The exponential of what is positive may overflow; nothing is left of it.
    exponent = op.multiply(op.minimum(x, 0), input_scale)
    below = op.subtract(op.exp(exponent), 1)
    below = op.multiply(below, alpha * scale)
    above = op.multiply(x, scale)
    return graph.emit(op.where(op.greater(x, 0), above, below))


@converts("aten.celu")
def celu(graph: Graph, x: Any, alpha: float = 1) -> Any:
    """`x`, or ``alpha (exp(x / alpha) - 1)`` where it is negative."""
    return elu(graph, x, alpha, 1, 1 / alpha)


@converts("aten.selu")
def selu(graph: Graph, x: Any) -> Any:
    """The exponential linear unit whose constants keep mean and variance."""
    return elu(graph, x, 1.6732632423543772, 1.0507009873554805)


@converts("aten.gelu")
def gelu(graph: Graph, x: Any, *, approximate: str = "none") -> Any:
    """The Gaussian error linear unit."""
    return graph.emit(op.nn.gelu_tanh(x) if approximate == "tanh" else op.nn.gelu(x))


@converts("aten.silu")
def silu(graph: Graph, x: Any) -> Any:
    """``x sigmoid(x)``."""
    return graph.emit(op.nn.silu(x))


def _hard_gate(graph: Graph, x: Any) -> Any:
    """``(x + 3) / 6``, but at least 0 and at most 1."""
    clipped = op.clip(op.add(x, 3), 0, 6)
    return op.multiply(clipped, 1 / 6)


@converts("aten.hardsigmoid")
def hardsigmoid(graph: Graph, x: Any) -> Any:
    """A sigmoid of three straight lines."""
    return graph.emit(_hard_gate(graph, x))


@converts("aten.hardswish")
def hardswish(graph: Graph, x: Any) -> Any:
    """`x` times its hard sigmoid."""
    return graph.emit(op.multiply(x, _hard_gate(graph, x)))


@converts("aten.softplus")
def softplus(graph: Graph, x: Any, beta: float = 1, threshold: float = 20) -> Any:
    """``log(1 + exp(beta x)) / beta``, and `x` where ``beta x`` is above the threshold."""
    scaled = graph.emit(op.multiply(x, beta))
    linear = graph.emit(op.greater(scaled, threshold))
    small = graph.emit(op.exp(op.where(linear, 0, scaled)))
    curved = op.multiply(log1p(graph, small), 1 / beta)
    return graph.emit(op.where(linear, x, curved))


@converts("aten.mish")
def mish(graph: Graph, x: Any) -> Any:
    """``x tanh(softplus(x))``."""
    return graph.emit(op.multiply(x, op.tanh(softplus(graph, x))))


@converts("aten.log_sigmoid")
def log_sigmoid(graph: Graph, x: Any) -> Any:
    """``log(sigmoid(x))``, which is ``min(x, 0) - log(1 + exp(-|x|))``."""
    small = graph.emit(op.exp(op.negative(op.abs(x))))
    return graph.emit(op.subtract(op.minimum(x, 0), log1p(graph, small)))


@converts("aten.softmax", "aten._softmax")
def softmax(graph: Graph, x: Any, dim: int, dtype: Any = None) -> Any:
    """Exponentials, scaled so that their sum along `dim` is 1."""
    return graph.emit(op.nn.softmax(graph.cast(x, graph.dtype), dim))


@converts("aten.log_softmax", "aten._log_softmax")
def log_softmax(graph: Graph, x: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return graph.emit(op.nn.log_softmax(graph.cast(x, graph.dtype), dim))


@converts("aten.glu")
def glu(graph: Graph, x: Any, dim: int = -1) -> Any:
    """The first half along `dim`, times the sigmoid of the second."""
    first, second = graph.emit(op.split(x, 2, dim))
    return graph.emit(op.multiply(first, op.sigmoid(second)))


@converts("aten.dropout", "aten.feature_dropout", "aten.alpha_dropout")
def dropout(graph: Graph, x: Any, p: float, train: bool) -> Any:
    """`x` as it is, outside training."""
    if train and p > 0:
        raise UnsupportedError("dropout drops nothing here; call model.eval() before the export")
    return x
