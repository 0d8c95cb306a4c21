"""Functions inside of functions become functions of the module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk
from tilewright.ir.transform import ModulePass
from tilewright.relax import op
from tilewright.relax.analysis import defined_symbolic_vars, free_symbolic_vars, free_vars
from tilewright.relax.expr import Call, Function, RelaxExpr, ShapeExpr, Var, VarBinding
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.struct_info import FuncStructInfo, ShapeStructInfo
from tilewright.relax.transform.function_pass import ModuleMutator
from tilewright.relax.transform.scopes import Substitution


class LambdaLift(ModulePass):
    """Move functions inside of functions to the module.

    Variables from around become parameters. A function that is only called is called with them; one
    that is a value becomes a closure::

        before:  @R.function                    after:  @R.function(private=True)
                 def inner(a):                          def lifted_inner(a, x):
                     return R.add(a, x)                     return R.add(a, x)
                 lv = inner(y)                          ...
                                                        lv = cls.lifted_inner(y, x)
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return _Lifting(mod).module()


class _Lifting(ModuleMutator):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._values: set[Var] = set()
        """Variables that are used as values, not only called."""
        self._called: dict[Var, tuple[GlobalVar, list[RelaxExpr]]] = {}
        """The lifted function and its additional arguments, by function that is only called."""

    def begin_function(self, function: Function) -> Function:
        self._values = _used_as_values(function)
        return function

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if not isinstance(binding.value, Function):
            super().visit_var_binding_(binding)
            return
        inner: Function = self.visit_expr(binding.value)
        own = binding.var
        captured = [var for var in free_vars(inner) if var is not own]
        sizes = free_symbolic_vars(inner)
        extra: list[RelaxExpr] = [*captured]
        if sizes:
            extra.append(ShapeExpr(sizes))
        name = GlobalVar(self._unused_name(f"lifted_{own.name_hint}"))
        self.builder_.update_func(name, _closed(inner, own, name, captured, sizes))
        if not extra:
            self.set_var_remap(own, name)
        elif own in self._values:
            self.reemit_binding(binding, op.make_closure(name, extra))
        else:
            self._called[own] = (name, extra)

    def _unused_name(self, prefix: str) -> str:
        name, number = prefix, 0
        while self.builder_.has_function(name):
            number += 1
            name = f"{prefix}{number}"
        return name

    def visit_call_(self, call: Call) -> Any:
        callee = call.op
        if isinstance(callee, Var) and callee in self._called:
            name, extra = self._called[callee]
            args = [self.visit_expr(argument) for argument in call.args]
            return Call(name, [*args, *extra], call.attrs, call.sinfo_args, None, call.span)
        changed = super().visit_call_(call)
        if isinstance(callee, Var) and isinstance(changed.op, Var) and changed.op is not callee:
            return _closure_call(changed, callee, call)
        return changed


def _closure_call(changed: Call, callee: Var, call: Call) -> Call:
    """The call of a value that `make_closure` gave."""
    info = callee.struct_info
    is_pure = isinstance(info, FuncStructInfo) and info.purity
    invoke = op.invoke_pure_closure if is_pure else op.invoke_closure
    closure: Any = changed.op
    return invoke(closure, changed.args, sinfo_args=call.struct_info)


def _used_as_values(function: Function) -> set[Var]:
    """The variables that are used otherwise than in being called."""
    uses: Counter[Var] = Counter()
    for node in walk(function):
        if isinstance(node, Var):
            uses[node] += 1
        elif isinstance(node, Call) and isinstance(node.op, Var):
            uses[node.op] -= 1
    return {var for var, count in uses.items() if count > 0}


def _closed(
    inner: Function,
    own: Var,
    name: GlobalVar,
    captured: Sequence[Var],
    sizes: Sequence[ScalarVar],
) -> Function:
    """The lifted function: captured variables become parameters, after its own."""
    fresh = {s: ScalarVar(s.name, s.dtype) for s in (*defined_symbolic_vars(inner), *sizes)}
    for var in captured:
        if var.struct_info is not None:
            for size in symbolic_vars_of(var.struct_info):
                fresh.setdefault(size, ScalarVar(size.name, size.dtype))
    extra = [Var(var.name_hint, var.struct_info) for var in captured]
    if sizes:
        extra.append(Var("sizes", ShapeStructInfo(list(sizes))))
    lifted = inner.replace(params=(*inner.params, *extra))
    variables = dict(zip(captured, extra, strict=False))
    return _Recursion(own, name, extra, variables, fresh)(lifted)


class _Recursion(Substitution):
    """Renames everything, and lets recursive calls pass on the captured variables."""

    def __init__(
        self, own: Var, name: GlobalVar, extra: Sequence[Var], variables: Any, sizes: Any
    ) -> None:
        super().__init__(variables, sizes, fresh=True)
        self._own, self._name, self._extra = own, name, extra

    def RelaxCall(self, call: Call) -> Call:
        if call.op is not self._own:
            return super().RelaxCall(call)
        # A call names the function of the module, which is bound nowhere.
        args = [*map(self, call.args), *map(self, self._extra)]
        info = None if call.struct_info is None else self(call.struct_info)
        infos = [self(sinfo) for sinfo in call.sinfo_args]
        return Call(self._name, args, call.attrs, infos, info, call.span)

    def variable(self, var: Var) -> RelaxExpr:
        if var is self._own:
            raise ArgumentError(
                f"{var.name_hint!r} is a value inside of itself; only calls of itself can be lifted"
            )
        return super().variable(var)

    RelaxVar = DataflowVar = variable
