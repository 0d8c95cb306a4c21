"""Running the tensor programs of a graph."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from tilewright.ir.module import IRModule
from tilewright.runtime.ndarray import alias
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter import Interpreter


class Kernels(Protocol):
    """The tensor programs of a module, by name."""

    def run(self, name: str, args: list[Any]) -> None:
        """Call one with arrays, which it writes into, and numbers."""
        ...

    def of_module(self, module: IRModule) -> Kernels:
        """Those of another module, run in the same way."""
        ...


class InterpretedKernels:
    """Tensor programs in the reference interpreter.

    Args:
        module: where they are.
    """

    def __init__(self, module: IRModule) -> None:
        self._interpreter = Interpreter(module)

    def run(self, name: str, args: list[Any]) -> None:
        """Call one with arrays and numbers."""
        self._interpreter.run(name, *args)

    def of_module(self, module: IRModule) -> InterpretedKernels:
        """Those of another module."""
        return InterpretedKernels(module)


class CompiledKernels:
    """Tensor programs as native code; each is compiled when it is first called.

    Args:
        module: where they are.
        target: what they are compiled for, which must be a CPU.
    """

    def __init__(self, module: IRModule, target: Any = "llvm") -> None:
        self._module, self._target = module, target
        self._compiled: dict[str, Any] = {}

    def run(self, name: str, args: list[Any]) -> None:
        """Call one with arrays and numbers."""
        function = self._compiled.get(name)
        if function is None:
            function = self._compiled[name] = self._compile(name)
        function(*[alias(arg) if isinstance(arg, np.ndarray) else arg for arg in args])

    def _compile(self, name: str) -> Any:
        from tilewright.driver.building import build

        functions = {
            var: function.with_attr("global_symbol", var.name_hint)
            for var, function in self._module.functions.items()
            if isinstance(function, PrimFunc) and var.name_hint == name
        }
        return build(IRModule(functions), target=self._target)[name]

    def of_module(self, module: IRModule) -> CompiledKernels:
        """Those of another module."""
        return CompiledKernels(module, self._target)
