"""Attributes that must not depend on the body of a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.attributes import attributes
from tilewright.ir.expr import FloatImm, IntImm, StringImm
from tilewright.ir.function import GlobalVar
from tilewright.ir.operators import Operators
from tilewright.tir.buffer import Buffer
from tilewright.tir.index_map import IndexMap

_CONSTANTS = (IntImm, FloatImm, StringImm, GlobalVar)


def constant_attributes(values: Any, what: str) -> dict[str, Any]:
    """A dictionary of attributes that are constants.

    Raises:
        ArgumentError: if it is no dictionary, or holds variables or buffers.
    """
    if not isinstance(values, Mapping):
        raise ArgumentError(f"{what} expects a dictionary, got {values!r}")
    result = dict(attributes(values))
    for key, value in result.items():
        _require_constant(value, f"{what}: {key!r}")
    return result


def _require_constant(value: Any, what: str) -> None:
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple):
        for item in value:
            _require_constant(item, what)
    elif isinstance(value, Buffer) or (
        isinstance(value, Operators) and not isinstance(value, _CONSTANTS)
    ):
        raise ArgumentError(f"{what} needs a constant, got {value!r}")
    elif isinstance(value, IndexMap) and value.free_variables():
        names = ", ".join(var.name for var in value.free_variables())
        raise ArgumentError(f"{what} needs a constant, the index map mentions {names}")
