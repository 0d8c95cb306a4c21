"""Arguments that are one number, or several."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError


def numbers(owner: str, name: str, value: Any, count: int) -> tuple[int, ...]:
    """One number for all, one for a dimension, or one for each end, as `count` numbers.

    Raises:
        ArgumentError: for another number of them.
        ArgumentValueError: for a negative one.
    """
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    given = len(items)
    if given == 1 or (2 * given == count and name == "padding"):
        items *= count // given
    if len(items) != count:
        forms = f"1, {count // 2} or {count}" if name == "padding" else f"1 or {count}"
        raise ArgumentError(f"{owner}: `{name}` has {forms} numbers, got {value!r}")
    amounts = tuple(int(getattr(item, "value", item)) for item in items)
    if min(amounts) < 0:
        raise ArgumentValueError(f"{owner}: `{name}` is at least 0, got {value!r}")
    return amounts
