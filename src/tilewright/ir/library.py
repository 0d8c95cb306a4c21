"""What a compiled library contains, for those who write libraries and those who read them."""

from __future__ import annotations

from typing import Final, NamedTuple

SYMBOL_PREFIX: Final = "__tvm_ffi_"
"""What the symbols of functions that can be called begin with."""

METADATA_FUNCTION: Final = "tilewright_metadata"
"""A function of every library that returns the address of a JSON text about the others."""

ITEM: Final = "_item"
"""What the name of the function ends in that returns the only item of a tuple as it is.

A caller that has tuples of its own, such as Python, saves making and reading one of the host.
"""


class Parameter(NamedTuple):
    """What a caller may want to know about a parameter of a function."""

    name: str
    is_buffer: bool
    is_written: bool
