"""tanh and erf: one minus an exponential, and near 0 an odd polynomial."""

from __future__ import annotations

from tilewright.ir.expr import Expr, Select
from tilewright.tir.numerics.coefficients import (
    ERF_64,
    ERF_TAIL_64,
    EXP_32,
    LOG_ERFC_32,
    TANH_32,
    TANH_64,
)
from tilewright.tir.numerics.exponential import LOG2_E, LOG_2, exp
from tilewright.tir.numerics.kernel import Kernel

# Where the function is 1 after rounding.
TANH_IS_ONE = {32: 9.1, 64: 19.2}
ERF_IS_ONE = {32: 3.95, 64: 5.95}


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
    """Gauss error function."""
    return _erf_32(k, x) if k.bits == 32 else _erf_64(k, x)


def _erf_32(k: Kernel, x: Expr) -> Expr:
    """1 - erfc(|x|) from u - 1 for u = erfc(|x|), without cancellation where u is near 1."""
    x = k.let(x, "x")
    size = k.let(k.absolute(x), "size")
    limit = k.real(ERF_IS_ONE[32])
    minus = k.let(Select(size > limit, limit, size) * k.real(-1.0), "minus")
    logarithm = k.let(k.fma(minus, k.polynomial(minus, LOG_ERFC_32), minus), "logarithm")
    n, whole = k.nearest(logarithm, LOG2_E)
    # n is above -26, where log(2) to 24 bits is enough for what it adds to 1.
    r = k.let(k.fma(n, -LOG_2, logarithm), "r")
    part = k.fma(r * r, k.polynomial(r, EXP_32), r)
    power = k.let(k.power_of_two(whole), "power")
    result = k.fma(power * k.real(-1.0), part, k.real(1.0) - power)
    return k.copy_sign(result, x)


def _erf_64(k: Kernel, x: Expr) -> Expr:
    """1 - exp(-P(|x|)) away from 0."""
    x = k.let(x, "x")
    square = k.let(x * x, "square")
    small = k.fma(x, k.polynomial(square, ERF_64), x)
    size = k.clamp(k.absolute(x), 0.0, ERF_IS_ONE[64])
    large = k.real(1.0) - exp(k, size * k.polynomial(size, ERF_TAIL_64) * k.real(-1.0))
    return k.copy_sign(Select(k.absolute(x) < k.real(1.0), small, large), x)
