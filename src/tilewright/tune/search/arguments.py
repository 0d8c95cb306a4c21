"""Checks of the arguments of strategies."""

from __future__ import annotations

from tilewright.error import ArgumentValueError


def require_part(owner: object, name: str, value: float) -> None:
    """Refuse what is no part of a whole.

    Raises:
        ArgumentValueError: for numbers below 0 or above 1.
    """
    if not 0 <= value <= 1:
        raise ArgumentValueError(f"{type(owner).__name__}: {name} is from 0 to 1, got {value!r}")


def require_count(owner: object, name: str, value: int, least: int) -> None:
    """Refuse numbers that are too small.

    Raises:
        ArgumentValueError: for numbers below `least`.
    """
    if value < least:
        raise ArgumentValueError(
            f"{type(owner).__name__}: {name} is at least {least}, got {value!r}"
        )
