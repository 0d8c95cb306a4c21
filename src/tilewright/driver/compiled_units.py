"""Tensor programs as object files of their own, which are compiled once and kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple, cast

from tilewright.driver.default import with_default_schedule
from tilewright.driver.lowering import lower
from tilewright.driver.object_cache import ObjectCache, key_of, target_facts
from tilewright.ir.expr import Call
from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import OPTIONS, PassContext
from tilewright.ir.rewrite import walk_once
from tilewright.ir.structural_hash import Tokens
from tilewright.target import Target
from tilewright.target.codegen.llvm.compile import compile_module
from tilewright.target.codegen.llvm.support import ObjectUnit
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import nop
from tilewright.tir.transform.make_packed_api import make_packed_api
from tilewright.tir.transform.pipeline import Machine, legalize_for
from tilewright.tir.transform.rename_calls import rename_functions


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
    context = PassContext.current()
    if context.option("tir.add_lower_pass"):
        cache = None  # what the passes do is not in the key
    options = (f"{option}={context.option(option)}" for option in OPTIONS)
    facts = (*target_facts(target), *options)
    found: dict[GlobalVar, CompiledUnit] = {}
    made = 0
    for name, function in names.items():
        parts = with_callees(module, name, function)
        tokens = Tokens()
        tokens.add(list(parts.values()))
        key = key_of((*facts, "\0".join(tokens.items), *(part.name_hint for part in parts)))
        symbol = f"{name.name_hint}_{key[:24]}"
        kept = None if cache is None else cache.get(key)
        if kept is not None:
            found[name] = CompiledUnit(symbol, _from_bytes(kept))
            continue
        unit = _compile(symbol, name, parts, target)
        found[name] = CompiledUnit(symbol, unit)
        if cache is not None:
            cache.put(key, _to_bytes(unit))
            made += 1
    if cache is not None and made:
        cache.trim()
    return found


def declaration(function: PrimFunc) -> PrimFunc:
    """A function of another object file, as the functions that call it need it."""
    return function.replace(body=nop(), attrs={"tir.is_external": True})


def with_callees(
    module: IRModule, name: GlobalVar, function: PrimFunc
) -> dict[GlobalVar, PrimFunc]:
    """A function, and those that it calls, directly or not."""
    found, pending = {name: function}, [function]
    while pending:
        for node in walk_once(pending.pop().body):
            if isinstance(node, Call) and isinstance(node.op, GlobalVar) and node.op not in found:
                callee = module.functions.get(node.op)
                if isinstance(callee, PrimFunc):
                    found[node.op] = callee.without_attr("global_symbol")
                    pending.append(callee)
    return found


def _compile(
    symbol: str, name: GlobalVar, parts: dict[GlobalVar, PrimFunc], target: Target
) -> ObjectUnit:
    module = IRModule(parts)
    scheduled = with_default_schedule(module, target)
    legal = legalize_for(lower(scheduled or module), cast("Machine", target))
    # The symbol says what the code is: of two in one program either may be taken.
    exported = {"tir.is_exported": True, "tir.is_hidden": True, "tir.is_weak": True}
    legal.update_func(name, legal[name].with_attrs(exported))
    named = rename_functions(legal, {name: GlobalVar(symbol)})
    return compile_module(make_packed_api(named), target).unit


def _to_bytes(unit: ObjectUnit) -> bytes:
    head = json.dumps([unit.needs, unit.externals]).encode()
    return len(head).to_bytes(4, "little") + head + unit.code


def _from_bytes(data: bytes) -> ObjectUnit:
    size = int.from_bytes(data[:4], "little")
    needs, externals = json.loads(data[4 : 4 + size])
    return ObjectUnit(data[4 + size :], tuple(needs), tuple(externals))
