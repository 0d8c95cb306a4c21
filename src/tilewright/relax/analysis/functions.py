"""Questions about whole functions: effects, recursion, memory, what can be computed beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import walk_once
from tilewright.providers import provider
from tilewright.relax.analysis.variables import all_global_vars, free_vars
from tilewright.relax.expr import Call, ExternFunc, Function, If, Var
from tilewright.relax.sizes import size_text
from tilewright.relax.struct_info import FuncStructInfo, StructInfo
from tilewright.relax.visitor import PyExprVisitor, bindings_of
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


def writes_arguments(value: object) -> bool:
    """Whether `value` is a call that writes its results over arguments."""
    return isinstance(value, Call) and "inplace_indices" in value.attrs


def writing_functions(module: IRModule) -> set[GlobalVar]:
    """The graph functions that write over arrays, or call one that does."""
    callers: dict[GlobalVar, set[GlobalVar]] = {}
    waiting: list[GlobalVar] = []
    for name, function in module.functions.items():
        for node in walk_once(function) if isinstance(function, Function) else ():
            if isinstance(node, Call) and isinstance(node.op, GlobalVar):
                callers.setdefault(node.op, set()).add(name)
            elif writes_arguments(node):
                waiting.append(name)
    found: set[GlobalVar] = set()
    while waiting:
        writer = waiting.pop()
        if writer not in found:
            found.add(writer)
            waiting += callers.get(writer, ())
    return found


def detect_recursion(mod: IRModule) -> list[list[GlobalVar]]:
    """The groups of graph functions that call each other, directly or not.

    A function that calls itself and no other of its callers is a group of one.
    """
    calls = {
        name: [callee for callee in all_global_vars(function) if _is_graph(mod, callee)]
        for name, function in mod.functions.items()
        if isinstance(function, Function)
    }
    return [
        group
        for group in _components(calls)
        if len(group) > 1 or any(callee == group[0] for callee in calls[group[0]])
    ]


def _is_graph(mod: IRModule, name: GlobalVar) -> bool:
    return isinstance(mod.functions.get(name), Function)


def _components(graph: dict[GlobalVar, list[GlobalVar]]) -> list[list[GlobalVar]]:
    """The strongly connected components (Tarjan 1972), each in the order of `graph`."""
    order = {name: position for position, name in enumerate(graph)}
    number: dict[GlobalVar, int] = {}
    lowest: dict[GlobalVar, int] = {}
    path: dict[GlobalVar, None] = {}
    components: list[list[GlobalVar]] = []
    waiting: list[tuple[GlobalVar, Iterator[GlobalVar]]] = []

    def begin(name: GlobalVar) -> None:
        number[name] = lowest[name] = len(number)
        path[name] = None
        waiting.append((name, iter(graph[name])))

    def end(name: GlobalVar) -> None:
        if waiting:
            caller = waiting[-1][0]
            lowest[caller] = min(lowest[caller], lowest[name])
        if lowest[name] == number[name]:
            group = []
            while not group or group[-1] != name:
                group.append(path.popitem()[0])
            components.append(sorted(group, key=order.__getitem__))

    for root in graph:
        if root not in number:
            begin(root)
        while waiting:
            name, callees = waiting[-1]
            callee = next(callees, None)
            if callee is None:
                waiting.pop()
                end(name)
            elif callee not in number:
                begin(callee)
            elif callee in path:
                lowest[name] = min(lowest[name], number[callee])
    return sorted(components, key=lambda group: order[group[0]])


def computable_at_compile_time(func: Function) -> list[Var]:
    """The variables of a function that do not depend on what is only known when it runs.

    The attribute ``num_input`` of the function says how many of its first parameters are given
    anew at each call; the others, weights, are known before. Without it all are given anew.
    """
    count = func.attrs.get("num_input")
    first = len(func.params) if count is None else int(getattr(count, "value", count))
    known = set(func.params[first:])
    found = []
    for binding in bindings_of(func):
        if _is_computable(binding.value) and known.issuperset(free_vars(binding.value)):
            known.add(binding.var)
            found.append(binding.var)
    return found


def _is_computable(value: Any) -> bool:
    return not isinstance(value, (Function, If)) and not (
        isinstance(value, Call) and is_impure_call(value)
    )


def remove_all_unused(func: Function) -> Function:
    """A function without bindings that nothing uses and that have no effect."""
    elimination = provider("graph passes").DeadCodeElimination(["main"])
    return elimination(IRModule({"main": func}))["main"]


def estimate_memory_usage(mod: IRModule | Function) -> str:
    """A text with the memory for temporary arrays that a call of each graph function takes.

    Arrays that are not needed at the same time share memory. Results, constants and arrays inside
    of tensor programs do not count.

    Args:
        mod: a module, or a function that calls none of its module.
    """
    if isinstance(mod, Function):
        mod = IRModule({mod.global_symbol or "main": mod})
    legal = provider("graph passes").LegalizeOps()(mod)
    graphs = provider("graph compiler").graph_programs(legal)
    lines = ["Memory for temporary arrays:"]
    for name, plan in graphs.plans.items():
        lines.append(
            f"- {name.name_hint}: {size_text(plan.size)} bytes, {len(plan.offsets)} arrays; "
            f"{size_text(plan.unshared_size)} bytes if none shared memory"
        )
    lines += [f"- {name.name_hint}: not known, {why}" for name, why in graphs.reasons.items()]
    return "\n".join(lines)
