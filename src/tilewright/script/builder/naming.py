"""Giving names to variables and buffers after they were made."""

from __future__ import annotations

from tilewright.ir.expr import Var
from tilewright.tir.buffer import Buffer

# Nodes are immutable, but `n = T.int64()` makes the variable before its name is read. A name is
# metadata that nothing depends on, and an unnamed variable is known to the script alone.
_set = object.__setattr__


def set_name(value: Var | Buffer, name: str) -> None:
    """Name a variable or buffer (and its pointer) that has no name yet."""
    if not value.name:
        _set(value, "name", name)
    if isinstance(value, Buffer):
        if not value.data.name:
            _set(value.data, "name", name)
        offset = value.elem_offset
        if isinstance(offset, Var) and offset.name in ("", "_elem_offset"):
            _set(offset, "name", f"{name}_elem_offset")
