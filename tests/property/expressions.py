"""Random expressions without undefined results, for programs and for tests of expressions alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tilewright import tir
from tilewright.ir import (
    Add,
    And,
    Broadcast,
    Cast,
    Div,
    DType,
    Expr,
    FloorDiv,
    FloorMod,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Select,
    Shuffle,
    Sub,
    Var,
    const,
)
from tilewright.ir.expr import EQ, GE, GT, LE, LT, NE

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = (*INTS, *FLOATS, "bool")
TRANSCENDENTAL = (
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "rsqrt", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid",
)  # fmt: skip

Leaf = Callable[[DType], "Expr | None"]


class Options(NamedTuple):
    """What expressions may hold.

    Attributes:
        exact: floats stay small whole numbers, so that neither the order of a sum nor a fused
            multiplication makes a difference. Otherwise every value may occur.
        raw: nodes are made without folding; otherwise by the functions of `tir`.
        transcendental: whether `exp` and its like occur.
        lets: whether `Let` occurs.
        dtypes: the dtypes that casts go through.
    """

    exact: bool = False
    raw: bool = False
    transcendental: bool = False
    lets: bool = True
    dtypes: tuple[str, ...] = DTYPES


class Expressions:
    """Draws expressions.

    Args:
        draw: of a composite strategy.
        leaf: gives a variable, load or other operand of a dtype, or None for a constant.
        options: what may occur.
    """

    def __init__(self, draw: Any, leaf: Leaf, options: Options = Options()) -> None:  # noqa: B008
        self.draw = draw
        self.leaf = leaf
        self.options = options
        self._bound: list[Var] = []
        self._count = 0

    def choose(self, *items: Any) -> Any:
        """One of `items`."""
        return self.draw(st.sampled_from(items))

    def number(self, low: int, high: int) -> int:
        """An integer between bounds, both included."""
        return self.draw(st.integers(low, high))

    def make(self, dtype: str, depth: int) -> Expr:
        """A scalar or vector expression of `dtype`, at most `depth` operators deep."""
        target = DType(dtype)
        if depth <= 0 or self.number(0, 7) == 0:
            return self._operand(target)
        if target.is_vector and self.number(0, 3) == 0:
            return self._vector(target, depth)
        if self.options.lets and not target.is_vector and self.number(0, 15) == 0:
            return self._let(target, depth)
        if target.is_bool:
            return self._condition(target, depth)
        if self.number(0, 5) == 0:
            return self._choice(target, depth)
        if self.number(0, 5) == 0:
            return self._cast(target, depth)
        return self._float(target, depth) if target.is_float else self._int(target, depth)

    # --- operands -----------------------------------------------------------------------------

    def _operand(self, dtype: DType) -> Expr:
        bound = [var for var in self._bound if var.dtype is dtype]
        if bound and self.number(0, 1):
            return self.choose(*bound)
        found = self.leaf(dtype) if self.number(0, 4) else None
        return self.constant(dtype) if found is None else found

    def constant(self, dtype: DType) -> Expr:
        """A constant, often a special value."""
        element = dtype.element
        if element.is_bool:
            value: Any = self.draw(st.booleans())
        elif self.options.exact:
            value = self.number(0 if element.is_uint else -4, 4)
        elif element.is_float:
            value = self.choose(0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-5, 100.0, float("inf"))
        else:
            near = self.number(-3, 3)
            value = self.choose(near, near, element.max_int, element.min_int, 7, 64)
            value = max(element.min_int, min(element.max_int, value))
        if element.is_float:
            value = float(value)
        scalar = const(value, element)
        return Broadcast(scalar, dtype.lanes) if dtype.is_vector else scalar

    def _let(self, dtype: DType, depth: int) -> Expr:
        element = DType(self.choose(*self.options.dtypes))
        value = self.make(element, depth - 1)
        self._count += 1
        var = Var(f"let_{self._count}", element)
        self._bound.append(var)
        body = self.make(dtype, depth - 1)
        self._bound.pop()
        return Let(var, value, body)

    # --- operators by kind of result ----------------------------------------------------------

    def build(self, kind: Any, function: Callable[..., Expr], *operands: Expr) -> Expr:
        """A node, or what the function that makes such nodes returns."""
        return kind(*operands) if self.options.raw else function(*operands)

    def _condition(self, dtype: DType, depth: int) -> Expr:
        kind = self.choose("compare", "compare", "and", "or", "not", "nan")
        if kind in ("and", "or"):
            a, b = self.make(dtype, depth - 1), self.make(dtype, depth - 1)
            node, function = {"and": (And, tir.logical_and), "or": (Or, tir.logical_or)}[kind]
            return self.build(node, function, a, b)
        if kind == "not":
            return self.build(Not, tir.logical_not, self.make(dtype, depth - 1))
        if kind == "nan" and not self.options.exact:
            operand = self.make(self._like(dtype, FLOATS), depth - 1)
            return self.choose(tir.isnan, tir.isinf, tir.isfinite)(operand)
        operand = self._like(dtype, self.options.dtypes)
        a, b = self.make(operand, depth - 1), self.make(operand, depth - 1)
        node, function = self.choose(
            (EQ, lambda a, b: a == b), (NE, lambda a, b: a != b), (LT, lambda a, b: a < b),
            (LE, lambda a, b: a <= b), (GT, lambda a, b: a > b), (GE, lambda a, b: a >= b),
        )  # fmt: skip
        return self.build(node, function, a, b)

    def _like(self, dtype: DType, names: tuple[str, ...]) -> DType:
        allowed = [name for name in names if name in self.options.dtypes] or ["float32"]
        return DType(self.choose(*allowed)).with_lanes(dtype.lanes)

    def _choice(self, dtype: DType, depth: int) -> Expr:
        a, b = self.make(dtype, depth - 1), self.make(dtype, depth - 1)
        if not dtype.is_vector and self.number(0, 1):
            return tir.if_then_else(self.make("bool", depth - 1), a, b)
        condition = self.make(DType("bool").with_lanes(dtype.lanes), depth - 1)
        return self.build(Select, tir.select, condition, a, b)

    def _cast(self, dtype: DType, depth: int) -> Expr:
        source = self._like(dtype, self.options.dtypes)
        operand = self.make(source, depth - 1)
        if source is dtype:
            return operand
        if source.is_float and dtype.is_integral and not dtype.is_bool:
            operand = self._convertible(operand, dtype.element)
        return self.build(
            lambda value: Cast(dtype, value), lambda value: tir.cast(dtype, value), operand
        )

    def _convertible(self, operand: Expr, target: DType) -> Expr:
        """`operand` where it is a small number, else 0: all that an integer surely holds."""
        dtype = operand.dtype
        limit = const(100.0, dtype)
        zero = const(0.0, dtype)
        low = zero if target.is_uint else const(-100.0, dtype)
        # NaN fails both comparisons.
        return Select(And(operand <= limit, operand >= low), operand, zero)

    def _int(self, dtype: DType, depth: int) -> Expr:
        a = self.make(dtype, depth - 1)
        kind = self.choose("ring", "ring", "order", "divide", "bits", "shift", "count")
        if kind == "shift":
            amount = const(self.number(0, dtype.bits - 1), dtype)
            return self.choose(tir.shift_left, tir.shift_right)(a, amount)
        if kind == "count":
            return self.choose(tir.popcount, tir.bitwise_not)(a)
        b = self.make(dtype, depth - 1)
        if kind == "bits":
            return self.choose(tir.bitwise_and, tir.bitwise_or, tir.bitwise_xor)(a, b)
        if kind == "divide":
            seven, one = const(7, dtype), const(1, dtype)
            # Between 1 and 7: division by 0 is an error, and overflow is unspecified.
            divisor = self.choose(const(self.number(1, 9), dtype), FloorMod(b, seven) + one)
            node, function = self.choose(
                (FloorDiv, tir.floordiv), (FloorMod, tir.floormod), (Div, tir.truncdiv),
                (Mod, tir.truncmod),
            )  # fmt: skip
            return self.build(node, function, a, divisor)
        table = {
            "ring": ((Add, tir.add), (Sub, tir.subtract), (Mul, tir.multiply)),
            "order": ((Min, tir.min), (Max, tir.max)),
        }
        node, function = self.choose(*table[kind])
        return self.build(node, function, a, b)

    def _float(self, dtype: DType, depth: int) -> Expr:
        a = self.make(dtype, depth - 1)
        if self.options.exact:
            return self._exact_float(a, self.make(dtype, depth - 1))
        kind = self.choose("ring", "ring", "order", "divide", "unary", "fma", "math")
        if kind == "unary":
            names = ("sqrt", "fabs", "floor", "ceil", "trunc", "round", "nearbyint")
            return getattr(tir, self.choose(*names))(a)
        if kind == "math" and self.options.transcendental:
            return getattr(tir, self.choose(*TRANSCENDENTAL))(a)
        b = self.make(dtype, depth - 1)
        if kind == "fma":
            return tir.fma(a, b, self.make(dtype, depth - 1))
        if kind == "divide":
            # The sign of a zero is unspecified where min and max made it.
            zero, one = const(0.0, dtype), const(1.0, dtype)
            return self.build(Div, tir.divide, a, Select(EQ(b, zero), one, b))
        table = {"order": ((Min, tir.min), (Max, tir.max))}
        ring = ((Add, tir.add), (Sub, tir.subtract), (Mul, tir.multiply))
        node, function = self.choose(*table.get(kind, ring))
        return self.build(node, function, a, b)

    def _exact_float(self, a: Expr, b: Expr) -> Expr:
        """Operators on small whole numbers whose results are small whole numbers."""
        kind = self.choose("add", "subtract", "min", "max", "multiply", "fabs", "floor")
        if kind in ("fabs", "floor"):
            return getattr(tir, kind)(a)
        if kind == "multiply":
            return small(small(a, 4) * small(b, 4), 8)
        return getattr(tir, kind)(a, b)

    def _vector(self, dtype: DType, depth: int) -> Expr:
        if self.number(0, 1):
            return Broadcast(self.make(dtype.element, depth - 1), dtype.lanes)
        parts = [self.make(dtype, depth - 1), self.make(dtype, depth - 1)]
        picks = tuple(const(self.number(0, 2 * dtype.lanes - 1)) for _ in range(dtype.lanes))
        return Shuffle(tuple(parts), picks)


def small(value: Expr, limit: int) -> Expr:
    """`value` limited to the range from `-limit` to `limit`."""
    dtype = value.dtype
    low = 0 if dtype.is_uint else -limit
    return tir.max(tir.min(value, const(limit, dtype)), const(low, dtype))
