"""Other struct info for parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax.expr import Function, Var
from tilewright.relax.struct_info import StructInfo
from tilewright.relax.transform.module_mutator import ModuleMutator


class UpdateParamStructInfo(ModulePass):
    """Change what is known of parameters, and infer again what follows from it.

    ::

        before:  def main(x: R.Tensor((4,), "float32")):
                     lv: R.Tensor((4,), "float32") = R.exp(x)
        after:   def main(x: R.Tensor((4,), "float16")):
                     lv: R.Tensor((4,), "float16") = R.exp(x)

    Args:
        sinfo_func: from a parameter to its new struct info; None for what stays.
    """

    def __init__(self, sinfo_func: Callable[[Var], StructInfo | None]) -> None:
        if not callable(sinfo_func):
            raise ArgumentError(
                "UpdateParamStructInfo: sinfo_func is a function of a parameter, got "
                f"{sinfo_func!r}"
            )
        self._sinfo_func = sinfo_func

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Update(mod, self._sinfo_func).module()


class _Update(ModuleMutator):
    def __init__(self, mod: IRModule, sinfo_func: Callable[[Var], StructInfo | None]) -> None:
        super().__init__(mod)
        self._sinfo_func = sinfo_func

    def visit_function_(self, function: Function) -> Any:
        if not self.builder_.is_in_body:
            params = tuple(map(self._updated, function.params))
            if any(new is not old for new, old in zip(params, function.params, strict=True)):
                function = function.replace(params=params)
        return super().visit_function_(function)

    def _updated(self, param: Var) -> Var:
        info = self._sinfo_func(param)
        if info is None or info is param.struct_info:
            return param
        if not isinstance(info, StructInfo):
            raise ArgumentError(f"the struct info of {param.name_hint!r} cannot be {info!r}")
        return self.with_struct_info(param, info)
