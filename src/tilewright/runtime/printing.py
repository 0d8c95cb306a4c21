"""Registered functions that print values, for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright.error import ProgramAssertionError
from tilewright.runtime.ndarray import NDArray
from tilewright.runtime.registry import register_func


@register_func("tvm.default_trace_action", override=True)
def default_trace_action(*args: Any) -> None:
    """Print the arguments."""
    print(list(args), flush=True)


PRINT: Final = "tilewright.print"
FAIL: Final = "tilewright.fail"

FAILED: Final = "an assertion of the program failed"
"""The text of an assertion without one."""


def formatted(form: str, values: Sequence[Any]) -> str:
    """Values in the places of a format, or one after the other if that is empty."""
    shown = [_shown(value) for value in values]
    return form.format(*shown) if form else " ".join(map(str, shown))


def _shown(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value.__array__(copy=False)
    return tuple(map(_shown, value)) if isinstance(value, tuple) else value


@register_func(PRINT, override=True)
def print_values(form: str, *values: Any) -> None:
    """Print values."""
    print(formatted(form, values), flush=True)


@register_func(FAIL, override=True)
def fail(form: str, *values: Any) -> None:
    """Raise the error of an assertion that does not hold."""
    raise ProgramAssertionError(formatted(form, values) or FAILED)
