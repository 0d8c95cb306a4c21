"""Arithmetic with numbers that may be sampled."""

from __future__ import annotations

from typing import Any

from tilewright.ir.arithmetic import maximum, minimum
from tilewright.ir.convert import as_expr


def at_least(value: Any, other: Any) -> Any:
    """The larger one of two numbers."""
    return maximum(as_expr(value), as_expr(other))


def at_most(value: Any, other: Any) -> Any:
    """The smaller one of two numbers."""
    return minimum(as_expr(value), as_expr(other))


def quotient_up(value: Any, divisor: Any) -> Any:
    """How many parts of `divisor` cover `value`."""
    return (value + divisor - 1) // divisor
