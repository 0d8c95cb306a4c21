"""The value of an expression over sampled numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from tilewright.ir.expr import Add, Expr, FloorDiv, FloorMod, IntImm, Max, Min, Mul, Sub, Var

_OPERATIONS: Final[dict[type, Callable[[int, int], int]]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    FloorDiv: operator.floordiv,
    FloorMod: operator.mod,
    Min: min,
    Max: max,
}

_SMALL: Final = 1 << 31
"""Numbers that are less are the same in all dtypes of indices."""


def value_of(expr: Expr, numbers: Mapping[Any, Any]) -> int | None:
    """The value, if it is plain arithmetic of small numbers.

    None for everything else: for other operators and unknown variables, and where a result may not
    fit into its dtype, or is not defined.

    Args:
        expr: the expression.
        numbers: the values of its variables.
    """
    kind = expr.__class__
    if kind is IntImm:
        return expr.value  # type: ignore[attr-defined]
    if kind is Var:
        found = numbers.get(expr)
        return found if found.__class__ is int else None
    apply = _OPERATIONS.get(kind)
    if apply is None:
        return None
    a, b = value_of(expr.a, numbers), value_of(expr.b, numbers)  # type: ignore[attr-defined]
    if a is None or b is None or (b == 0 and kind in (FloorDiv, FloorMod)):
        return None
    result = apply(a, b)
    return result if -_SMALL < result < _SMALL else None
