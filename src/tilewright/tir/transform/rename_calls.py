"""Functions of a module under other names, also where they are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.ir.expr import Call
from tilewright.ir.function import BaseFunc, GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.function import PrimFunc


def rename_functions(module: IRModule, names: Mapping[GlobalVar, GlobalVar]) -> IRModule:
    """`module` with the functions that are keys of `names` under the names that are their values.

    Args:
        module: tensor programs.
        names: new names, which no other function has.
    """
    renaming = _Renaming(names)
    functions: dict[Any, BaseFunc] = {}
    for name, function in module.functions.items():
        if isinstance(function, PrimFunc):
            body = renaming(function.body)
            function = function if body is function.body else function.with_body(body)
        functions[names.get(name, name)] = function
    return IRModule(functions, module.attrs, module.global_infos)


class _Renaming(Rewriter):
    def __init__(self, names: Mapping[GlobalVar, GlobalVar]) -> None:
        self._names = names

    def Call(self, call: Call) -> Call:
        changed = call.map_children(self)
        renamed = self._names.get(changed.op) if isinstance(changed.op, GlobalVar) else None
        return changed if renamed is None else changed.replace(op=renamed)
