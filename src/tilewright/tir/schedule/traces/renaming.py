"""The function that a trace in its JSON form is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tilewright.tir.schedule.traces.instruction_layout import kind_of, layout_of

_FUNCTION: Final = "func_name"
"""The argument of an instruction that names a function."""


def about(trace: Any, func_name: str) -> Any:
    """A trace in its JSON form, made to be about the function `func_name`."""
    instructions, decisions = trace
    return [[_renamed(item, func_name) for item in instructions], decisions]


def _renamed(item: Any, func_name: str) -> Any:
    name, inputs, attrs, outputs = item
    names = layout_of(kind_of(name)).attrs
    if _FUNCTION not in names:
        return item
    values: Mapping[str, Any] = {**dict(zip(names, attrs, strict=False)), _FUNCTION: func_name}
    return [name, inputs, [values.get(name) for name in names], outputs]
