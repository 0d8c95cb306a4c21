"""Private functions, which only the module itself calls directly, and their inlining."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk
from tilewright.ir.transform import ModulePass
from tilewright.relax.analysis.functions import is_forced_pure
from tilewright.relax.expr import Call, ExternFunc, Function, If, RelaxExpr, SeqExpr, Var
from tilewright.relax.sizes import solve_sizes, symbolic_vars_of
from tilewright.relax.struct_info import ObjectStructInfo
from tilewright.relax.struct_info_relation import is_base_of
from tilewright.relax.transform.function_pass import ModuleMutator
from tilewright.relax.transform.scopes import Substitution
from tilewright.relax.visitor import bindings_of


def private_functions(mod: IRModule) -> dict[str, Function]:
    """Graph functions whose calls are all known, so that they can be changed, by name.

    They are not exported, no name refers to them, and they are nobody's argument.
    """
    called = only_called(mod)
    return {
        name.name_hint: function
        for name, function in mod.functions.items()
        if isinstance(function, Function)
        and function.global_symbol is None
        and name.name_hint in called
    }


def only_called(mod: IRModule) -> set[str]:
    """Names of functions that are called, and never used otherwise."""
    others: Counter[str] = Counter()
    called: set[str] = set()
    for function in mod.functions.values():
        for node in walk(function):
            if isinstance(node, GlobalVar):
                others[node.name_hint] += 1
            elif isinstance(node, ExternFunc):
                others[node.global_symbol] += 1
            elif isinstance(node, Call) and isinstance(node.op, GlobalVar):
                others[node.op.name_hint] -= 1
                called.add(node.op.name_hint)
    return {name for name in called if not others[name]}


def calls_in(function: BaseFunc) -> Iterator[Call]:
    """The calls of functions of the module in a graph function."""
    for node in walk(function):
        if isinstance(node, Call) and isinstance(node.op, GlobalVar):
            yield node


def callees_first(mod: IRModule) -> list[GlobalVar]:
    """The graph functions of a module, each after those that it calls, but for recursion."""
    order: dict[GlobalVar, None] = {}
    started: set[GlobalVar] = set()
    waiting = list(mod.functions)[::-1]
    while waiting:
        name = waiting[-1]
        function = mod.functions.get(name)
        if isinstance(function, Function) and name not in started:
            started.add(name)
            callees: list[Any] = [call.op for call in calls_in(function)]
            waiting += [callee for callee in callees if callee not in started][::-1]
            continue
        waiting.pop()
        if name in started:  # and so are its callees
            order[name] = None
    return list(order)


def recursive_functions(mod: IRModule) -> set[str]:
    """The names of functions that call themselves, directly or not.

    They are the strongly connected components of more than one function, found by Kosaraju's
    algorithm, and the functions that call themselves directly.
    """
    order = callees_first(mod)
    callers: dict[Any, list[GlobalVar]] = {name: [] for name in order}
    for name in order:
        for call in calls_in(mod.functions[name]):
            callers.setdefault(call.op, []).append(name)
    recursive: set[str] = set()
    seen: set[GlobalVar] = set()
    for root in reversed(order):
        component: list[GlobalVar] = []
        waiting = [root]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                component.append(name)
                waiting += callers[name]
        if len(component) > 1 or root in callers[root]:
            recursive.update(name.name_hint for name in component)
    return recursive


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
                inlining.builder_.update_func(name, inlined)
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

    def begin_function(self, function: Function) -> Function:
        self._is_forced_pure = is_forced_pure(function)
        return function

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
