"""Graph functions that only other functions of the module call, directly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tilewright.ir.function import BaseFunc, GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.rewrite import walk
from tilewright.relax.expr import Call, ExternFunc, Function


def private_functions(mod: IRModule) -> dict[str, Function]:
    """By name, the graph functions of which all calls are known, so that they can be changed.

    They are not exported, no name refers to them, and they are nobody's argument.
    """
    mentions: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    for function in mod.functions.values():
        for node in walk(function):
            if isinstance(node, GlobalVar):
                mentions[node.name_hint] += 1
            elif isinstance(node, ExternFunc):
                mentions[node.global_symbol] += 1
            elif isinstance(node, Call) and isinstance(node.op, GlobalVar):
                calls[node.op.name_hint] += 1
    return {
        name.name_hint: function
        for name, function in mod.functions.items()
        if isinstance(function, Function)
        and function.global_symbol is None
        and calls[name.name_hint] == mentions[name.name_hint] > 0
    }


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
