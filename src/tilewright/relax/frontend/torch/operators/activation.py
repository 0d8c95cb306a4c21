"""Functions of one operand, element by element, and activation functions."""

from __future__ import annotations

import math
from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.single_precision import in_single
from tilewright.relax.frontend.torch.table import convert_by, converts

_FUNCTIONS: Final = {
    name: getattr(op, name)
    for name in (
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf",
        "exp", "floor", "log", "log10", "log2", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh",
        "sqrt", "square", "tan", "tanh",
    )
}  # fmt: skip


def _function(function: Any) -> Any:
    def convert(graph: Graph, x: Any) -> Any:
        return graph.emit(function(graph.cast(x, graph.dtype)))

    return convert


convert_by({f"aten.{name}": _function(function) for name, function in _FUNCTIONS.items()})


@converts("aten.neg")
def neg(graph: Graph, x: Any) -> Any:
    """``-x``; an unsigned number wraps around."""
    unsigned = graph.dtype_of(x).startswith("uint")
    return graph.emit(op.subtract(0, x) if unsigned else op.negative(x))


@converts("aten.log1p")
@in_single
def log1p(graph: Graph, x: Any) -> Any:
    """``log(1 + x)``, also for small `x`: Kahan's correction of what ``1 + x`` rounds off."""
    x = graph.cast(x, graph.full_dtype)
    rounded = graph.emit(op.add(x, 1))
    exact = graph.emit(op.equal(rounded, 1))
    lost = op.where(exact, 1, op.subtract(rounded, 1))
    corrected = op.multiply(op.log(rounded), op.divide(x, lost))
    infinite = op.isinf(rounded)
    return graph.emit(op.where(exact, x, op.where(infinite, rounded, corrected)))


@converts("aten.expm1")
@in_single
def expm1(graph: Graph, x: Any) -> Any:
    """``exp(x) - 1``, also for small `x`, by the same correction."""
    x = graph.cast(x, graph.full_dtype)
    power = graph.emit(op.exp(x))
    difference = graph.emit(op.subtract(power, 1))
    exact = graph.emit(op.equal(power, 1))
    corrected = op.multiply(difference, op.divide(x, op.log(op.where(exact, x, power))))
    near = op.less(op.abs(x), 1)
    return graph.emit(op.where(exact, x, op.where(near, corrected, difference)))


@converts("aten.signbit")
def signbit(graph: Graph, x: Any) -> Any:
    """Whether an element has a minus sign; a zero may have one, too."""
    if not graph.dtype_of(x).startswith(("float", "bfloat")):
        return graph.emit(op.less(x, 0))
    return graph.emit(op.less(op.where(op.equal(x, 0), op.divide(1, x), x), 0))


@converts("aten.bitwise_not")
def bitwise_not(graph: Graph, x: Any) -> Any:
    """The complement of each bit, or of a truth."""
    return graph.emit(op.logical_not(x) if graph.dtype == "bool" else op.bitwise_not(x))


@converts("aten.hardtanh")
def hardtanh(graph: Graph, x: Any, lower: float = -1, upper: float = 1) -> Any:
    """`x`, but at least `lower` and at most `upper`."""
    return graph.emit(op.clip(x, lower, upper))


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
@in_single
def elu(graph: Graph, x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    """``scale x``, or ``scale alpha (exp(input_scale x) - 1)`` where it is negative."""
    # The exponential of what is positive may overflow; nothing is left of it.
    exponent = op.multiply(op.minimum(x, 0), input_scale)
    below = op.subtract(op.exp(exponent), 1)
    below = op.multiply(below, alpha * scale)
    above = op.multiply(x, scale)
    return graph.emit(op.where(op.greater(x, 0), above, below))


@converts("aten.gelu")
def gelu(graph: Graph, x: Any, *, approximate: str = "none") -> Any:
    """The Gaussian error linear unit."""
    return graph.emit(op.nn.gelu_tanh(x) if approximate == "tanh" else op.nn.gelu(x))


def _hard_gate(graph: Graph, x: Any) -> Any:
    """``(x + 3) / 6``, but at least 0 and at most 1."""
    clipped = op.clip(op.add(x, 3), 0, 6)
    return op.multiply(clipped, 1 / 6)


@converts("aten.softplus")
@in_single
def softplus(graph: Graph, x: Any, beta: float = 1, threshold: float = 20) -> Any:
    """``log(1 + exp(beta x)) / beta``, and `x` where ``beta x`` is above the threshold."""
    scaled = graph.emit(op.multiply(x, beta))
    linear = graph.emit(op.greater(scaled, threshold))
    small = graph.emit(op.exp(op.where(linear, 0, scaled)))
    curved = op.multiply(log1p(graph, small), 1 / beta)
    return graph.emit(op.where(linear, x, curved))


@converts("aten.log_sigmoid")
@in_single
def log_sigmoid(graph: Graph, x: Any) -> Any:
    """``log(sigmoid(x))``, which is ``min(x, 0) - log(1 + exp(-|x|))``."""
    small = graph.emit(op.exp(op.negative(op.abs(x))))
    return graph.emit(op.subtract(op.minimum(x, 0), log1p(graph, small)))


@converts("aten.glu")
@in_single
def glu(graph: Graph, x: Any, dim: int = -1) -> Any:
    """The first half along `dim`, times the sigmoid of the second."""
    first, second = graph.emit(op.split(x, 2, dim))
    return graph.emit(op.multiply(first, op.sigmoid(second)))


@converts("aten.feature_dropout", "aten.alpha_dropout")
def dropout(graph: Graph, x: Any, p: float, train: bool) -> Any:
    """`x` as it is, outside training."""
    if train and p > 0:
        raise UnsupportedError("dropout drops nothing here; call model.eval() before the export")
    return x


convert_by({
    "aten.reciprocal": lambda graph, x: op.divide(1, graph.cast(x, graph.dtype)),
    "aten.exp2": in_single(
        lambda graph, x: op.exp(op.multiply(graph.cast(x, graph.full_dtype), math.log(2)))
    ),
    "aten.erfc aten.special_erfc": in_single(
        lambda graph, x: op.subtract(1, op.erf(graph.cast(x, graph.full_dtype)))
    ),
    "aten.isnan": lambda graph, x: op.isnan(x),
    "aten.isinf": lambda graph, x: op.isinf(x),
    "aten.isfinite": lambda graph, x: op.isfinite(x),
    "aten.logical_not": lambda graph, x: op.logical_not(graph.cast(x, "bool")),
    "aten.relu": lambda graph, x: op.nn.relu(x),
    "aten.relu6": lambda graph, x: hardtanh(graph, x, 0, 6),
    "aten.leaky_relu": lambda graph, x, slope=0.01: op.nn.leakyrelu(x, slope),
    "aten.celu": lambda graph, x, alpha=1: elu(graph, x, alpha, 1, 1 / alpha),
    "aten.selu": lambda graph, x: elu(graph, x, 1.6732632423543772, 1.0507009873554805),
    "aten.silu": lambda graph, x: op.nn.silu(x),
    "aten.hardsigmoid": in_single(_hard_gate),
    "aten.hardswish": in_single(lambda graph, x: op.multiply(x, _hard_gate(graph, x))),
    "aten.mish": in_single(lambda graph, x: op.multiply(x, op.tanh(softplus(graph, x)))),
    "aten.softmax aten._softmax":
        lambda graph, x, dim, dtype=None: op.nn.softmax(graph.cast(x, graph.dtype), dim),
    "aten.log_softmax aten._log_softmax":
        lambda graph, x, dim, dtype=None: op.nn.log_softmax(graph.cast(x, graph.dtype), dim),
})  # fmt: skip
