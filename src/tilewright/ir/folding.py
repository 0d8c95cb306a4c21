"""Folding of operators on two constants."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from tilewright.ir.convert import round_float, wrap_int
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Sub,
)


def trunc_div_int(a: int, b: int) -> int:
    """Quotient rounded towards zero; `b` is not 0."""
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


DIVISIONS = frozenset((Div, Mod, FloorDiv, FloorMod))
INTEGER_OPERATIONS: Final[dict[type[Expr], Callable[[int, int], int]]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    Div: trunc_div_int,
    Mod: lambda a, b: a - b * trunc_div_int(a, b),
    FloorDiv: operator.floordiv,
    FloorMod: operator.mod,
    Min: min,
    Max: max,
}
_FLOAT_FOLD: dict[type[Expr], Callable[[float, float], float]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    Div: operator.truediv,
}
COMPARISONS: Final[dict[type[Expr], Callable[[float, float], bool]]] = {
    EQ: operator.eq,
    NE: operator.ne,
    LT: operator.lt,
    LE: operator.le,
    GT: operator.gt,
    GE: operator.ge,
}


def fold_constants(kind: type[Any], a: Expr, b: Expr) -> Expr | None:
    """The value of `kind(a, b)` where both are constants and the result is defined."""
    if type(a) is not type(b):
        return None
    if type(a) is IntImm and type(b) is IntImm:
        x, y = a.value, b.value
        if kind in COMPARISONS:
            return IntImm(BOOL, int(COMPARISONS[kind](x, y)))
        if a.dtype.is_bool or kind not in INTEGER_OPERATIONS or (y == 0 and kind in DIVISIONS):
            return None
        return IntImm(a.dtype, wrap_int(INTEGER_OPERATIONS[kind](x, y), a.dtype))
    if type(a) is FloatImm and type(b) is FloatImm:
        x, y = a.value, b.value
        if kind in COMPARISONS:
            return IntImm(BOOL, int(COMPARISONS[kind](x, y)))
        if kind in _FLOAT_FOLD and not (y == 0 and kind is Div):
            try:
                return FloatImm(a.dtype, round_float(_FLOAT_FOLD[kind](x, y), a.dtype))
            except OverflowError:
                return None
    return None
