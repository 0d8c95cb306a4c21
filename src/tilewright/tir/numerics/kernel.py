"""What the expansions of mathematical functions are written with.

An expansion is an expression over additions, multiplications, fused multiply-adds, comparisons and
bit operations only, which every backend has for scalars and for vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Expr, Let, Select, Var
from tilewright.ir.op import Op
from tilewright.tir.op import reinterpret

# Adding it to a float of moderate size leaves the nearest integer in the low bits of the mantissa.
ROUNDING_SHIFT = {32: 1.5 * 2.0**23, 64: 1.5 * 2.0**52}
MANTISSA_BITS = {32: 23, 64: 52}
SUM_OF_INVERSE_BITS = 0x7EF311C3
EXPONENT_BIAS = {32: 127, 64: 1023}


class Kernel:
    """Collects the intermediate values of one expansion, each computed once.

    Args:
        dtype: float32 or float64, with any number of lanes: the dtype of the computation.
        scales_natively: whether `tir.ldexp` on such a value is cheap on the target.
        result_bits: of the dtype that the result is rounded to; those of `dtype` if not given.
    """

    def __init__(
        self, dtype: DType, scales_natively: bool = False, result_bits: int | None = None
    ) -> None:
        self.dtype = dtype
        self.bits = dtype.bits
        self.result_bits = result_bits or dtype.bits
        self.integer = DType(f"int{dtype.bits}").with_lanes(dtype.lanes)
        self.scales_natively = scales_natively
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
        """a * b + c with one rounding."""
        factor = b if isinstance(b, Expr) else self.real(b)
        addend = c if isinstance(c, Expr) else self.real(c)
        return Call(self.dtype, _FMA, (a, factor, addend))

    def polynomial(self, x: Expr, coefficients: Sequence[float]) -> Expr:
        """c0 + c1 x + c2 x**2 + ... by Horner's rule; `x` should be a variable."""
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

    def square_root(self, x: Expr) -> Expr:
        """The square root, correctly rounded."""
        return Call(self.dtype, _SQRT, (x,))

    def clamp(self, x: Expr, low: float, high: float) -> Expr:
        """x limited to [low, high]; NaN stays NaN."""
        x = self.let(x, "x")
        below = self.let(Select(x < self.real(low), self.real(low), x), "clamped")
        return self.let(Select(below > self.real(high), self.real(high), below), "clamped")

    def vanishing(self, x: Expr, low: float, high: float) -> tuple[Var, Expr]:
        """Whether x is below `low`; and x limited to `high`, or 0 if it is. NaN stays NaN."""
        x = self.let(x, "x")
        vanishes = self.let(x < self.real(low), "vanishes")
        above = self.let(Select(vanishes, self.real(0.0), x), "clamped")
        return vanishes, self.at_most(above, high)

    def at_most(self, x: Expr, high: float) -> Expr:
        """x limited to `high`; NaN stays NaN."""
        x = self.let(x, "x")
        return self.let(Select(x > self.real(high), self.real(high), x), "limited")

    def nearest(self, x: Expr, factor: float = 1.0) -> tuple[Var, Expr]:
        """The integer nearest to x * factor, as a float and as an integer (below 2**21 in size)."""
        shift = ROUNDING_SHIFT[self.bits]
        shifted = self.let(self.fma(x, factor, shift), "shifted")
        bits_of_shift = reinterpret(self.integer, self.real(shift))
        whole = reinterpret(self.integer, shifted) - bits_of_shift
        return self.let(shifted - self.real(shift), "n"), whole

    def rough_inverse(self, x: Expr) -> Expr:
        """1 / x for a normal x far from the limits of the range; in float32 within 1.4e-4 of it.

        For a quotient that is corrected by what is left. A division takes several times as long.
        """
        if self.bits == 64:
            return self.real(1.0) / x
        x = self.let(x, "x")
        # The sum of the bits of a number and of its inverse is nearly constant: within 5.1 %.
        bits = self.whole(SUM_OF_INVERSE_BITS) - reinterpret(self.integer, x)
        guess = self.let(reinterpret(self.dtype, bits), "guess")
        # The method of Halley cubes the error.
        error = self.let(self.fma(x * self.real(-1.0), guess, 1.0), "error")
        return self.fma(guess, self.fma(error, error, error), guess)

    def power_of_two(self, exponent: Expr) -> Expr:
        """2**exponent for an integer exponent in the range of normal numbers."""
        biased = exponent + self.whole(EXPONENT_BIAS[self.bits])
        return reinterpret(self.dtype, biased << self.whole(MANTISSA_BITS[self.bits]))

    def scale(self, x: Expr, exponent: Expr) -> Expr:
        """x * 2**exponent, also where the result overflows or is denormal (|exponent| < 2200)."""
        if self.scales_natively:
            return Call(self.dtype, _LDEXP, (x, exponent))
        whole = self.let(exponent, "exponent")
        # Two exact factors, because 2**exponent itself may not be a normal number.
        half = self.let(whole >> self.whole(1), "half")
        return x * self.power_of_two(half) * self.power_of_two(whole - half)


_FMA = Op.get("tir.fma")
_FABS = Op.get("tir.fabs")
_SQRT = Op.get("tir.sqrt")
_LDEXP = Op.get("tir.ldexp")
_COPYSIGN = Op.get("tir.copysign")
