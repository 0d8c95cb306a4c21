"""The table of conversions: from the name of an ATen operator to a function that converts a call.

An entry is for an operator with all its overloads (``aten.add``) or for one of them
(``aten.max.dim``), which comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

Converter = Callable[..., Any]
"""Takes the `Graph` and the arguments of the call; returns the value, or a tuple of several."""

CONVERTERS: Final[dict[str, Converter]] = {}
"""All conversions."""

AnyConverter = TypeVar("AnyConverter", bound=Converter)


def converts(*names: str) -> Callable[[AnyConverter], AnyConverter]:
    """Enter the decorated function for the operators `names`.

    Its parameters are those of the operator's schema in their order; keyword-only ones have the
    names of the schema. What says where and how torch keeps the elements (device, layout,
    memory format) is left out.
    """

    def enter(converter: AnyConverter) -> AnyConverter:
        for name in names:
            assert name not in CONVERTERS, f"{name} has two conversions"
            CONVERTERS[name] = converter
        return converter

    return enter


def converter_of(target: object) -> Converter | None:
    """The conversion of calls of `target`, an overload of an operator; None if there is none."""
    return CONVERTERS.get(str(target)) or CONVERTERS.get(str(target).rpartition(".")[0])
