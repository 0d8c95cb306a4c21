"""Arithmetic on elements that are known while a model is converted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.ir import arithmetic
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.relax.frontend.onnx.elements import Elements, UnknownElementsError
from tilewright.relax.frontend.onnx.tensors import dtype_of


def elementwise(plain: Callable[..., Any], symbolic: Callable[..., Any], dtype: str = "") -> Any:
    """A function of elements: `plain` of arrays of numbers, `symbolic` of expressions."""

    def compute(*operands: Elements) -> Elements:
        kind = dtype or operands[0].dtype
        if all(operand.is_constant for operand in operands):
            result = plain(*(operand.values for operand in operands))
            return Elements(np.asarray(result, dtype=DType(kind).numpy), kind)
        function = np.frompyfunc(symbolic, len(operands), 1)
        return Elements.of(function(*(operand.objects() for operand in operands)), kind)

    return compute


def divided(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Quotients of numbers; those of integers are rounded towards 0."""
    if not np.issubdtype(x.dtype, np.integer):
        return x / y
    if not np.all(y):
        raise UnknownElementsError
    size = np.abs(x) // np.abs(y)
    return np.where((x < 0) != (y < 0), -size, size).astype(x.dtype)


def quotient(x: Any, y: Any) -> Any:
    """The same of two integers or expressions."""
    if isinstance(x, int) and isinstance(y, int):
        return int(divided(np.array(x), np.array(y)))
    return arithmetic.truncdiv(x, y)


def folded(symbolic: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers and expressions; of numbers alone it is Python's."""
    return lambda *values: (
        symbolic(*values) if any(isinstance(value, Expr) for value in values) else plain(*values)
    )


def modulo(x: Elements, y: Elements, *, fmod: int = 0) -> Elements:
    """Remainders with the sign of the divisor."""
    if fmod:
        raise UnknownElementsError
    if y.is_constant and not np.all(y.values):
        raise UnknownElementsError
    return elementwise(np.mod, folded(arithmetic.floormod, lambda a, b: a % b))(x, y)


def extremum(plain: Callable[..., Any], symbolic: Callable[..., Any], fold: Any) -> Any:
    """The smallest or largest of the elements at each place."""
    pair = elementwise(plain, folded(symbolic, fold))

    def compute(first: Elements, *others: Elements) -> Elements:
        for other in others:
            first = pair(first, other)
        return first

    return compute


def cast(x: Elements, *, to: int, **_: Any) -> Elements:
    """Elements of another dtype."""
    dtype = dtype_of(to)
    if x.is_constant:
        if not np.all(np.isfinite(x.values.astype("float64"))):
            raise UnknownElementsError
        return Elements(x.values.astype(DType(dtype).numpy), dtype)
    if dtype not in ("int32", "int64"):
        raise UnknownElementsError
    return Elements(x.values, dtype)  # sizes fit


def where(condition: Elements, x: Elements, y: Elements) -> Elements:
    """The elements of one array where a condition holds, and of another one elsewhere."""
    if condition.is_constant and x.is_constant and y.is_constant:
        return Elements(np.where(condition.values, x.values, y.values), x.dtype)
    choose = folded(arithmetic.select, lambda c, a, b: a if c else b)
    chosen = np.frompyfunc(lambda c, a, b: (a if c else b) if isinstance(c, bool)
                           else choose(c, a, b), 3, 1)  # fmt: skip
    return Elements.of(chosen(condition.objects(), x.objects(), y.objects()), x.dtype)
