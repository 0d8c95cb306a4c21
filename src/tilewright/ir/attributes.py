"""Attribute dictionaries of functions, blocks, loops and modules."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tilewright.error import ArgumentError
from tilewright.ir.convert import const
from tilewright.ir.node import Node, set_conversion

Attributes = Mapping[str, Any]
EMPTY: Final[Attributes] = MappingProxyType({})


def _read_only(values: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(values)


# Python itself cannot pickle read-only dictionaries.
copyreg.pickle(MappingProxyType, lambda values: (_read_only, (dict(values),)))


def as_attribute(value: object) -> Any:
    """A Python value as it is kept in an attribute dictionary.

    Numbers and bools become constants (so that `T.bool(True)` and `True` are the same), sequences
    become tuples, mappings become dictionaries; strings, None and nodes stay as they are.
    """
    if value is None or isinstance(value, (str, Node)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(as_attribute(item) for item in value)
    if isinstance(value, Mapping):
        return attributes(value)
    if isinstance(value, (bool, int, float)) or hasattr(value, "item"):
        return const(value)
    if getattr(value, "is_attribute", False):  # such as a Target
        return value
    raise ArgumentError(f"cannot keep {value!r} as an attribute: use numbers, strings or nodes")


def attributes(values: Mapping[str, Any] | None) -> Attributes:
    """A dictionary of attributes, each value converted by `as_attribute`."""
    if not values:
        return EMPTY
    for key in values:
        if not isinstance(key, str):
            raise ArgumentError(f"attribute names are strings, got {key!r}")
    return {str(key): as_attribute(value) for key, value in values.items()}


set_conversion(Attributes, attributes)
