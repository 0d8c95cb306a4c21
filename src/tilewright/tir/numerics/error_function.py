"""erf: from a table of polynomials where tables are looked up fast, by exponentials elsewhere."""

from __future__ import annotations

from tilewright.ir.expr import EQ, Expr, Select
from tilewright.tir.numerics.coefficients import ERF_64, ERF_TABLE_32, ERF_TAIL_64, LOG_ERFC_32
from tilewright.tir.numerics.exponential import LOG2_E, LOG_2, exp, exp_minus_one
from tilewright.tir.numerics.kernel import EXPONENT_BIAS, Kernel

# Where the function is 1 after rounding.
IS_ONE = {32: 3.95, 64: 5.95}
# The largest argument whose nearest multiple of 1/8 is in the table.
END_OF_TABLE_32 = 3.9374998


def erf(k: Kernel, x: Expr) -> Expr:
    """Gauss error function."""
    if k.precision == 64:
        return _in_double(k, x)
    return _by_table(k, x) if k.has_avx512 else _by_exponential(k, x)


def _by_table(k: Kernel, x: Expr) -> Expr:
    """A polynomial in the distance of |x| to the nearest multiple of 1/8, which has its own."""
    x = k.let(x, "x")
    size = k.at_most(k.absolute(x), END_OF_TABLE_32)
    n, bits = k.nearest_eighth(size)
    t = k.let(size - n, "t")
    result = k.lookup(bits, ERF_TABLE_32[-1])
    for coefficients in reversed(ERF_TABLE_32[1:-1]):
        result = k.fma(result, t, k.lookup(bits, coefficients))
    # Near 0 it is t + (P(t) - t): the slope, rounded to float32, would cost a unit.
    start = Select(EQ(n, k.real(0.0)), t, k.lookup(bits, ERF_TABLE_32[0]))
    return k.with_sign(k.fma(result, t, start), x)


def _by_exponential(k: Kernel, x: Expr) -> Expr:
    """1 - erfc(|x|) from u - 1 for u = erfc(|x|), without cancellation where u is near 1."""
    x = k.let(x, "x")
    minus = k.let(k.copy_sign(x, k.real(-1.0)), "minus")
    limit = k.real(-IS_ONE[32])
    minus = k.let(Select(minus < limit, limit, minus), "minus")
    # Two short chains of operations run side by side, where one long one would wait.
    square = k.let(minus * minus, "square")
    even, odd = (k.polynomial(square, LOG_ERFC_32[first::2]) for first in (0, 1))
    ratio = k.fma(minus, odd, even)
    logarithm = k.let(k.fma(minus, ratio, minus), "logarithm")
    n, bits = k.nearest(logarithm, LOG2_E, EXPONENT_BIAS[k.bits])
    # n is above -26, where log(2) to 24 bits is enough for what it adds to 1.
    r = k.let(k.fma(n, -LOG_2, logarithm), "r")
    part = exp_minus_one(k, r, k.let(r * r, "square"))
    power = k.power_of_two(bits)
    result = k.fma(power * k.real(-1.0), part, k.real(1.0) - power)
    return k.copy_sign(result, x)


def _in_double(k: Kernel, x: Expr) -> Expr:
    """1 - exp(-P(|x|)) away from 0."""
    x = k.let(x, "x")
    square = k.let(x * x, "square")
    small = k.fma(x, k.polynomial(square, ERF_64), x)
    size = k.clamp(k.absolute(x), 0.0, IS_ONE[64])
    large = k.real(1.0) - exp(k, size * k.polynomial(size, ERF_TAIL_64) * k.real(-1.0))
    return k.copy_sign(Select(k.absolute(x) < k.real(1.0), small, large), x)
