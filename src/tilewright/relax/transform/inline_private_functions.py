"""Calls of private functions are replaced by what the functions do."""

from __future__ import annotations

from typing import Any

from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax.analysis.purity import is_forced_pure
from tilewright.relax.expr import Call, Function, If, RelaxExpr, SeqExpr, Var
from tilewright.relax.size_equations import solve_sizes
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.struct_info import ObjectStructInfo
from tilewright.relax.struct_info_relation import is_base_of
from tilewright.relax.transform.module_mutator import ModuleMutator
from tilewright.relax.transform.private_functions import (
    calls_in,
    private_functions,
    recursive_functions,
)
from tilewright.relax.transform.scopes import with_joined_blocks
from tilewright.relax.transform.substitution import Substitution
from tilewright.relax.visitor import bindings_of


class InlinePrivateFunctions(ModulePass):
    """Put the body of a private function where it is called, and remove the function.

    Functions that call themselves stay, and so do those with branches that a dataflow block calls,
    which can have none, and those that are pure by the attribute ``relax.force_pure`` only, unless
    their caller is::

        before:  def helper(a):                 after:  def main(x):
                     return R.exp(a)                        lv = R.exp(x)
                 def main(x):                               return R.negative(lv)
                     lv = cls.helper(x)
                     return R.negative(lv)
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        recursive = recursive_functions(mod)
        chosen = {n: f for n, f in private_functions(mod).items() if n not in recursive}
        if not chosen:
            return mod
        inlining = _Inlining(mod, chosen)
        # Where a function is inlined, so are the calls in its body; the function itself is
        # rewritten only if another call of it stays. So each body is copied once for a call.
        waiting = [name for name in mod.functions if name.name_hint not in chosen]
        staying = set(waiting)
        changed = False
        while waiting:
            name = waiting.pop()
            function = mod.functions[name]
            if not isinstance(function, Function):
                continue
            inlined = inlining.visit_expr(function)
            if inlined is not function:
                inlining.builder_.update_func(name, with_joined_blocks(inlined))
                changed = True
            called: list[Any] = [call.op for call in calls_in(inlined)]
            for callee in called:
                if callee not in staying and callee.name_hint in chosen:
                    staying.add(callee)
                    waiting.append(callee)
        if not changed:
            return mod
        result = inlining.builder_.get()
        for name in mod.functions:
            if name not in staying:
                del result[name]
        return result


class _Inlining(ModuleMutator):
    def __init__(self, mod: IRModule, chosen: dict[str, Function]) -> None:
        super().__init__(mod)
        self._chosen = chosen
        self._is_forced_pure = False

    def visit_function_(self, function: Function) -> Any:
        if not self.builder_.is_in_body:
            self._is_forced_pure = is_forced_pure(function)
        return super().visit_function_(function)

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        if not isinstance(call.op, GlobalVar) or call.op.name_hint not in self._chosen:
            return call
        callee: Any = self._chosen[call.op.name_hint]
        if self.builder_.in_dataflow and _has_inner_scopes(callee):
            return call
        if is_forced_pure(callee) and (self.builder_.in_dataflow or not self._is_forced_pure):
            return call
        return self._emitted(self._body(callee, call.args))

    def _emitted(self, body: RelaxExpr) -> RelaxExpr:
        """Emit the bindings of a body, with calls inlined in turn; its result."""
        if not isinstance(body, SeqExpr):
            return self.visit_expr(body)
        for block in body.blocks:
            if self.builder_.in_dataflow:
                for binding in block.bindings:
                    self.visit_binding(binding)
            else:
                self.visit_binding_block(block)
        return self.visit_expr(body.body)

    def _body(self, callee: Function, args: tuple[Any, ...]) -> RelaxExpr:
        """The body for arguments, with new variables; what they must be is checked before it."""
        params = [param.struct_info or ObjectStructInfo() for param in callee.params]
        infos = [argument.struct_info or ObjectStructInfo() for argument in args]
        analyzer = self.builder_.analyzer
        sizes = solve_sizes(tuple(params), infos, analyzer)
        for param in params:  # those that only the running program knows
            for size in symbolic_vars_of(param):
                if size not in sizes:
                    sizes[size] = ScalarVar(size.name, size.dtype)
        values: dict[Var, RelaxExpr] = {}
        for param, argument in zip(callee.params, args, strict=True):
            asked = Substitution(None, sizes, analyzer)(param.struct_info or ObjectStructInfo())
            value = argument
            if not is_base_of(asked, argument.struct_info, analyzer):
                value = self.builder_.match_cast(argument, asked)
            values[param] = value
        return Substitution(values, sizes, analyzer, fresh=True)(callee.body)


def _has_inner_scopes(function: Function) -> bool:
    return any(isinstance(b.value, (If, Function, SeqExpr)) for b in bindings_of(function.body))
