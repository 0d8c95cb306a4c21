"""The logarithm of the gamma function, and its derivative.

Both follow Lanczos (SIAM Journal on Numerical Analysis 1, 1964): for ``x >= 1/2`` ::

    gamma(x) = sqrt(2 pi) (x + g - 1/2)^(x - 1/2) e^-(x + g - 1/2) S(x)

with g = 7 and the coefficients of Godfrey, whose sum of fractions S is written as a quotient of
polynomials. Smaller numbers are reflected. All is computed in double precision, where single
precision needs no care for cancellation: it gets the nearest number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from tilewright.relax import op
from tilewright.relax.frontend.torch.graph import Graph
from tilewright.relax.frontend.torch.table import converts

NUMERATOR: Final = (
    3409662.655334301, 4162387.8912255666, 2222880.4194936417, 678289.7015023341,
    129347.25852873056, 15784.880456697452, 1203.8342013886463, 52.45833333334355,
    0.9999999999998099,
)  # fmt: skip
DENOMINATOR: Final = (0.0, 5040.0, 13068.0, 13132.0, 6769.0, 1960.0, 322.0, 28.0, 1.0)
"""The product of x, x + 1, ..., x + 7."""

LARGE: Final = 1e10
"""The quotient is as good as 1 from here on, and the powers of more would overflow."""


@converts("aten.lgamma")
def lgamma(graph: Graph, x: Any) -> Any:
    """``log(abs(gamma(x)))``."""
    x = graph.cast(x, "float64")
    is_small, y, base = _reflected(graph, x)
    inner = graph.emit(op.minimum(y, LARGE))
    quotient = op.divide(_polynomial(inner, NUMERATOR), _polynomial(inner, DENOMINATOR))
    rest = op.log(op.multiply(quotient, math.sqrt(2 * math.pi)))
    power = op.subtract(op.multiply(op.subtract(y, 0.5), op.log(base)), base)
    positive = graph.emit(op.add(power, rest))
    sine = op.sin(op.multiply(_beyond_integer(x), math.pi))
    negative = op.subtract(op.log(op.divide(math.pi, op.abs(sine))), positive)
    result = graph.emit(op.where(is_small, negative, positive))
    whole = graph.emit(op.where(op.isinf(x), math.inf, result))
    return graph.cast(whole, graph.dtype)


@converts("aten.digamma")
def digamma(graph: Graph, x: Any) -> Any:
    """The derivative of ``log(abs(gamma(x)))``."""
    x = graph.cast(x, "float64")
    is_small, y, base = _reflected(graph, x)
    inner = graph.emit(op.minimum(y, LARGE))
    slopes = (
        op.divide(_polynomial(inner, _derivative(terms)), _polynomial(inner, terms))
        for terms in (NUMERATOR, DENOMINATOR)
    )
    rest = op.subtract(*slopes)
    power = op.add(op.log(base), op.subtract(op.divide(op.subtract(y, 0.5), base), 1))
    positive = graph.emit(op.add(power, rest))
    beyond = graph.emit(_beyond_integer(x))
    signed = op.where(op.equal(x, 0), x, beyond)  # a zero has a sign, too
    cotangent = op.divide(math.pi, op.tan(op.multiply(signed, math.pi)))
    is_pole = op.logical_and(op.equal(beyond, 0), op.less(x, 0))
    negative = op.where(is_pole, math.nan, op.subtract(positive, cotangent))
    result = graph.emit(op.where(is_small, negative, positive))
    whole = graph.emit(op.where(op.equal(x, math.inf), math.inf, result))
    return graph.cast(whole, graph.dtype)


def _reflected(graph: Graph, x: Any) -> tuple[Any, Any, Any]:
    """Whether a number is below 1/2; its reflection or itself, y; and y + g - 1/2."""
    is_small = graph.emit(op.less(x, 0.5))
    y = graph.emit(op.where(is_small, op.subtract(1, x), x))
    return is_small, y, graph.emit(op.add(y, 6.5))


def _beyond_integer(x: Any) -> Any:
    """How far a number is beyond the nearest integer, exactly."""
    return op.subtract(x, op.round(x))


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial with such coefficients, the constant first."""
    *others, leading = coefficients
    total: Any = leading
    for coefficient in reversed(others):
        total = op.add(op.multiply(x, total), coefficient)
    return total


def _derivative(coefficients: Sequence[float]) -> list[float]:
    return [n * c for n, c in enumerate(coefficients)][1:]
