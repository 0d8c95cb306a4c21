"""exp and its relatives: reduction by powers of two (W. J. Cody and W. Waite, 1980), polynomial.

tanh follows from exponentials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tilewright.ir.expr import Expr, Not, Select, Var
from tilewright.tir.numerics.coefficients import (
    EXP_32,
    EXP_64,
    SINH_64,
)
from tilewright.tir.numerics.kernel import (
    EXPONENT_BIAS,
    MANTISSA_BITS,
    VANISHING_EXPONENT,
    Kernel,
)

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
# Beyond these limits exp is 0 or infinite after rounding.
LIMITS = {32: (-105.0, 89.5), 64: (-747.0, 710.5)}
LIMITS_2 = {32: (-151.0, 129.0), 64: (-1078.0, 1025.0)}
LIMITS_10 = {32: (-46.0, 39.0), 64: (-325.0, 309.5)}


def exp_minus_one(k: Kernel, r: Var, square: Var) -> Expr:
    """exp(r) - 1 for |r| <= log(2) / 2, from r and its square."""
    return k.fma(square, exp_tail(k, r, square), r)


def exp_tail(k: Kernel, r: Var, square: Var | None = None) -> Expr:
    """(exp(r) - 1 - r) / r**2 for |r| <= log(2) / 2, from r, and its square where operations that
    wait for each other cost more than one more of them."""
    return k.polynomial(r, EXP_32 if k.precision == 32 else EXP_64, square)


def one_minus_exp(k: Kernel, r: Var) -> Expr:
    """1 - exp(-r) for |r| <= log(2) / 2."""
    square = k.let(r * r, "square")
    coefficients = EXP_32 if k.precision == 32 else EXP_64
    tail = [(-1.0) ** (n + 1) * c for n, c in enumerate(coefficients)]
    return k.fma(square, k.polynomial(r, tail, square), r)


def reduced(k: Kernel, x: Expr, n: Expr) -> Expr:
    """x - n log(2)."""
    high, rest = LOG_2_PARTS[k.bits]
    return k.fma(n, -rest, k.fma(n, -high, x))


def minus_reduced(k: Kernel, x: Expr, n: Expr) -> Expr:
    """x + n log(2): minus what is left of -x, which saves a change of sign."""
    high, rest = LOG_2_PARTS[k.bits]
    return k.fma(n, rest, k.fma(n, high, x))


def exp(k: Kernel, x: Expr, *, power: int = 0, low: Expr | None = None) -> Expr:
    """e**x * 2**power; float32: 1.0 ulp.

    With `low`, which is small beside x, it is e**(x + low), and within 0.6 ulp.
    """

    def remainder(x: Expr, n: Expr) -> Expr:
        r = reduced(k, x, n)
        return r if low is None else r + low

    return _by_powers_of_two(k, x, LIMITS, LOG2_E, remainder, power, precise=low is not None)


def exp_nonpositive(k: Kernel, x: Expr) -> Expr:
    """e**x for x <= 0, where the result does not overflow: one factor has the whole exponent."""
    if k.has_avx512:
        return exp(k, x)
    limited = k.at_least(x, -VANISHING_EXPONENT[k.bits] / LOG2_E)
    n, bits = k.nearest(limited, LOG2_E, VANISHING_EXPONENT[k.bits])
    r = k.let(reduced(k, limited, n), "r")
    part = exp_minus_one(k, r, k.let(r * r, "square"))
    # So much larger that it is a normal number, or 0 where the result vanishes.
    power = k.power_of_two(bits)
    excess = VANISHING_EXPONENT[k.bits] - EXPONENT_BIAS[k.bits]
    return k.fma(part, power, power) * k.real(2.0**-excess)


def exp2(k: Kernel, x: Expr) -> Expr:
    """2**x."""
    return _by_powers_of_two(k, x, LIMITS_2, 1.0, lambda x, n: (x - n) * k.real(LOG_2))


def exp10(k: Kernel, x: Expr) -> Expr:
    """10**x."""
    high, low = LOG10_2_PARTS[k.bits]

    def remainder(x: Expr, n: Expr) -> Expr:
        return k.fma(n, -low, k.fma(n, -high, x)) * k.real(math.log(10.0))

    return _by_powers_of_two(k, x, LIMITS_10, math.log2(10.0), remainder)


def _by_powers_of_two(
    k: Kernel,
    x: Expr,
    limits: Mapping[int, tuple[float, float]],
    factor: float,
    remainder: Callable[[Expr, Expr], Expr],
    power: int = 0,
    *,
    precise: bool = False,
) -> Expr:
    """2**(x * factor + power).

    Args:
        limits: beyond which it is 0 or infinite, by the bits of the dtype.
        remainder: the natural logarithm of what is left of the result, from x and the integer
            nearest to x * factor.
        precise: whether what the rounding of 1 + r loses goes back in with the small terms.
    """
    vanishing, infinite = limits[k.bits]
    x = k.let(x, "x")
    if k.has_avx512:
        limited, bias = k.at_most(x, infinite), 0
    else:
        # Where the result vanishes, a factor is 0: a product that is too small for a normal number
        # takes some processors a hundred times as long as another one.
        limited = k.clamp(x, (-VANISHING_EXPONENT[k.bits] - power) / factor, infinite)
        bias = power + VANISHING_EXPONENT[k.bits]
    n, bits = k.nearest(limited, factor, bias)
    r = k.let(remainder(limited, n), "r")
    square = k.let(r * r, "square")
    # Where scaling is one operation, all others are multiplications.
    tail = exp_tail(k, r, None if k.has_avx512 else square)
    head = k.let(r + k.real(1.0), "head") if precise else k.real(1.0)
    part = k.fma(square, tail, (k.real(1.0) - head) + r if precise else r)
    if not k.has_avx512:
        return k.scale(head, part, bits)
    result = head + part if precise else k.fma(r, k.fma(r, tail, 1.0), 1.0)
    # Lanes where the result vanishes are left out, for the same reason; NaN is none of them.
    result = k.scale_natively(result, n + k.real(power) if power else n)
    return Select(Not(x < k.real(vanishing)), result, k.real(0.0))


# Where the sigmoid is 0 and 1 after rounding.
SIGMOID_LIMITS = {32: (-104.0, 17.5), 64: (-745.2, 37.5)}


def sigmoid(k: Kernel, x: Expr) -> Expr:
    """1 / (1 + exp(-x)), as s / (s + s exp(-x)) with a power of two s: no result is too small for
    that, and no exponential too large."""
    x = k.let(x, "x")
    scale = MANTISSA_BITS[k.bits] + 1
    x = k.clamp(x, *SIGMOID_LIMITS[k.bits])
    n, bits = k.nearest(x, -LOG2_E, EXPONENT_BIAS[k.bits] - scale)
    minus_part = one_minus_exp(k, k.let(minus_reduced(k, x, n), "r"))
    power = k.power_of_two(bits)
    s = k.real(2.0**-scale)
    sum_ = k.let(power + s, "sum")
    # What the rounding of the sum loses goes back in with the small terms.
    lost = (power - sum_) + s
    return s / (k.fma(minus_part * k.real(-1.0), power, lost) + sum_)


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


def tanh(k: Kernel, x: Expr) -> Expr:
    """Hyperbolic tangent: (1 - e) / (1 + e) with e = exp(-2 |x|), both from 1 - exp(-r) of what is
    left of the exponent, which loses nothing near 0."""
    x = k.let(x, "x")
    size = k.at_most(k.absolute(x), TANH_IS_ONE[k.bits])
    # Not from the double, which is computed at the same time.
    n, bits = k.nearest(size, -2.0 * LOG2_E, EXPONENT_BIAS[k.bits])
    double = size + size
    # Minus what is left of -2 |x|. n is above -28 in float32, where log(2) to 24 bits is enough.
    r = k.fma(n, LOG_2, double) if k.bits == 32 else minus_reduced(k, double, n)
    part = k.let(one_minus_exp(k, k.let(r, "r")), "part")
    power = k.power_of_two(bits)
    numerator = k.fma(part, power, k.real(1.0) - power)
    denominator = k.fma(part * k.real(-1.0), power, k.real(1.0) + power)
    return k.with_sign(numerator / denominator, x)
