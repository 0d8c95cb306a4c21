"""The module of error functions that the compiled modules of a process share."""

from __future__ import annotations

import functools

from tilewright.target.codegen.llvm.control import Control
from tilewright.target.codegen.llvm.module import ModuleText
from tilewright.target.codegen.llvm.raising import (
    DECLARATIONS,
    RAISE_TEXT,
    SHARED,
    SHARED_TYPES,
    raising_text,
)
from tilewright.target.target import Target
from tilewright.tir.transform.argument_errors import shared_functions


@functools.cache
def errors_text() -> str:
    """The module that defines the functions, with which a program is linked."""
    # These functions have no vectors and call no intrinsics, so they are alike for all targets.
    text = ModuleText(Target("llvm"), defines_errors=True)
    text.functions += [
        Control(text).function(name.name_hint, function)
        for name, function in shared_functions().items()
    ]
    raising = [raising_text(types, SHARED) for types in SHARED_TYPES]
    return "\n".join([*DECLARATIONS, RAISE_TEXT, *raising, text.text()])
