"""Extents that are written as expressions over a symbolic size."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any


class Size(int):
    """A number whose text is an expression.

    Args:
        value: the number.
        text: the expression.
    """

    text: str

    def __new__(cls, value: int, text: str) -> Size:
        made = super().__new__(cls, value)
        made.text = text
        return made

    def __repr__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return self.text


def _arithmetic(symbol: str, compute: Callable[[int, int], int]) -> tuple[Any, Any]:
    def apply(one: Size, other: int) -> Size:
        return Size(compute(int(one), int(other)), f"({one} {symbol} {other})")

    def apply_reversed(one: Size, other: int) -> Size:
        return Size(compute(int(other), int(one)), f"({other} {symbol} {one})")

    return apply, apply_reversed


Size.__add__, Size.__radd__ = _arithmetic("+", operator.add)
Size.__sub__, Size.__rsub__ = _arithmetic("-", operator.sub)
Size.__mul__, Size.__rmul__ = _arithmetic("*", operator.mul)
Size.__floordiv__, Size.__rfloordiv__ = _arithmetic("//", operator.floordiv)
