"""Running tensor programs: those of the module, and those made for one operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from tilewright.ir.convert import const
from tilewright.ir.module import IRModule
from tilewright.relax.expr import (
    Constant,
    DataTypeImm,
    ExternFunc,
    PrimValue,
    RelaxExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    Var,
)
from tilewright.relax.interpreter.values import Shape, struct_info_of
from tilewright.relax.struct_info import PrimStructInfo, StructInfo, TupleStructInfo
from tilewright.runtime.ndarray import alias
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter import Interpreter

if TYPE_CHECKING:
    from tilewright.relax.interpreter.evaluator import Evaluator, Frame


class Kernels(Protocol):
    """The tensor programs of a module, by name."""

    def run(self, name: str, args: list[Any]) -> None:
        """Call one with arrays, which it writes into, and numbers."""
        ...

    def of_module(self, module: IRModule) -> Kernels:
        """Those of another module, run in the same way."""
        ...


class InterpretedKernels:
    """Tensor programs in the reference interpreter."""

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
        from tilewright.driver.build_module import build

        functions = {
            var: function.with_attr("global_symbol", var.name_hint)
            for var, function in self._module.functions.items()
            if isinstance(function, PrimFunc) and var.name_hint == name
        }
        return build(IRModule(functions), target=self._target)[name]

    def of_module(self, module: IRModule) -> CompiledKernels:
        """Those of another module."""
        return CompiledKernels(module, self._target)


_FIXED: Final = (Constant, StringImm, DataTypeImm, ExternFunc)


class Operands:
    """The operands of an operator: arrays as variables, shapes and scalars as what they are."""

    def __init__(self, evaluator: Evaluator, frame: Frame) -> None:
        self.params: list[Var] = []
        self.values: list[Any] = []
        self._evaluator, self._frame = evaluator, frame
        self._numbers: list[Any] = []

    def key(self) -> tuple[Any, ...]:
        """What the tensor program depends on."""
        arrays = [(v.shape, v.dtype.str) for v in self.values if isinstance(v, np.ndarray)]
        return (*arrays, *self._numbers)

    def known(self, argument: Any) -> Any:
        """An operand with known shape and dtype, but unknown elements."""
        if isinstance(argument, Tuple):
            return Tuple([self.known(field) for field in argument.fields])
        if not isinstance(argument, RelaxExpr) or isinstance(argument, _FIXED):
            return argument
        return self._value(self._evaluator.evaluate(argument, self._frame), argument.struct_info)

    def _value(self, value: Any, info: StructInfo | None) -> Any:
        if isinstance(value, Shape):
            self._numbers.append(value)
            return ShapeExpr(value)
        if isinstance(value, (bool, int, float)):
            self._numbers.append(value)
            dtype = info.dtype if isinstance(info, PrimStructInfo) else None
            return PrimValue(const(value, dtype))
        if isinstance(value, tuple):
            self._numbers.append(len(value))
            fields = info.fields if isinstance(info, TupleStructInfo) else [None] * len(value)
            return Tuple([self._value(v, i) for v, i in zip(value, fields, strict=True)])
        self.params.append(Var(f"x{len(self.params)}", struct_info_of(value)))
        self.values.append(value)
        return self.params[-1]
