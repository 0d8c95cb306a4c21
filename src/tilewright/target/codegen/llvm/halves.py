"""float16 and bfloat16: 16-bit integers in memory, rounded floats in registers."""

from __future__ import annotations

from tilewright.ir.dtype import DType
from tilewright.target.codegen.llvm.builder import Builder
from tilewright.target.codegen.llvm.types import HALVES, float_constant, splat, value_type
from tilewright.target.target import Target


class Halves:
    """Writes conversions of the half types.

    Where the target has no instructions for float16, the bits are computed: a libm of some
    platforms lacks the functions that LLVM would call.
    """

    def __init__(self, builder: Builder, target: Target) -> None:
        self._pure, self._target = builder.pure, target
        self._has_masks = "avx512bw" in target.features
        self._bits_of: dict[tuple[str, str], str] = {}

    def rounded(self, value: str, dtype: DType) -> str:
        """A result of float arithmetic, rounded to `dtype`."""
        if dtype.element not in HALVES:
            return value
        return self.widened(self.narrowed(value, dtype), dtype)

    def widened(self, bits: str, dtype: DType) -> str:
        """The float value of the 16 bits of a half."""
        value = self._widened(bits, dtype)
        self._bits_of[value, str(dtype)] = bits
        return value

    def narrowed(self, value: str, dtype: DType) -> str:
        """The 16 bits of the half nearest to a float value; ties go to even.

        Values that come from memory or were rounded before are not rounded again.
        """
        known = self._bits_of.get((value, str(dtype)))
        return self._narrowed(value, dtype) if known is None else known

    def _widened(self, bits: str, dtype: DType) -> str:
        short, word, wide, half = self._types(dtype)
        if dtype.element == "bfloat16":
            extended = self._pure(f"zext {short} {bits} to {word}", bits)
            shifted = self._pure(f"shl {word} {extended}, {self._splat(16, dtype)}", extended)
            return self._pure(f"bitcast {word} {shifted} to {wide}", shifted)
        if self._target.has_native_float16:
            value = self._pure(f"bitcast {short} {bits} to {half}", bits)
            return self._pure(f"fpext {half} {value} to {wide}", value)
        extended = self._pure(f"zext {short} {bits} to {word}", bits)
        size = self._op("and", word, extended, 0x7FFF, dtype)
        sign = self._op("shl", word, self._op("and", word, extended, 0x8000, dtype), 16, dtype)
        shifted = self._op("shl", word, size, 13, dtype)
        small = self._pure(f"bitcast {word} {shifted} to {wide}", shifted)
        # Scaling by 2**112 moves the exponent, and makes denormals normal.
        scale = self._splat_float(2.0**112, dtype)
        scaled = self._pure(f"fmul {wide} {small}, {scale}", small)
        magnitude = self._pure(f"bitcast {wide} {scaled} to {word}", scaled)
        special = self._pure(f"icmp uge {word} {size}, {self._splat(0x7C00, dtype)}", size)
        infinite = self._op("or", word, shifted, 0x7F800000, dtype)
        magnitude = self._choose(special, infinite, magnitude, word, dtype)
        result = self._pure(f"or {word} {magnitude}, {sign}", magnitude, sign)
        return self._pure(f"bitcast {word} {result} to {wide}", result)

    def _narrowed(self, value: str, dtype: DType) -> str:
        short, word, wide, half = self._types(dtype)
        if dtype.element == "float16" and self._target.has_native_float16:
            rounded = self._pure(f"fptrunc {wide} {value} to {half}", value)
            return self._pure(f"bitcast {half} {rounded} to {short}", rounded)
        bits = self._pure(f"bitcast {wide} {value} to {word}", value)
        is_nan = self._pure(f"fcmp uno {wide} {value}, {value}", value)
        if dtype.element == "bfloat16":
            return self._upper(self._rounded_to_upper(bits, is_nan, dtype), dtype)
        return self._narrowed_float16(bits, is_nan, dtype)

    def _rounded_to_upper(self, bits: str, is_nan: str, dtype: DType) -> str:
        """The bits of a float32, whose upper half are those of the nearest bfloat16."""
        _, word, *_ = self._types(dtype)
        # Half a unit of the last place is added, or just less than that where this is even.
        if self._has_masks:
            odd = self._op("and", word, bits, 0x10000, dtype)
            is_odd = self._pure(f"icmp ne {word} {odd}, {self._splat(0, dtype)}", odd)
            up = self._op("add", word, bits, 0x8000, dtype)
            down = self._op("add", word, bits, 0x7FFF, dtype)
            total = self._choose(is_odd, up, down, word, dtype)
        else:
            odd = self._op("and", word, self._op("lshr", word, bits, 16, dtype), 1, dtype)
            biased = self._op("add", word, odd, 0x7FFF, dtype)
            total = self._pure(f"add {word} {bits}, {biased}", bits, biased)
        quiet = self._op("or", word, bits, 0x400000, dtype)
        return self._choose(is_nan, quiet, total, word, dtype)

    def _upper(self, words: str, dtype: DType) -> str:
        """The upper 16 bits of each of the integers of 32 bits."""
        short, word, *_ = self._types(dtype)
        lanes = dtype.lanes
        if lanes == 1 or not self._has_masks:
            upper = self._op("lshr", word, words, 16, dtype)
            return self._pure(f"trunc {word} {upper} to {short}", upper)
        # Two vectors give one, in a single instruction.
        parts = self._pure(f"bitcast {word} {words} to <{2 * lanes} x i16>", words)
        picks = ", ".join(f"i32 {2 * lane + 1}" for lane in range(lanes))
        return self._pure(
            f"shufflevector <{2 * lanes} x i16> {parts}, <{2 * lanes} x i16> poison, "
            f"<{lanes} x i32> <{picks}>",
            parts,
        )

    def rounded_to_odd(self, value: str, dtype: DType) -> str:
        """The float32 that a float64 becomes on its way to a half type.

        It has 14 bits, the last of which is odd if others were lost (Boldo, Melquiond 2008): the
        second rounding then sees on which side of a tie the value is, and the result is as if it
        was rounded once. With so few bits the float32 is exact also where it is denormal, as far
        as a half type has numbers.
        """
        _, _, wide, _ = self._types(dtype)
        double, word = (
            value_type(DType(name).with_lanes(dtype.lanes)) for name in ("float64", "int64")
        )
        lost = (1 << 39) - 1

        def apply(op: str, bits: str, constant: int) -> str:
            return self._pure(
                f"{op} {word} {bits}, {splat('i64', str(constant), dtype.lanes)}", bits
            )

        bits = self._pure(f"bitcast {double} {value} to {word}", value)
        # Whatever is lost carries into the last bit that is kept.
        carried = apply("add", apply("and", bits, lost), lost)
        either = self._pure(f"or {word} {bits}, {carried}", bits, carried)
        odd = apply("and", either, ~lost)
        short = self._pure(f"bitcast {word} {odd} to {double}", odd)
        return self._pure(f"fptrunc {double} {short} to {wide}", short)

    def sum_rounded_to_odd(self, a: str, b: str, dtype: DType) -> str:
        """The sum of two float64 values, with an odd last bit if it is not exact.

        The rounding error of a sum is a float64, computed by the method of Knuth (The Art of
        Computer Programming 2, 4.2.2, theorem B); its sign says on which side the exact sum is.
        """
        double, test = value_type(dtype), value_type(DType("bool").with_lanes(dtype.lanes))
        word = value_type(DType("int64").with_lanes(dtype.lanes))
        one, zero = splat("i64", "1", dtype.lanes), self._zero(dtype)

        def apply(op: str, x: str, y: str, kind: str = double) -> str:
            return self._pure(f"{op} {kind} {x}, {y}", x, y)

        total = apply("fadd", a, b)
        part = apply("fsub", total, a)
        rest = apply("fsub", a, apply("fsub", total, part))
        error = apply("fadd", rest, apply("fsub", b, part))
        bits = self._pure(f"bitcast {double} {total} to {word}", total)
        # Not equal, and no NaN, which an infinite sum makes of the error.
        inexact = apply("fcmp one", error, zero)
        inward = apply("xor", apply("fcmp olt", error, zero), apply("fcmp olt", total, zero), test)
        below = apply("sub", bits, one, word)
        nearer = self._pure(
            f"select {test} {inward}, {word} {below}, {word} {bits}", inward, below, bits
        )
        odd = apply("or", nearer, one, word)
        chosen = self._pure(
            f"select {test} {inexact}, {word} {odd}, {word} {bits}", inexact, odd, bits
        )
        return self._pure(f"bitcast {word} {chosen} to {double}", chosen)

    def _zero(self, dtype: DType) -> str:
        return splat("double", float_constant(0.0, 64), dtype.lanes)

    def _narrowed_float16(self, bits: str, is_nan: str, dtype: DType) -> str:
        short, word, wide, _ = self._types(dtype)
        size = self._op("and", word, bits, 0x7FFFFFFF, dtype)
        sign = self._op("and", word, self._op("lshr", word, bits, 16, dtype), 0x8000, dtype)
        odd = self._op("and", word, self._op("lshr", word, size, 13, dtype), 1, dtype)
        biased = self._op("add", word, odd, 0xFFF - 0x38000000, dtype)
        total = self._pure(f"add {word} {size}, {biased}", size, biased)
        normal = self._op("lshr", word, total, 13, dtype)
        # Adding 0.5 leaves a denormal result, rounded, in the low bits.
        magnitude = self._pure(f"bitcast {word} {size} to {wide}", size)
        half = self._splat_float(0.5, dtype)
        moved = self._pure(f"fadd {wide} {magnitude}, {half}", magnitude)
        moved = self._pure(f"bitcast {wide} {moved} to {word}", moved)
        denormal = self._op("sub", word, moved, 0x3F000000, dtype)
        is_small = self._pure(f"icmp ult {word} {size}, {self._splat(0x38800000, dtype)}", size)
        is_large = self._pure(f"icmp uge {word} {size}, {self._splat(0x477FF000, dtype)}", size)
        result = self._choose(is_small, denormal, normal, word, dtype)
        result = self._choose(is_large, self._splat(0x7C00, dtype), result, word, dtype)
        result = self._choose(is_nan, self._splat(0x7E00, dtype), result, word, dtype)
        result = self._pure(f"or {word} {result}, {sign}", result, sign)
        return self._pure(f"trunc {word} {result} to {short}", result)

    def _types(self, dtype: DType) -> tuple[str, str, str, str]:
        names = ("i16", "i32", "float", "half")
        if dtype.lanes == 1:
            return names
        short, word, wide, half = (f"<{dtype.lanes} x {name}>" for name in names)
        return short, word, wide, half

    def _splat(self, value: int, dtype: DType) -> str:
        return str(value) if dtype.lanes == 1 else f"splat (i32 {value})"

    def _splat_float(self, value: float, dtype: DType) -> str:
        return splat("float", float_constant(value, 32), dtype.lanes)

    def _op(self, op: str, word: str, value: str, constant: int, dtype: DType) -> str:
        return self._pure(f"{op} {word} {value}, {self._splat(constant, dtype)}", value)

    def _choose(self, condition: str, yes: str, no: str, word: str, dtype: DType) -> str:
        test = "i1" if dtype.lanes == 1 else f"<{dtype.lanes} x i1>"
        return self._pure(
            f"select {test} {condition}, {word} {yes}, {word} {no}", condition, yes, no
        )
