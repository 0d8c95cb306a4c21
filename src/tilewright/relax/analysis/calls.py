"""Which functions call each other, and what can be computed before a program runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.ir.module import GlobalVar, IRModule
from tilewright.providers import provider
from tilewright.relax.analysis.purity import is_impure_call
from tilewright.relax.analysis.variables import all_global_vars, free_vars
from tilewright.relax.expr import Call, Function, If, Var
from tilewright.relax.visitor import bindings_of


def detect_recursion(mod: IRModule) -> list[list[GlobalVar]]:
    """The groups of graph functions of which each calls all of its group, directly or not.

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
