"""Whether evaluating a part of a graph has an effect besides its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.op import CallEffectKind, Op
from tilewright.relax.expr import Call, ExternFunc, Function
from tilewright.relax.struct_info import FuncStructInfo, StructInfo
from tilewright.relax.visitor import PyExprVisitor
from tilewright.tir.function import PrimFunc

FORCE_PURE: Final = "relax.force_pure"
"""The attribute of a function that is pure whatever it calls."""

SignatureOf = Callable[[GlobalVar], "StructInfo | None"]


def is_impure_call(call: Call, signature_of: SignatureOf | None = None) -> bool:
    """Whether a call may have an effect; what is not known to be pure may.

    Args:
        call: the call.
        signature_of: what is known of the functions of the module.
    """
    callee = call.op
    if isinstance(callee, Op):
        return callee.effect > CallEffectKind.PURE
    if isinstance(callee, ExternFunc):
        return True
    if isinstance(callee, GlobalVar):
        info = signature_of(callee) if signature_of is not None else None
    else:
        info = callee.struct_info
    return not (isinstance(info, FuncStructInfo) and info.purity)


def is_forced_pure(function: Function) -> bool:
    """Whether a function is known to be pure whatever it calls."""
    return bool(int(function.attrs.get(FORCE_PURE, False)))


class _Purity(PyExprVisitor):
    def __init__(self, signature_of: SignatureOf | None, own_name: Any) -> None:
        self._signature_of, self._own_name = signature_of, own_name
        self.impure: list[Call] = []

    def visit_call_(self, call: Call) -> None:
        is_recursion = call.op is self._own_name or (
            isinstance(call.op, GlobalVar)
            and isinstance(self._own_name, GlobalVar)
            and call.op.name_hint == self._own_name.name_hint
        )
        if not is_recursion and is_impure_call(call, self._signature_of):
            self.impure.append(call)
        super().visit_call_(call)

    def visit_function_(self, function: Function) -> None:
        """A function inside has effects only where it is called."""


def contains_impure_call(expr: Any, own_name: Any = None, module: IRModule | None = None) -> bool:
    """Whether evaluating an expression, or calling a function, may have an effect.

    Args:
        expr: the expression or the function.
        own_name: the variable or `GlobalVar` of the function itself: calls of it do not count.
        module: where the functions are that are called by name.
    """
    visitor = _Purity(None if module is None else signatures_of(module), own_name)
    visitor.visit_expr(expr.body if isinstance(expr, Function) else expr)
    return bool(visitor.impure)


def signatures_of(module: IRModule) -> SignatureOf:
    """What is known of each function of a module."""

    def signature(name: GlobalVar) -> StructInfo | None:
        function = module.functions.get(name)
        if isinstance(function, Function):
            return function.struct_info
        return FuncStructInfo.opaque_func() if isinstance(function, PrimFunc) else None

    return signature
