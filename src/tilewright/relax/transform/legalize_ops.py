"""Graph operators become calls of tensor programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax.expr import Call
from tilewright.relax.op.table import Legalize, operator_of
from tilewright.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from tilewright.relax.transform.module_mutator import ModuleMutator
from tilewright.relax.transform.repeated_calls import RepeatedCalls


class LegalizeOps(ModulePass):
    """Replace operators by calls of tensor programs that compute them.

    The tensor programs are added to the module; equal ones are shared::

        before:  lv = R.add(x, y)
        after:   lv = R.call_tir(cls.add, (x, y), out_sinfo=R.Tensor((n, 4), dtype="float32"))

    An operator stays where the rank or the dtype of an argument is not known.

    Args:
        customize_legalize_map: by operator, or its name, a function ``(builder, call) -> expr``
            that is taken instead of the one of the operator.
        enable_warning: whether to warn of operators that stay.
    """

    def __init__(
        self,
        customize_legalize_map: Mapping[str | Op, Legalize] | None = None,
        enable_warning: bool = False,
    ) -> None:
        if not isinstance(customize_legalize_map, Mapping | None):
            raise ArgumentError(
                "LegalizeOps: customize_legalize_map is a dictionary from names of operators to "
                f"functions, got a {type(customize_legalize_map).__name__}"
            )
        self._own = {
            name if isinstance(name, Op) else Op.get(name): _function(name, own)
            for name, own in (customize_legalize_map or {}).items()
        }
        self._enable_warning = enable_warning

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Legalization(mod, self._own, self._enable_warning).module()


def _function(name: str | Op, own: Any) -> Callable[..., Any]:
    if not callable(own):
        raise ArgumentError(f"customize_legalize_map: {name!r} needs a function, got {own!r}")
    return own


class _Legalization(ModuleMutator):
    def __init__(self, mod: IRModule, own: Mapping[Op, Legalize], enable_warning: bool) -> None:
        super().__init__(mod)
        self._own, self._enable_warning = own, enable_warning
        self._repeated = RepeatedCalls()

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        entry = operator_of(call)
        legalize = None if entry is None else self._own.get(entry.op, entry.legalize)
        if entry is None or legalize is None:
            return call
        call = self.builder_.normalize(call)
        unknown = [info for argument in call.args for info in _unknown(argument)]
        if not unknown:
            if legalize is not entry.legalize:  # a user's, which may do anything
                result = legalize(self.builder_, call)
                if result is None:
                    raise ArgumentError(
                        f"customize_legalize_map: the function for {entry.op.name!r} gave None; "
                        "return an expression, or the call to leave it"
                    )
                return result
            scope = self.builder_.function_scope
            return self._repeated.legalized(
                call, lambda: legalize(self.builder_, call), lambda: len(scope.bound)
            )
        if self._enable_warning:
            warnings.warn(
                f"LegalizeOps: {entry.op.name} stays, because of an argument only "
                f"{unknown[0]!r} is known",
                RuntimeWarning,
                stacklevel=2,
            )
        return call


def _unknown(argument: Any) -> list[StructInfo]:
    """The parts of what is known of an argument that do not say enough for a tensor program."""
    return _unknown_parts(getattr(argument, "struct_info", None))


def _unknown_parts(info: StructInfo | None) -> list[StructInfo]:
    """The parts of struct info that do not say enough for a tensor program."""
    if isinstance(info, TupleStructInfo):
        return [part for field in info.fields for part in _unknown_parts(field)]
    if isinstance(info, TensorStructInfo) and (info.ndim == -1 or info.dtype is None):
        return [info]
    return []
