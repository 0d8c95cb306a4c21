"""tanh and erf: an odd polynomial near 0, one minus an exponential further out."""

from __future__ import annotations

from tilewright.ir.expr import Expr, Select
from tilewright.tir.numerics.coefficients import (
    ERF_32,
    ERF_64,
    ERF_TAIL_32,
    ERF_TAIL_64,
    TANH_32,
    TANH_64,
)
from tilewright.tir.numerics.exponential import exp
from tilewright.tir.numerics.kernel import Kernel

# Where the function is 1 after rounding.
TANH_IS_ONE = {32: 9.1, 64: 19.2}
ERF_IS_ONE = {32: 3.95, 64: 5.95}
ERF_BORDER = {32: 0.925, 64: 1.0}


def tanh(k: Kernel, x: Expr) -> Expr:
    """Hyperbolic tangent: 1 - 2 / (exp(2 |x|) + 1) away from 0."""
    x = k.let(x, "x")
    square = k.let(x * x, "square")
    small = k.fma(square * x, k.polynomial(square, TANH_32 if k.bits == 32 else TANH_64), x)
    size = k.clamp(k.absolute(x), 0.0, TANH_IS_ONE[k.bits])
    e = exp(k, size + size) + k.real(1.0)
    large = k.real(1.0) - k.real(2.0) / e
    return k.copy_sign(Select(k.absolute(x) < k.real(0.625), small, large), x)


def erf(k: Kernel, x: Expr) -> Expr:
    """Gauss error function: 1 - exp(-P(|x|)) away from 0."""
    x = k.let(x, "x")
    square = k.let(x * x, "square")
    small = k.fma(x, k.polynomial(square, ERF_32 if k.bits == 32 else ERF_64), x)
    size = k.clamp(k.absolute(x), 0.0, ERF_IS_ONE[k.bits])
    exponent = size * k.polynomial(size, ERF_TAIL_32 if k.bits == 32 else ERF_TAIL_64)
    large = k.real(1.0) - exp(k, exponent * k.real(-1.0))
    return k.copy_sign(Select(k.absolute(x) < k.real(ERF_BORDER[k.bits]), small, large), x)
