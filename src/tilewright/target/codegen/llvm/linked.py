"""Several object files as one program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tilewright.error import ExportError, TargetError
from tilewright.target.codegen.llvm.compile import (
    LOCK,
    CompiledModule,
    machine_for,
    optimised,
    parse,
)
from tilewright.target.codegen.llvm.error_functions import SHARED
from tilewright.target.codegen.llvm.support import ObjectUnit, support_text
from tilewright.target.codegen.params import write_objects
from tilewright.target.target import Target


class LinkedModule:
    """A compiled module, and the object files of functions that it calls.

    Attributes:
        main: the module, in which those functions have the attribute ``tir.is_external``.
    """

    def __init__(self, main: CompiledModule, units: Sequence[ObjectUnit]) -> None:
        self.main = main
        self._units = tuple(units)
        self._loaded: Any = None

    def function_address(self, symbol: str) -> int:
        """The address of a function of the main module in this process; 0 if there is none.

        Raises:
            TargetError: if the code is for another architecture.
            CodegenError: if the code calls a C function that this process does not have.
        """
        target = self.main.target
        if symbol not in self.main.function_names:
            return 0
        if not target.is_host:
            raise TargetError(
                f"code for {target.triple} does not run on this machine; export it instead"
            )
        from tilewright.target.codegen.llvm.jit import load

        with LOCK:
            if self._loaded is None:
                units = (self.main.unit, *self._units)
                self._loaded = load(units, self.main.function_names, self.main.params)
            return self._loaded[symbol]

    def object_code(self) -> bytes:
        """One object file, if the program has no functions in others."""
        if self._units:
            raise ExportError("the program consists of several object files: see write_objects")
        return self.main.object_code()

    def write_objects(self, directory: str) -> list[str]:
        """Write object files from which a library can be linked; their paths."""
        units = (self.main.unit, *self._units)
        codes = [unit.code for unit in units]
        needs = dict.fromkeys(name for unit in units for name in unit.needs)
        with LOCK:
            codes += [_support_object(name, self.main.target) for name in needs]
        return write_objects(directory, codes, self.main.params)

    def source(self, fmt: str) -> str:
        """The text of the main module, without functions of other object files."""
        return self.main.source(fmt)


def _support_object(name: str, target: Target) -> bytes:
    """A support module as an object file, whose functions are hidden from other libraries.

    A program may be linked from the object files of several libraries, each of which has them.
    """
    machine = machine_for(target)
    text = re.sub(SHARED, "weak_odr hidden ", support_text(name, target))
    return machine.emit_object(optimised(parse(text, machine), machine))
