"""What the expansions of mathematical functions are written with.

An expansion is an expression over additions, multiplications, fused multiply-adds, comparisons and
bit operations only, which every backend has for scalars and for vectors.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Expr, Let, Select, Var
from tilewright.ir.op import Op
from tilewright.tir.op import concat_vectors, reinterpret

# Adding it to a float of moderate size leaves the nearest integer in the low bits of the mantissa.
ROUNDING_SHIFT = {32: 1.5 * 2.0**23, 64: 1.5 * 2.0**52}
MANTISSA_BITS = {32: 23, 64: 52}
EXPONENT_BIAS = {32: 127, 64: 1023}
# 2**-VANISHING_EXPONENT is so small that its product with a number below 4 is 0 after rounding.
VANISHING_EXPONENT = {32: 153, 64: 1078}


class Kernel:
    """Collects the intermediate values of one expansion, each computed once.

    Args:
        dtype: float32 or float64, with any number of lanes: the dtype of the computation.
        has_avx512: whether `tir.ldexp` and `tir.lookup` are cheap on the target.
        result_bits: of the dtype that the result is rounded to; those of `dtype` if not given.
        fuses: whether `fma` rounds once, by an instruction or a function; otherwise it is two
            operations.

    Attributes:
        precision: bits of the dtype for which polynomials must be exact enough, 32 or 64.
    """

    def __init__(
        self,
        dtype: DType,
        has_avx512: bool = False,
        result_bits: int | None = None,
        fuses: bool = True,
    ) -> None:
        self.dtype = dtype
        self.bits = dtype.bits
        self.result_bits = result_bits or dtype.bits
        self.integer = DType(f"int{dtype.bits}").with_lanes(dtype.lanes)
        self.precision = max(32, self.result_bits)
        self.has_avx512 = has_avx512
        self.fuses = fuses
        self._bindings: list[tuple[Var, Expr]] = []

    def let(self, value: Expr, name: str = "t") -> Var:
        """A variable for `value`, which is then computed once."""
        if isinstance(value, Var):
            return value
        var = Var(name, value.dtype)
        self._bindings.append((var, value))
        return var

    def finish(self, result: Expr) -> Expr:
        """`result` inside of the bindings made by `let`."""
        for var, value in reversed(self._bindings):
            result = Let(var, value, result)
        return result

    def real(self, value: float) -> Expr:
        """A constant of the dtype of the computation."""
        return const(value, self.dtype)

    def whole(self, value: int) -> Expr:
        """A constant of the integer type of the same width."""
        return const(value, self.integer)

    def fma(self, a: Expr, b: Expr | float, c: Expr | float) -> Expr:
        """a * b + c with one rounding, or with two."""
        factor = b if isinstance(b, Expr) else self.real(b)
        addend = c if isinstance(c, Expr) else self.real(c)
        if not self.fuses:
            return a * factor + addend
        return Call(self.dtype, _FMA, (a, factor, addend))

    def polynomial(
        self, x: Expr, coefficients: Sequence[float], square: Expr | None = None
    ) -> Expr:
        """c0 + c1 x + c2 x**2 + ... by Horner's rule; `x` should be a variable.

        With the `square` of x, a variable, too, it is (c0 + c1 x) + (c2 + c3 x) x**2 + ...: as many
        operations, of which half as many wait for each other (G. Estrin, 1960).
        """
        if square is not None:
            pairs = [coefficients[n : n + 2] for n in range(0, len(coefficients), 2)]
            result = self.polynomial(x, pairs[-1])
            for pair in reversed(pairs[:-1]):
                result = self.fma(square, result, self.polynomial(x, pair))
            return result
        result = self.real(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, float(coefficient))
        return result

    def absolute(self, x: Expr) -> Expr:
        """|x|."""
        return Call(self.dtype, _FABS, (x,))

    def copy_sign(self, magnitude: Expr, sign: Expr) -> Expr:
        """`magnitude` with the sign of `sign`."""
        return Call(self.dtype, _COPYSIGN, (magnitude, sign))

    def with_sign(self, magnitude: Expr, sign: Expr) -> Expr:
        """`magnitude`, which has no sign, with that of `sign`: an operation less."""
        highest = self.whole(-(1 << (self.bits - 1)))
        bits = reinterpret(self.integer, magnitude) | (reinterpret(self.integer, sign) & highest)
        return reinterpret(self.dtype, bits)

    def square_root(self, x: Expr) -> Expr:
        """The square root, correctly rounded."""
        return Call(self.dtype, _SQRT, (x,))

    def clamp(self, x: Expr, low: float, high: float) -> Expr:
        """x limited to [low, high]; NaN stays NaN."""
        return self.at_most(self.at_least(x, low), high)

    def at_least(self, x: Expr, low: float) -> Expr:
        """x, or `low` if that is larger; NaN stays NaN."""
        x = self.let(x, "x")
        return self.let(Select(x < self.real(low), self.real(low), x), "limited")

    def at_most(self, x: Expr, high: float) -> Expr:
        """x, or `high` if that is smaller; NaN stays NaN."""
        x = self.let(x, "x")
        return self.let(Select(x > self.real(high), self.real(high), x), "limited")

    def nearest(self, x: Expr, factor: float = 1.0, bias: int = 0) -> tuple[Var, Expr]:
        """The integer n nearest to x * factor, as a float; and an integer whose low bits are those
        of n + bias, and the same for all x above them (n and n + bias are below 2**21 in size)."""
        shift = ROUNDING_SHIFT[self.bits] + bias
        shifted = self.let(self.fma(x, factor, shift), "shifted")
        return self.let(shifted - self.real(shift), "n"), reinterpret(self.integer, shifted)

    def nearest_eighth(self, x: Expr) -> tuple[Var, Expr]:
        """The multiple of 1/8 nearest to x, below 2**18 in size; and an integer whose low bits are
        those of eight times as much."""
        shift = self.real(ROUNDING_SHIFT[self.bits] / 8)
        shifted = self.let(x + shift, "shifted")
        return self.let(shifted - shift, "n"), reinterpret(self.integer, shifted)

    def without_shift(self, bits: Expr) -> Expr:
        """The integer n itself, from what `nearest` returns without a bias."""
        return bits - reinterpret(self.integer, self.real(ROUNDING_SHIFT[self.bits]))

    def power_of_two(self, biased: Expr) -> Var:
        """2**n from an integer whose low bits are those of n + `EXPONENT_BIAS`, which is at least 0
        (then the power is 0) and at most that of infinity."""
        bits = biased << self.whole(MANTISSA_BITS[self.bits])
        return self.let(reinterpret(self.dtype, bits), "power")

    def scale(self, head: Expr, part: Expr, biased: Expr) -> Expr:
        """(head + part) * 2**n, also where the result overflows or is denormal.

        Args:
            head: between 1/2 and 2.
            part: a smaller addend.
            biased: an integer whose low bits are those of n + `VANISHING_EXPONENT`, which is at
                least 0: there the result is 0.
        """
        # Two factors, because 2**n itself may not be a normal number. Their exponents make the sum;
        # the first one has so much more that the second one is 0 where the result vanishes.
        biased = self.let(biased, "biased")
        shift = self.whole(MANTISSA_BITS[self.bits])
        more = 2 * EXPONENT_BIAS[self.bits] - VANISHING_EXPONENT[self.bits]
        half = self.let((biased >> self.whole(1)) << shift, "half")
        larger = half + self.whole(more << MANTISSA_BITS[self.bits])
        first = self.let(reinterpret(self.dtype, larger), "first")
        second = reinterpret(self.dtype, (biased << shift) - half)
        return self.fma(part, first, head * first) * second

    def lookup(self, index: Expr, table: Sequence[float]) -> Expr:
        """The elements of a table of 32 numbers that the low bits of integers are the places of."""
        return Call(self.dtype, _LOOKUP, (index, _constants(tuple(table), self.dtype.element)))

    def scale_natively(self, x: Expr, n: Expr) -> Expr:
        """x * 2**n for a whole number n of the same dtype, also where the result overflows or is
        denormal."""
        return Call(self.dtype, _LDEXP, (x, n))


@functools.cache
def _constants(values: tuple[float, ...], dtype: DType) -> Expr:
    return concat_vectors(*(const(value, dtype) for value in values))


_FMA = Op.get("tir.fma")
_LOOKUP = Op.get("tir.lookup")
_FABS = Op.get("tir.fabs")
_SQRT = Op.get("tir.sqrt")
_LDEXP = Op.get("tir.ldexp")
_COPYSIGN = Op.get("tir.copysign")
