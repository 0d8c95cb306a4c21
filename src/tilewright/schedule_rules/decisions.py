"""What a schedule leaves to the search, and arithmetic with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilewright.ir.arithmetic import maximum, minimum
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr
from tilewright.tir.schedule import Schedule


def choose(sch: Schedule, candidates: Iterable[int], preferred: int) -> Expr | int:
    """One of several numbers, of which the sketch itself has `preferred`.

    Args:
        sch: the sketch.
        candidates: the numbers, all alike likely; `preferred` counts as one of them.
        preferred: what a good heuristic takes.

    Returns:
        The sampled number; if there is only one, that itself.
    """
    values = sorted({*candidates, preferred})
    if len(values) == 1:
        return preferred
    probabilities = [1.0 / len(values)] * len(values)
    return sch.sample_categorical(values, probabilities, decision=values.index(preferred))


def powers_of_two(first: int, last: int) -> list[int]:
    """``first``, twice that, and so on, up to `last`."""
    found = []
    while first <= last:
        found.append(first)
        first *= 2
    return found


def at_least(value: Any, other: Any) -> Any:
    """The larger one of two numbers."""
    return maximum(as_expr(value), as_expr(other))


def at_most(value: Any, other: Any) -> Any:
    """The smaller one of two numbers."""
    return minimum(as_expr(value), as_expr(other))


def quotient_up(value: Any, divisor: Any) -> Any:
    """How many parts of `divisor` cover `value`."""
    return (value + divisor - 1) // divisor
