"""exp and its relatives: reduction by powers of two (W. J. Cody and W. Waite, 1980), polynomial.

tanh and erf follow from exponentials; erf in float64 from an odd polynomial near 0.
"""

from __future__ import annotations

import math

from tilewright.ir.expr import Expr, Select
from tilewright.tir.numerics.coefficients import (
    ERF_64,
    ERF_TAIL_64,
    EXP_32,
    EXP_64,
    LOG_ERFC_32,
    SINH_64,
)
from tilewright.tir.numerics.kernel import EXPONENT_BIAS, MANTISSA_BITS, ROUNDING_SHIFT, Kernel
from tilewright.tir.op import reinterpret

LOG2_E = math.log2(math.e)
LOG_2 = math.log(2.0)
# log(2) in two parts; the product of the first one and a small integer is exact.
LOG_2_PARTS = {
    32: (0.693359375, -2.1219444005469058e-4),
    64: (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}
LOG10_2_PARTS = {
    32: (0.301025390625, 4.60503898119521e-06),
    64: (3.01029995663611771306e-01, 3.69423907715893078616e-13),
}
# Beyond these limits exp is 0 or infinite after rounding. Zeros are selected: a product that is too
# small for a normal number takes processors a hundred times as long as another one.
LIMITS = {32: (-105.0, 89.5), 64: (-747.0, 710.5)}
LIMITS_2 = {32: (-151.0, 129.0), 64: (-1078.0, 1025.0)}
LIMITS_10 = {32: (-46.0, 39.0), 64: (-325.0, 309.5)}


def exp_of_small(k: Kernel, r: Expr, precise: bool = False) -> Expr:
    """exp(r) for |r| <= log(2) / 2; within 0.6 ulp instead of 1.0 if `precise`."""
    r = k.let(r, "r")
    tail = k.let(k.polynomial(r, EXP_32 if k.bits == 32 else EXP_64), "tail")
    if not precise:
        return k.fma(r * r, tail, r) + k.real(1.0)
    # What the rounding of 1 + r loses goes back in with the small terms.
    head = k.let(r + k.real(1.0), "head")
    lost = (k.real(1.0) - head) + r
    return head + k.fma(r * r, tail, lost)


def exp(
    k: Kernel, x: Expr, *, precise: bool = False, power: int = 0, low: Expr | None = None
) -> Expr:
    """e**x * 2**power; float32: 1.0 ulp, or 0.6 if `precise`.

    With `low`, which is small beside x, it is e**(x + low).
    """
    vanishes, x = k.vanishing(x, *LIMITS[k.bits])
    high, rest = LOG_2_PARTS[k.bits]
    n, whole = k.nearest(x, LOG2_E)
    r = k.fma(n, -rest, k.fma(n, -high, x))
    if low is not None:
        r = r + low
    result = k.scale(exp_of_small(k, r, precise), whole + k.whole(power))
    return Select(vanishes, k.real(0.0), result)


def exp2(k: Kernel, x: Expr) -> Expr:
    """2**x."""
    vanishes, x = k.vanishing(x, *LIMITS_2[k.bits])
    n, whole = k.nearest(x)
    result = k.scale(exp_of_small(k, (x - n) * k.real(LOG_2)), whole)
    return Select(vanishes, k.real(0.0), result)


def exp10(k: Kernel, x: Expr) -> Expr:
    """10**x."""
    vanishes, x = k.vanishing(x, *LIMITS_10[k.bits])
    n, whole = k.nearest(x, math.log2(10.0))
    high, low = LOG10_2_PARTS[k.bits]
    r = k.fma(n, -low, k.fma(n, -high, x))
    result = k.scale(exp_of_small(k, r * k.real(math.log(10.0))), whole)
    return Select(vanishes, k.real(0.0), result)


def sigmoid(k: Kernel, x: Expr) -> Expr:
    """1 / (1 + exp(-x)), from exp(-|x|), which neither overflows nor loses the small results."""
    x = k.let(x, "x")
    one = k.real(1.0)
    negative = k.let(x < k.real(0.0), "negative")
    e = k.let(exp(k, k.absolute(x) * k.real(-1.0), precise=True), "e")
    sum_ = k.let(e + one, "sum")
    lost = (sum_ - one) - e
    quotient = k.let(Select(negative, e, one) / sum_, "quotient")
    # The exact divisor is `sum - lost`; 1 / sum is the quotient, or one minus it.
    inverse = Select(negative, one - quotient, quotient)
    return k.fma(quotient * lost, inverse, quotient)


def sinh(k: Kernel, x: Expr) -> Expr:
    """(exp(x) - exp(-x)) / 2; a polynomial near 0, where the difference would cancel."""
    x = k.let(x, "x")
    size = k.let(k.absolute(x), "size")
    square = k.let(x * x, "square")
    small = k.fma(square * x, k.polynomial(square, SINH_64), x)
    # exp(size) may overflow where the result does not.
    e = k.let(exp(k, size, power=-1), "e")
    large = e - k.real(0.25) / e
    return k.copy_sign(Select(size < k.real(1.0), small, large), x)


def cosh(k: Kernel, x: Expr) -> Expr:
    """(exp(x) + exp(-x)) / 2."""
    e = k.let(exp(k, k.absolute(x), power=-1), "e")
    return e + k.real(0.25) / e


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
