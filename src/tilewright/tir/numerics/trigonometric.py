"""sin, cos and tan, and their inverses."""

from __future__ import annotations

import math
from collections.abc import Callable

from tilewright.ir.arithmetic import logical_not, logical_or
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Expr, Select, Var
from tilewright.ir.op import Op
from tilewright.tir.numerics.coefficients import (
    ASIN_32,
    ASIN_64,
    ATAN_32,
    ATAN_64,
    COS_32,
    COS_64,
    SIN_32,
    SIN_64,
)
from tilewright.tir.numerics.kernel import Kernel
from tilewright.tir.op import any_lane, if_then_else, reinterpret, shuffle

# pi / 2 in parts of full precision each; their sum is right to three times that.
HALF_PI_PARTS = {
    32: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    64: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
# In parts of which the first two have so few bits that their products with an integer below 2**30
# are exact in float64.
SHORT_HALF_PI_PARTS = (1.570796251296997, 7.549789415861596e-08, 5.390302858158119e-15)
# Up to here the reduction by parts is exact enough; beyond it another way is taken.
REDUCTION_LIMIT = {32: 2.0**17, 64: 2.0**30}

# The bits of 2 / pi after the point, 32 in each word, after one word of zeros.
TWO_OVER_PI = (
    0x00000000, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB,
)  # fmt: skip


def reduce_by_parts(k: Kernel, x: Var) -> tuple[Var, Expr]:
    """(r, q) with x = r + q * pi / 2 and |r| <= pi / 4 (W. J. Cody and W. Waite, 1980)."""
    n, quadrant = k.nearest(x, 2.0 / math.pi)
    r: Expr = x
    for part in HALF_PI_PARTS[k.bits] if k.fuses else SHORT_HALF_PI_PARTS:
        r = k.fma(n, -part, r)
    return k.let(r, "r"), quadrant


def reduce_huge_32(k: Kernel, x: Var) -> tuple[Expr, Expr]:
    """(r, q) as `reduce_by_parts`, for a finite float32 of any size (M. Payne, R. Hanek, 1983).

    The 24-bit mantissa is multiplied with those 96 bits of 2 / pi that decide the quadrant and the
    fraction.
    """
    lanes = k.dtype.lanes
    wide, signed, double = (
        DType(name).with_lanes(lanes) for name in ("uint64", "int64", "float64")
    )
    bits = k.let(reinterpret(k.integer, x), "bits")
    exponent = ((bits >> k.whole(23)) & k.whole(255)) - k.whole(150)
    mantissa = k.let(cast(wide, (bits & k.whole(0x7FFFFF)) | k.whole(0x800000)), "mantissa")
    position = k.let(exponent + k.whole(30), "position")
    index = k.let(position >> k.whole(5), "index")
    offset = k.let(cast(wide, position & k.whole(31)), "offset")

    def word(number: int) -> Expr:
        """Word `index + number` of the table."""
        chosen: Expr = const(TWO_OVER_PI[number], wide)
        for step in range(1, 5):
            entry = const(TWO_OVER_PI[step + number], wide)
            chosen = Select(index.equal(k.whole(step)), entry, chosen)
        return k.let(chosen, "word")

    words = [word(number) for number in range(4)]
    low_half = const(0xFFFFFFFF, wide)

    def window(number: int) -> Expr:
        pair = (words[number] << const(32, wide)) | words[number + 1]
        return k.let(((pair << offset) >> const(32, wide)) & low_half, "window")

    high, middle, low = window(0), window(1), window(2)
    third = mantissa * low
    second = k.let(mantissa * middle + (third >> const(32, wide)), "second")
    first = mantissa * high + (second >> const(32, wide))
    product = k.let((first << const(32, wide)) | (second & low_half), "product")
    rounded = (product + const(1 << 61, wide)) >> const(62, wide)
    quadrant = k.let(rounded, "quadrant")
    fraction = reinterpret(signed, product - (quadrant << const(62, wide)))
    r = cast(k.dtype, cast(double, fraction) * const(math.pi / 2 * 2.0**-62, double))
    negative = k.let(bits < k.whole(0), "negative")
    whole = cast(k.integer, reinterpret(signed, quadrant))
    return (
        Select(negative, r * k.real(-1.0), r),
        Select(negative, k.whole(0) - whole, whole),
    )


def sine_and_cosine(k: Kernel, r: Var) -> tuple[Expr, Expr]:
    """(sin(r), cos(r)) for |r| <= pi / 4."""
    z = k.let(r * r, "z")
    sine = k.fma(z * r, k.polynomial(z, SIN_32 if k.precision == 32 else SIN_64), r)
    tail = k.polynomial(z, COS_32 if k.precision == 32 else COS_64)
    half = k.let(z * k.real(0.5), "half")
    head = k.let(k.real(1.0) - half, "head")
    # 1 - half is rounded; what it lost goes back in with the small terms.
    lost = (k.real(1.0) - head) - half
    cosine = head + k.fma(z * z, tail, lost)
    return k.let(sine, "sine"), k.let(cosine, "cosine")


def sin_of_quadrant(k: Kernel, r: Var, quadrant: Expr) -> Expr:
    """sin(r + quadrant * pi / 2)."""
    sine, cosine = sine_and_cosine(k, r)
    q = k.let(quadrant, "q")
    odd = (q & k.whole(1)).equal(k.whole(1))
    value = k.let(Select(odd, cosine, sine), "value")
    return Select((q & k.whole(2)).equal(k.whole(2)), value * k.real(-1.0), value)


def tan_of_quadrant(k: Kernel, r: Var, quadrant: Expr) -> Expr:
    """tan(r + quadrant * pi / 2)."""
    sine, cosine = sine_and_cosine(k, r)
    odd = k.let((quadrant & k.whole(1)).equal(k.whole(1)), "odd")
    top = Select(odd, cosine * k.real(-1.0), sine)
    return top / Select(odd, sine, cosine)


def _with_huge_arguments(k: Kernel, x: Var, name: str, fast: Expr) -> Expr:
    """`fast` where all lanes are small enough for it; otherwise a slower way for all lanes."""
    size = k.absolute(x)
    within = logical_or(size <= k.real(REDUCTION_LIMIT[k.bits]), logical_not(x.equal(x)))
    huge = any_lane(logical_not(within))
    slow = Kernel(k.dtype)
    if k.bits == 64:
        return if_then_else(huge, _by_library(k, x, name), fast)
    r, quadrant = reduce_huge_32(slow, x)
    r = slow.let(r, "r")
    if name == "tan":
        value = tan_of_quadrant(slow, r, quadrant)
    else:
        value = sin_of_quadrant(slow, r, quadrant + slow.whole(int(name == "cos")))
    # The table holds for large arguments; small ones keep the fast way, lane by lane.
    finite = size < k.real(math.inf)
    chosen = Select(within, fast, Select(finite, value, k.real(math.nan)))
    return if_then_else(huge, slow.finish(chosen), fast)


def _by_library(k: Kernel, x: Var, name: str) -> Expr:
    """The C library's function for each lane: only for float64 beyond 2**30."""
    op = Op.get("tir.call_pure_extern")
    scalar = k.dtype.element

    def call(lane: Expr) -> Expr:
        return Call(scalar, op, (const(name), lane))

    if k.dtype.lanes == 1:
        return call(x)
    lanes = range(k.dtype.lanes)
    return shuffle([call(shuffle([x], [lane])) for lane in lanes], list(lanes))


def _odd_function(
    k: Kernel, x: Expr, name: str, of_quadrant: Callable[[Kernel, Var, Expr], Expr]
) -> Expr:
    """A function that keeps zeros, with their sign: adding up parts would lose that of -0.0."""
    x = k.let(x, "x")
    fast = k.let(of_quadrant(k, *reduce_by_parts(k, x)), "fast")
    result = _with_huge_arguments(k, x, name, fast)
    return Select(x.equal(k.real(0.0)), x, result)


def sin(k: Kernel, x: Expr) -> Expr:
    """Sine of an angle in radians."""
    return _odd_function(k, x, "sin", sin_of_quadrant)


def cos(k: Kernel, x: Expr) -> Expr:
    """Cosine of an angle in radians."""
    x = k.let(x, "x")
    r, quadrant = reduce_by_parts(k, x)
    fast = k.let(sin_of_quadrant(k, r, quadrant + k.whole(1)), "fast")
    return _with_huge_arguments(k, x, "cos", fast)


def tan(k: Kernel, x: Expr) -> Expr:
    """Tangent of an angle in radians."""
    return _odd_function(k, x, "tan", tan_of_quadrant)


def atan_of_unit(k: Kernel, x: Expr) -> Expr:
    """atan(x) for |x| <= 1."""
    x = k.let(x, "x")
    z = k.let(x * x, "z")
    return k.fma(z * x, k.polynomial(z, ATAN_32 if k.precision == 32 else ATAN_64), x)


def atan(k: Kernel, x: Expr) -> Expr:
    """Inverse tangent: pi / 2 - atan(1 / x) beyond 1."""
    x = k.let(x, "x")
    size = k.let(k.absolute(x), "size")
    outside = k.let(size > k.real(1.0), "outside")
    inner = atan_of_unit(k, Select(outside, k.real(-1.0) / size, size))
    high, low, _ = HALF_PI_PARTS[k.bits]
    shifted = (inner + k.real(low)) + k.real(high)
    inner = k.let(inner, "inner")
    return k.copy_sign(Select(outside, shifted, inner), x)


def atan2(k: Kernel, y: Expr, x: Expr) -> Expr:
    """Angle of the point (x, y), with the C standard's values for zeros and infinities."""
    y, x = k.let(y, "y"), k.let(x, "x")
    height, width = k.let(k.absolute(y), "height"), k.let(k.absolute(x), "width")
    steep = k.let(width < height, "steep")
    short = k.let(Select(steep, width, height), "short")
    long = k.let(Select(steep, height, width), "long")
    # Infinity divided by infinity is 1 here; where the longer is 0, so is the shorter, or NaN.
    ratio = Select(short.equal(long), k.real(1.0), short / long)
    angle = k.let(atan_of_unit(k, Select(long.equal(k.real(0.0)), short, ratio)), "angle")
    angle = k.let(Select(steep, k.real(math.pi / 2) - angle, angle), "angle")
    sign = reinterpret(k.integer, x) < k.whole(0)
    return k.copy_sign(Select(sign, k.real(math.pi) - angle, angle), y)


def _asin_tail(k: Kernel, z: Var, x: Expr) -> Expr:
    """asin(x) - x for x**2 = z <= 1/4."""
    return z * x * k.polynomial(z, ASIN_32 if k.precision == 32 else ASIN_64)


def asin(k: Kernel, x: Expr) -> Expr:
    """Inverse sine: pi / 2 - 2 asin(sqrt((1 - x) / 2)) beyond 1/2."""
    x = k.let(x, "x")
    size = k.let(k.absolute(x), "size")
    outside = k.let(size > k.real(0.5), "outside")
    z = k.let(Select(outside, (k.real(1.0) - size) * k.real(0.5), size * size), "z")
    root = k.let(Select(outside, k.square_root(z), size), "root")
    value = k.let(root + _asin_tail(k, z, root), "value")
    high, low, _ = HALF_PI_PARTS[k.bits]
    far = k.real(high) - (value + value - k.real(low))
    return k.copy_sign(Select(outside, far, value), x)


def acos(k: Kernel, x: Expr) -> Expr:
    """Inverse cosine, without cancellation near 1."""
    x = k.let(x, "x")
    size = k.let(k.absolute(x), "size")
    outside = k.let(size > k.real(0.5), "outside")
    z = k.let(Select(outside, (k.real(1.0) - size) * k.real(0.5), x * x), "z")
    root = k.let(Select(outside, k.square_root(z), x), "root")
    value = k.let(root + _asin_tail(k, z, root), "value")
    high, low, _ = HALF_PI_PARTS[k.bits]
    near = k.real(high) - (value - k.real(low))
    double = k.let(value + value, "double")
    negative = k.real(2 * high) - (double - k.real(2 * low))
    return Select(outside, Select(x < k.real(0.0), negative, double), near)
