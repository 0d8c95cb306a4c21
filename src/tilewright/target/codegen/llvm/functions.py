"""Whole functions in LLVM IR."""

from __future__ import annotations

from tilewright.error import CodegenError
from tilewright.ir.dtype import PointerType, PrimType
from tilewright.ir.expr import Var
from tilewright.target.codegen import own_name
from tilewright.target.codegen.llvm import (  # noqa: F401, their emitters
    addresses,
    allocations,
    amx,
    arithmetic,
    calls,
    conversions,
    dot_products,
    intrinsics,
    loops,
    memory,
    statements,
)  # fmt: skip
from tilewright.target.codegen.llvm.emitter import FunctionEmitter
from tilewright.target.codegen.llvm.helper_functions import COLD, SHARED
from tilewright.target.codegen.llvm.loops import can_poll
from tilewright.target.codegen.llvm.module import ModuleText, attributes_of
from tilewright.target.codegen.llvm.types import value_type
from tilewright.tir.function import PrimFunc


def write_function(module: ModuleText, name: str, func: PrimFunc) -> str:
    """The definition of `func` under the given name."""
    if func.buffer_map:
        raise CodegenError(f"function {name} has buffer parameters; lower its calls first")
    emitter = FunctionEmitter(module)
    noalias = bool(func.attrs.get("tir.noalias", False))
    parameters = ", ".join(_parameter(emitter, param, noalias) for param in func.params)
    if func.ret_type is None:
        emitter.result_type = "void"
    elif isinstance(func.ret_type, PrimType):
        emitter.result_type = value_type(func.ret_type.dtype)
    emitter.name = name
    emitter.polls = emitter.result_type == "i32" and can_poll(func, module.target)
    emitter.statement(func.body)
    if not emitter.drop_unreachable():
        emitter.leave("zeroinitializer")
        emitter.drop_unreachable()
    exported = "calling_conv" in func.attrs or bool(func.attrs.get("tir.is_exported", False))
    if exported:
        module.exported.append(name)
    internal = SHARED if func.attrs.get("tir.is_shared", False) else "internal "
    weak = "weak_odr " if func.attrs.get("tir.is_weak", False) else ""
    visibility = "hidden " if func.attrs.get("tir.is_hidden", False) else ""
    linkage = weak + visibility if exported else internal
    symbol = name if exported else own_name(name)
    speed = COLD if func.attrs.get("tir.is_cold", False) else ""
    body = "\n".join(["entry:", *emitter.entry, *emitter.region.lines])
    attributes = f"{attributes_of(body)} {speed}"
    head = f'define {linkage}{emitter.result_type} @"{symbol}"({parameters}) {attributes} {{'
    return f"{head}\n{body}\n}}"


def _parameter(emitter: FunctionEmitter, param: Var, noalias: bool) -> str:
    register = emitter.variables[param] = emitter.fresh("%p")
    ty = value_type(param.dtype)
    if noalias and isinstance(param.type_annotation, PointerType):
        emitter.unaliased.add(register)
        return f"{ty} noalias {register}"
    return f"{ty} {register}"
