"""Where parsing starts: the decorators, and text."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, ScriptError
from tilewright.ir.function import BaseFunc
from tilewright.ir.module import IRModule
from tilewright.script.parser.capture import class_definition
from tilewright.script.parser.decorators import PrimFuncDecorator
from tilewright.script.parser.diagnostics import without_internals
from tilewright.script.parser.macro import MacroDecorator
from tilewright.script.parser.module import parse_module
from tilewright.script.parser.text import parse_text

prim_func = PrimFuncDecorator()
macro = MacroDecorator()


class ModuleDecorator:
    """`I.ir_module`, with or without options."""

    def __init__(self, check_well_formed: bool = True) -> None:
        self.check_well_formed = check_well_formed

    def __call__(self, mod: Any = None, check_well_formed: bool | None = None) -> Any:
        """Parse a class to an `IRModule`.

        Args:
            mod: the class.
            check_well_formed: verify the functions.
        """
        check = self.check_well_formed if check_well_formed is None else check_well_formed
        if mod is None:
            return ModuleDecorator(check)
        if isinstance(mod, IRModule):
            return mod
        if not isinstance(mod, type):
            raise ArgumentError(f"I.ir_module decorates a class, got {mod!r}")
        try:
            source, node, names = class_definition(mod, 1)
            return parse_module(source, node, names, check_well_formed=check)
        except ScriptError as error:
            raise without_internals(error) from error.__cause__

    def __repr__(self) -> str:
        return "I.ir_module"


ir_module = ModuleDecorator()


def from_source(
    src: str,
    extra_vars: dict[str, Any] | None = None,
    check_well_formed: bool = True,
    *,
    trusted: bool = False,
) -> BaseFunc | IRModule:
    """Parse the text of a module or a function, as `script()` prints it.

    The text may come from anywhere: it can use the script namespaces, a few builtins that compute
    with numbers and lists, and `extra_vars`. It cannot import, reach a module or look into objects.

    Args:
        src: text with one decorated class or function, perhaps after imports of the script
            namespaces and constants.
        extra_vars: further names that the text may use; `I`, `T` and `R` are always known. It may
            call those values, but not use their attributes.
        check_well_formed: verify the result.
        trusted: the text is as good as the program that reads it: it may use all builtins, all of
            tilewright, and any attribute of what it can name, with which it can run any code.

    Raises:
        ScriptError: for any mistake in the text.
    """
    if not isinstance(src, str):
        raise ArgumentError(f"from_source expects text, got {src!r}")
    try:
        return parse_text(src, dict(extra_vars or {}), check_well_formed, trusted)
    except ScriptError as error:
        raise without_internals(error) from error.__cause__


parse = from_source
