"""Logarithms: the exponent is split off, a polynomial does the mantissa. Powers use them."""

from __future__ import annotations

import math

from tilewright.ir.arithmetic import logical_and, logical_not, logical_or
from tilewright.ir.convert import cast
from tilewright.ir.expr import Call, Expr, Select, Var
from tilewright.ir.op import Op
from tilewright.tir.numerics.coefficients import LOG_32, LOG_64, LOG_IN_PARTS_64
from tilewright.tir.numerics.exponential import LOG10_2_PARTS, LOG_2_PARTS, exp
from tilewright.tir.numerics.kernel import MANTISSA_BITS, Kernel
from tilewright.tir.op import reinterpret

SMALLEST_NORMAL = {32: 2.0**-126, 64: 2.0**-1022}
THIRD_IN_PARTS = (1 / 3, 2.0**-54 / 3)
ROOT_HALF_BITS = {32: 0x3F3504F3, 64: 0x3FE6A09E667F3BCD}


def split(k: Kernel, x: Expr) -> tuple[Var, Var]:
    """(e, m - 1) with x = m * 2**e and sqrt(1/2) <= m < sqrt(2), for positive finite x."""
    mantissa = MANTISSA_BITS[k.bits]
    tiny = x < k.real(SMALLEST_NORMAL[k.bits])
    normal = Select(tiny, x * k.real(2.0 ** (mantissa + 1)), x)
    bits = k.let(reinterpret(k.integer, normal), "bits")
    exponent = k.let((bits - k.whole(ROOT_HALF_BITS[k.bits])) >> k.whole(mantissa), "exponent")
    m = reinterpret(k.dtype, bits - (exponent << k.whole(mantissa)))
    shift = Select(tiny, k.real(-float(mantissa + 1)), k.real(0.0))
    return k.let(_to_float(k, exponent) + shift, "e"), k.let(m - k.real(1.0), "f")


def _to_float(k: Kernel, value: Expr) -> Expr:
    # Small integers convert through the low bits of a float everywhere; int64 -> float64 vectors
    # would need AVX-512.
    if k.bits == 32:
        return cast(k.dtype, value)
    shift = 1.5 * 2.0**52
    shifted = value + reinterpret(k.integer, k.real(shift))
    return reinterpret(k.dtype, shifted) - k.real(shift)


def mantissa_terms(k: Kernel, f: Var, low: Expr | None, precision: int) -> Expr:
    """log(1 + f) - f, plus `low`: the small terms, added to the large one last."""
    square = k.let(f * f, "square")
    if precision == 32:
        tail = f * square * k.polynomial(f, LOG_32)
        if low is not None:
            tail = tail + low
        return k.fma(square, -0.5, tail)
    s = k.let(f / (f + k.real(2.0)), "s")
    z = k.let(s * s, "z")
    half = k.let(square * k.real(0.5), "half")
    tail = s * k.fma(z, k.polynomial(z, LOG_64), half)
    if low is not None:
        tail = tail + low
    return tail - half


def with_special_cases(k: Kernel, x: Expr, result: Expr) -> Expr:
    """The logarithm of 0, of negative numbers, of infinity and of NaN."""
    zero, infinity = k.real(0.0), k.real(math.inf)
    outside = Select(x < zero, k.real(math.nan), x)
    special = Select(x.equal(zero), k.real(-math.inf), outside)
    return Select(logical_and(x > zero, x < infinity), result, special)


def log(k: Kernel, x: Expr, precision: int | None = None) -> Expr:
    """Natural logarithm, exact enough for a dtype of `precision` bits, or for the result."""
    x = k.let(x, "x")
    e, f = split(k, x)
    high, low = LOG_2_PARTS[k.bits]
    result = f + mantissa_terms(k, f, e * k.real(low), precision or k.precision)
    return with_special_cases(k, x, k.fma(e, high, result))


def log_in_parts(k: Kernel, x: Expr) -> tuple[Var, Var]:
    """The natural logarithm as a sum of two float64, which together have 15 bits more than one.

    It is e log(2) + 2 (s + s**3 / 3 + s**5 Q(s**2)) with s = f / (2 + f): every term that is not
    small is kept with what its rounding has lost. Of 0 and of infinity the first part is infinite;
    the second then has no meaning.
    """
    x = k.let(x, "x")
    e, f = split(k, x)
    divisor = k.let(f + k.real(2.0), "divisor")
    divisor_low = f - (divisor - k.real(2.0))
    inverse = k.let(k.real(1.0) / divisor, "inverse")
    s = k.let(f * inverse, "s")
    negative = k.let(s * k.real(-1.0), "negative")
    s_low = k.let(k.fma(negative, divisor_low, k.fma(negative, divisor, f)) * inverse, "s_low")
    z = k.let(s * s, "z")
    z_low = k.let(k.fma(s, s, z * k.real(-1.0)) + (s + s) * s_low, "z_low")
    tail = k.let(z * k.polynomial(z, LOG_IN_PARTS_64), "tail")
    third, third_low = THIRD_IN_PARTS
    factor = k.let(tail + k.real(third), "factor")
    factor_low = (k.real(third) - factor) + tail + k.real(third_low)
    square, square_low = _product(k, z, z_low, factor, k.let(factor_low, "factor_low"))
    cube, cube_low = _product(k, s, s_low, square, square_low)
    half = k.let(s + cube, "half")
    half_low = (s - half) + cube + (s_low + cube_low)
    mantissa = k.let(half + half, "mantissa")
    big, small = LOG_2_PARTS[64]
    exponent = k.let(e * k.real(big), "exponent")
    high = k.let(exponent + mantissa, "high")
    low = (exponent - high) + mantissa + k.fma(half_low, 2.0, e * k.real(small))
    return k.let(with_special_cases(k, x, high), "log"), k.let(low, "log_low")


def _product(k: Kernel, a: Var, a_low: Var, b: Var, b_low: Var) -> tuple[Var, Var]:
    """(a + a_low) * (b + b_low), nearly exact, in two parts."""
    high = k.let(a * b, "high")
    low = k.fma(a, b, high * k.real(-1.0)) + k.fma(a, b_low, a_low * b)
    return high, k.let(low, "low")


def log2(k: Kernel, x: Expr) -> Expr:
    """Logarithm to base 2; exact for powers of two."""
    x = k.let(x, "x")
    e, f = split(k, x)
    natural = f + mantissa_terms(k, f, None, k.precision)
    return with_special_cases(k, x, k.fma(natural, math.log2(math.e), e))


def log10(k: Kernel, x: Expr) -> Expr:
    """Logarithm to base 10."""
    x = k.let(x, "x")
    e, f = split(k, x)
    high, low = LOG10_2_PARTS[k.bits]
    natural = f + mantissa_terms(k, f, None, k.precision)
    result = k.fma(natural, math.log10(math.e), e * k.real(low))
    return with_special_cases(k, x, k.fma(e, high, result))


def log1p(k: Kernel, x: Expr) -> Expr:
    """log(1 + x), the rounding of 1 + x corrected by the ratio x / ((1 + x) - 1) (W. Kahan)."""
    x = k.let(x, "x")
    u = k.let(x + k.real(1.0), "u")
    # With u = 1 the ratio would be 0 / 0, and for an infinite u the correction has no meaning.
    difference = k.let(u - k.real(1.0), "difference")
    plain = k.let(log(k, u), "plain")
    corrected = plain * (x / difference)
    result = Select(u < k.real(math.inf), corrected, plain)
    return Select(difference.equal(k.real(0.0)), x, result)


def asinh(k: Kernel, x: Expr) -> Expr:
    """Inverse hyperbolic sine: sign(x) log1p(|x| + x**2 / (1 + sqrt(1 + x**2)))."""
    x = k.let(x, "x")
    size = k.let(k.absolute(x), "size")
    square = k.let(size * size, "square")
    one = k.real(1.0)
    argument = size + square / (k.square_root(square + one) + one)
    # The square overflows long before the result does.
    huge = log(k, size) + k.real(math.log(2.0))
    limit = k.real(1e150 if k.bits == 64 else 1e18)
    result = Select(size < limit, log1p(k, argument), huge)
    return k.copy_sign(result, x)


def acosh(k: Kernel, x: Expr) -> Expr:
    """Inverse hyperbolic cosine: log1p(t + sqrt(2 t + t**2)) with t = x - 1."""
    x = k.let(x, "x")
    t = k.let(x - k.real(1.0), "t")
    near = log1p(k, t + k.square_root(k.fma(t, t, t + t)))
    limit = k.real(1e150 if k.bits == 64 else 1e18)
    result = Select(x > limit, log(k, x) + k.real(math.log(2.0)), near)
    return Select(x < k.real(1.0), k.real(math.nan), result)


def atanh(k: Kernel, x: Expr) -> Expr:
    """Inverse hyperbolic tangent: log1p(2 |x| / (1 - |x|)) / 2 with the sign of x."""
    x = k.let(x, "x")
    size = k.let(k.absolute(x), "size")
    inner = log1p(k, (size + size) / (k.real(1.0) - size))
    return k.copy_sign(inner * k.real(0.5), x)


def floor(k: Kernel, x: Expr) -> Expr:
    """The largest whole number that is not above x."""
    return Call(k.dtype, Op.get("tir.floor"), (x,))


def power(k: Kernel, x: Expr, y: Expr) -> Expr:
    """x**y = exp(y log |x|), with the C standard's special cases.

    The error of the logarithm is multiplied by the size of the exponent. So a float64 power takes a
    logarithm in two parts; a float32 power is computed in float64, where one part will do.
    """
    x, y = k.let(x, "x"), k.let(y, "y")
    zero, one = k.real(0.0), k.real(1.0)
    size = k.let(k.absolute(x), "size")
    magnitude = _power_of_positive(k, size, y)
    # 1 to any power is 1, and so is anything to the power 0; also for NaN and infinity.
    is_one = logical_or(y.equal(zero), x.equal(one))
    minus_one = logical_and(size.equal(one), k.absolute(y).equal(k.real(math.inf)))
    magnitude = k.let(Select(logical_or(is_one, minus_one), one, magnitude), "magnitude")
    half = k.let(y * k.real(0.5), "half")
    whole = k.let(floor(k, y).equal(y), "whole")
    odd = logical_and(whole, logical_not(floor(k, half).equal(half)))
    signed = Select(odd, k.copy_sign(magnitude, x), magnitude)
    infinite = size.equal(k.real(math.inf))
    # A negative finite base needs a whole exponent.
    undefined = logical_and(logical_and(x < zero, logical_not(whole)), logical_not(infinite))
    return Select(undefined, k.real(math.nan), signed)


def _power_of_positive(k: Kernel, x: Expr, y: Expr) -> Expr:
    if k.result_bits < 64:
        return exp(k, y * log(k, x, precision=k.bits))
    high, low = log_in_parts(k, x)
    product = k.let(y * high, "product")
    product_low = k.fma(y, high, product * k.real(-1.0)) + y * low
    # Far outside of the range of exp, where the product may be infinite, it does not matter.
    inside = k.absolute(product) < k.real(800.0)
    return exp(k, product, low=Select(inside, product_low, k.real(0.0)))


def hypot(k: Kernel, x: Expr, y: Expr) -> Expr:
    """sqrt(x**2 + y**2), scaled so that the squares neither overflow nor vanish."""
    x, y = k.let(k.absolute(x), "x"), k.let(k.absolute(y), "y")
    smaller = k.let(Select(x < y, x, y), "smaller")
    larger = k.let(Select(x < y, y, x), "larger")
    ratio = k.let(smaller / larger, "ratio")
    value = larger * k.square_root(k.fma(ratio, ratio, 1.0))
    infinity = k.real(math.inf)
    infinite = logical_or(x.equal(infinity), y.equal(infinity))
    # Where the larger is 0, the smaller is 0 too, or NaN.
    value = Select(larger.equal(k.real(0.0)), smaller, value)
    return Select(infinite, infinity, value)
