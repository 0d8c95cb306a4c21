"""tanh and erf by exponentials; erf in float64 by an odd polynomial near 0."""

from __future__ import annotations

from tilewright.ir.expr import Expr, Select
from tilewright.tir.numerics.coefficients import (
    ERF_64,
    ERF_TAIL_64,
    EXP_32,
    EXP_64,
    LOG_ERFC_32,
)
from tilewright.tir.numerics.exponential import LOG2_E, LOG_2, exp
from tilewright.tir.numerics.kernel import (
    EXPONENT_BIAS,
    MANTISSA_BITS,
    ROUNDING_SHIFT,
    Kernel,
)
from tilewright.tir.op import reinterpret

# Where the function is 1 after rounding.
TANH_IS_ONE = {32: 9.1, 64: 19.2}
ERF_IS_ONE = {32: 3.95, 64: 5.95}


def tanh(k: Kernel, x: Expr) -> Expr:
    """Hyperbolic tangent: t / (t + 1) with t = (exp(2 |x|) - 1) / 2, which loses nothing near 0."""
    x = k.let(x, "x")
    size = k.at_most(k.absolute(x), TANH_IS_ONE[k.bits])
    # With the bias of the exponent in the shifted number, its low bits make the scale.
    shift = ROUNDING_SHIFT[k.bits] + EXPONENT_BIAS[k.bits]
    shifted = k.let(k.fma(size, 2 * LOG2_E, shift), "shifted")
    bits = reinterpret(k.integer, shifted) << k.whole(MANTISSA_BITS[k.bits])
    scale = k.let(reinterpret(k.dtype, bits), "scale")
    r = k.let(k.fma(shifted - k.real(shift), -LOG_2 / 2, size), "r")
    exp_tail = EXP_32 if k.bits == 32 else EXP_64
    tail = k.polynomial(r, [c * 2.0**n for n, c in enumerate(exp_tail, start=1)])
    t = k.let(k.fma(scale, k.fma(r * r, tail, r), k.fma(scale, 0.5, -0.5)), "t")
    inverse = k.let(k.rough_inverse(t + k.real(1.0)), "inverse")
    quotient = k.let(t * inverse, "quotient")
    # What is left of t = quotient * (t + 1); without the rounding of t + 1 where that matters.
    rest = k.fma(quotient * k.real(-1.0), t, t - quotient)
    return k.copy_sign(k.fma(rest, inverse, quotient), x)


def erf(k: Kernel, x: Expr) -> Expr:
    """Gauss error function."""
    return _erf_32(k, x) if k.bits == 32 else _erf_64(k, x)


def _erf_32(k: Kernel, x: Expr) -> Expr:
    """1 - erfc(|x|) from u - 1 for u = erfc(|x|), without cancellation where u is near 1."""
    x = k.let(x, "x")
    minus = k.let(k.copy_sign(x, k.real(-1.0)), "minus")
    limit = k.real(-ERF_IS_ONE[32])
    minus = k.let(Select(minus < limit, limit, minus), "minus")
    # Two short chains of operations run side by side, where one long one would wait.
    square = k.let(minus * minus, "square")
    even, odd = (k.polynomial(square, LOG_ERFC_32[first::2]) for first in (0, 1))
    ratio = k.fma(minus, odd, even)
    logarithm = k.let(k.fma(minus, ratio, minus), "logarithm")
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
