"""The text of an LLVM module: declarations, constants and functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tilewright.ir.expr import Expr
from tilewright.ir.node import Node
from tilewright.target.codegen.llvm.helper_functions import (
    CALL_PACKED,
    FFI_FUNCTIONS,
    PERMIT_TILES_TEXT,
    RAISE,
    SHARED_TYPES,
    error_function_name,
    error_function_text,
)
from tilewright.target.target import Target

_VECTOR: Final = re.compile(r"<\d+ x ")
"""Part of the text of each type of vectors."""

_ALIGNED_STACK: Final = '"frame-pointer"="all"'


def attributes_of(body: str) -> str:
    """The attributes that all functions with these blocks have.

    With a frame pointer, LLVM aligns the stack for the vectors that leave the registers. Otherwise
    some of them may lie across two pages, which makes a loop twice as slow: in one process, not in
    the next.
    """
    return f"nounwind {_ALIGNED_STACK}" if _VECTOR.search(body) else "nounwind"


class ModuleText:
    """Collects declarations, constants and helper definitions while functions are written."""

    def __init__(self, target: Target, *, defines_errors: bool = False) -> None:
        """An empty module.

        `defines_errors` marks the support module that defines the error functions.
        """
        self.target = target
        self._defines_errors = defines_errors
        self._declarations: dict[str, str] = {}
        self._strings: dict[bytes, str] = {}
        self.definitions: list[str] = []
        self.functions: list[str] = []
        self.exported: list[str] = []
        """Symbols of the functions that can be called from outside."""
        self.externals: dict[str, None] = {}
        """Names of C functions that the program calls."""
        self.parts: list[str] = []
        """Bodies of parallel loops, and other helper functions."""
        self.needs_thread_pool = False
        self.needs_workspaces = False
        self.needs_errors = False
        self.needs_nontemporal = False
        self.needs_packed_calls = False
        self.needs_polls = False
        self.needs_tiles = False
        self._error_functions: set[tuple[str, ...]] = set()
        self.needs_objects = False
        self.needs_launcher = False
        self.params: dict[str, None] = {}
        """Names of the constants that the program refers to and does not contain."""
        self.works: dict[Node, float | Expr | None] = {}
        """What was found out about the work of loops and expressions, see `parallel`."""

    def declare(self, name: str, result: str, parameters: tuple[str, ...]) -> str:
        """The name under which the external function `name` is called."""
        if name not in self._declarations:
            types = ", ".join(parameters)
            self._declarations[name] = f'declare {result} @"{name}"({types})'
        return f'@"{name}"'

    def declare_ffi(self, name: str) -> str:
        """The name of a function of the tvm-ffi host."""
        self._declarations.setdefault(name, f"declare extern_weak {FFI_FUNCTIONS[name]}")
        return f"@{name}"

    def param(self, name: str) -> str:
        """The address of a constant that is linked with the program.

        It is found through a table, because in a process it may be anywhere in memory.
        """
        self.params[name] = None
        self._declarations.setdefault(name, f'@"{name}" = external global i8')
        return f'@"{name}"'

    def add_part(self, function: tuple[str, str]) -> str:
        """The name of a new function of this module that returns an int32 status.

        `function` holds its parameters and the text of its blocks.
        """
        name = f"@tilewright.part{len(self.parts)}"
        parameters, body = function
        head = f"define internal i32 {name}({parameters}) {attributes_of(body)} {{"
        self.parts.append(f"{head}\n{body}\n}}")
        return name

    def error_function(self, types: tuple[str, ...]) -> str:
        """The name of the function that raises an error with a text with values of such types.

        Its parameters are the kind and the text, a printf format if there are values, as strings,
        and the values.
        """
        name = error_function_name(types)
        self.declare_error(RAISE, ("ptr", "ptr"))
        if types in SHARED_TYPES:
            self.declare_error(name, ("ptr", "ptr", *types))
        elif types and types not in self._error_functions:
            self._error_functions.add(types)
            self.declare("snprintf", "i32", ("ptr", "i64", "ptr", "..."))
            self.parts.append(error_function_text(types, "internal "))
        return f"@{name}"

    def declare_error(self, name: str, parameters: tuple[str, ...]) -> None:
        """Declare an error function that all modules share."""
        if not self._defines_errors:
            self.needs_errors = True
            self.declare(name, "i32", parameters)

    def string(self, value: str) -> str:
        """A constant C string."""
        data = value.encode() + b"\0"
        name = self._strings.get(data)
        if name is None:
            name = self._strings[data] = f"@.str{len(self._strings)}"
        return name

    def constant_array(self, element: str, values: list[str], size: int) -> str:
        """A constant array, aligned to 64 bytes."""
        name = f"@.const{len(self.definitions)}"
        items = ", ".join(f"{element} {value}" for value in values) or f"{element} zeroinitializer"
        self.definitions.append(
            f"{name} = private unnamed_addr constant [{max(size, 1)} x {element}] [{items}], "
            "align 64"
        )
        return name

    def text(self) -> str:
        """The whole module."""
        support = list(self._support())
        strings = [
            f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{_escaped(data)}"'
            for data, name in self._strings.items()
        ]
        metadata = ["!0 = !{i32 1}"] if self.needs_nontemporal else []
        parts = (
            strings,
            self.definitions,
            self._declarations.values(),
            support,
            self.parts,
            self.functions,
            metadata,
        )
        return "\n".join([*(line for part in parts for line in part), ""])

    def _support(self) -> Iterator[str]:
        """The helper functions that the functions of the module call."""
        if self.needs_packed_calls:
            self.error_function(("ptr", "ptr", "ptr"))
            self.error_function(("ptr", "ptr"))
            for name in ("TVMFFIFunctionGetGlobal", "TVMFFIFunctionCall", "TVMFFIObjectDecRef"):
                self.declare_ffi(name)
            yield CALL_PACKED
        if self.needs_tiles:
            self.declare_error(RAISE, ("ptr", "ptr"))
            yield PERMIT_TILES_TEXT


def _escaped(data: bytes) -> str:
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in data
    )
