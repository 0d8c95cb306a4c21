"""exp and its relatives: reduction by powers of two (W. J. Cody and W. Waite, 1980), polynomial."""

from __future__ import annotations

import math

from tilewright.ir.expr import Expr, Select
from tilewright.tir.numerics.coefficients import EXP_32, EXP_64, SINH_64
from tilewright.tir.numerics.kernel import Kernel

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
