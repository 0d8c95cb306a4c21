"""Tensor programs as object files of their own, which are compiled once and kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from tilewright.driver.helpers import with_help
from tilewright.driver.object_cache import ObjectCache, key_of, target_facts
from tilewright.driver.pipeline import for_backend, generate_code
from tilewright.driver.progress import with_bar
from tilewright.ir.expr import Call
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import Rewriter, nodes_of
from tilewright.ir.structural import Tokens
from tilewright.target import Target
from tilewright.target.codegen.llvm.support import ObjectUnit
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import nop


class UnitProgram(NamedTuple):
    """A tensor program that becomes an object file.

    Attributes:
        symbol: of its raw function.
        name: its name in the module.
        parts: the program, and those that it calls.
    """

    symbol: str
    name: GlobalVar
    parts: dict[GlobalVar, PrimFunc]


class CompiledUnit(NamedTuple):
    """A tensor program, compiled.

    Attributes:
        symbol: of its raw function.
        unit: the object file.
    """

    symbol: str
    unit: ObjectUnit


def compile_units(
    module: IRModule, names: Mapping[GlobalVar, PrimFunc], target: Target, cache: ObjectCache | None
) -> dict[GlobalVar, CompiledUnit]:
    """The tensor programs `names` of a module as object files.

    Args:
        module: where other programs are that they call.
        names: the programs.
        target: what to compile for, of the kind ``llvm``.
        cache: where object files are kept; None to compile all.
    """
    options = PassContext.current().fingerprint()
    if options is None:
        cache = None  # what the passes do is not in the key, or somebody watches them
    facts = (*target_facts(target), *(options or ()))
    found: dict[GlobalVar, CompiledUnit] = {}
    missing: dict[GlobalVar, tuple[str, UnitProgram]] = {}
    for name, function in names.items():
        parts = with_callees(module, name, function)
        tokens = Tokens()
        tokens.add(list(parts.values()))
        key = key_of((*facts, "\0".join(tokens.items), *(part.name_hint for part in parts)))
        symbol = f"{name.name_hint}_{key[:24]}"
        kept = None if cache is None else cache.get(key)
        if kept is None:
            missing[name] = key, UnitProgram(symbol, name, parts)
        else:
            found[name] = CompiledUnit(symbol, _from_bytes(kept))
    programs = [program for _, program in missing.values()]
    units = with_help(compile_unit, programs, target)
    for number, unit in with_bar(units, "compiling", len(programs)):
        symbol, name, _ = programs[number]
        found[name] = CompiledUnit(symbol, unit)
        if cache is not None:
            cache.put(missing[name][0], _to_bytes(unit))
    if cache is not None and missing:
        cache.trim()
    return {name: found[name] for name in names}


def declaration(function: PrimFunc) -> PrimFunc:
    """A function of another object file, as the functions that call it need it."""
    return function.replace(body=nop(), attrs={"tir.is_external": True})


def with_callees(
    module: IRModule, name: GlobalVar, function: PrimFunc
) -> dict[GlobalVar, PrimFunc]:
    """A function, and those that it calls, directly or not."""
    found, pending = {name: function}, [function]
    while pending:
        for call in nodes_of(pending.pop().body, Call):
            if isinstance(call.op, GlobalVar) and call.op not in found:
                callee = module.functions.get(call.op)
                if isinstance(callee, PrimFunc):
                    found[call.op] = callee.without_attr("global_symbol")
                    pending.append(callee)
    return found


def compile_unit(program: UnitProgram, target: Target) -> ObjectUnit:
    """Compile a tensor program, in this process."""
    symbol, name, parts = program
    unique = GlobalVar(symbol)
    named = rename_functions(IRModule(parts), {name: unique})  # while bodies are small
    legal = for_backend(named, target).clone()
    # The symbol says what the code is: of two in one program either may be taken.
    exported = {"tir.is_exported": True, "tir.is_hidden": True, "tir.is_weak": True}
    legal.update_func(unique, legal[unique].with_attrs(exported))
    return generate_code(legal, target).unit


def _to_bytes(unit: ObjectUnit) -> bytes:
    head = json.dumps([unit.needs, unit.externals]).encode()
    return len(head).to_bytes(4, "little") + head + unit.code


def _from_bytes(data: bytes) -> ObjectUnit:
    size = int.from_bytes(data[:4], "little")
    needs, externals = json.loads(data[4 : 4 + size])
    return ObjectUnit(data[4 + size :], tuple(needs), tuple(externals))


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
