"""Functions of two arguments."""

from __future__ import annotations

import math

from tilewright.ir.arithmetic import logical_and, logical_not, logical_or
from tilewright.ir.expr import Call, Expr, Select
from tilewright.ir.op import Op
from tilewright.tir.numerics.exponential import exp
from tilewright.tir.numerics.kernel import Kernel
from tilewright.tir.numerics.logarithm import log, log_in_parts


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
        return exp(k, y * log(k, x))
    high, low = log_in_parts(k, x)
    product = k.let(y * high, "product")
    product_low = k.fma(y, high, product * k.real(-1.0)) + y * low
    # Far outside of the range of exp, where the product may be infinite, it does not matter.
    inside = k.absolute(product) < k.real(800.0)
    return exp(k, product, precise=True, low=Select(inside, product_low, k.real(0.0)))


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
