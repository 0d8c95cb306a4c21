"""The module that functions are added to while they are built."""

from __future__ import annotations

from tilewright.error import ArgumentError
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.relax.expr import Function
from tilewright.relax.scope import Names
from tilewright.relax.shared_functions import SharedFunctions
from tilewright.relax.struct_info import FuncStructInfo, StructInfo, TupleStructInfo


class ModuleBuilder:
    """Builds a module: functions under names that are each given once.

    Args:
        mod: the module to begin with, which is not changed.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        if not isinstance(mod, IRModule | None):
            raise ArgumentError(f"expected an IRModule to begin with, got {mod!r}")
        self._module = IRModule() if mod is None else mod.clone()
        self._shared = SharedFunctions(self._module)
        self._signatures: dict[str, StructInfo] = {}
        self._function_names = Names()
        for name in self._module.functions:
            self._function_names.reserve(name.name_hint)

    def get(self) -> IRModule:
        """The module, with all functions that are finished."""
        return self._module.clone()

    def add_func(self, func: BaseFunc, func_name: str) -> GlobalVar:
        """Add a function under `func_name`, with a number if the name is taken.

        A tensor program that is not exported and equals one of the module is not added again.
        """
        shared = self._shared.find(func)
        if shared is not None:
            return self._module.get_global_var(shared.name_hint)
        name = self._function_names.unique(func_name)
        self.update_func(GlobalVar(name), func)
        return self._module.get_global_var(name)

    def update_func(self, gv: GlobalVar, updated_func: BaseFunc) -> None:
        """Set the function named by `gv`."""
        self._function_names.reserve(gv.name_hint)
        self._module.update_func(gv, updated_func)
        self._shared.add(gv, updated_func)

    def has_function(self, name: str) -> bool:
        """Whether a function of that name is finished."""
        return name in self._module

    def lookup_function(self, name: GlobalVar) -> BaseFunc:
        """The finished function named `name`."""
        return self._module[name]

    def declare_func(self, name: str, signature: StructInfo) -> GlobalVar:
        """Make known a function of the module that is built later."""
        self._function_names.reserve(name)
        self._signatures[name] = signature
        return GlobalVar(name)

    def reserve_name(self, name: str) -> None:
        """Give `name` to no function that `add_func` adds."""
        self._function_names.reserve(name)

    def signature_of(self, gv: GlobalVar) -> StructInfo | None:
        """What is known of a function of the module; None if there is none."""
        declared = self._signatures.get(gv.name_hint)
        function = self._module.functions.get(gv)
        if isinstance(function, Function):
            return function.struct_info
        if function is None:
            return declared
        # Tensor programs write into their arguments.
        return FuncStructInfo.opaque_func(ret=TupleStructInfo(()))
