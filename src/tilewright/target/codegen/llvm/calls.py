"""Calls of functions: of the module, of C, of LLVM, of the runtime, registered ones."""

from __future__ import annotations

import re
from typing import Final

from tilewright.error import CodegenError
from tilewright.ir.expr import Call, Expr
from tilewright.ir.module import GlobalVar
from tilewright.target.codegen.c_library import own_name
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.exits import printed
from tilewright.target.codegen.llvm.types import mangled, value_type

OBJECT_FUNCTIONS: Final = {
    "tir.new_array": "tilewright_new_array",
    "tir.new_tuple": "tilewright_new_tuple",
    "tir.release_objects": "tilewright_release_objects",
    "tir.own_any": "tilewright_own",
    "tir.new_view": "tilewright_new_view",
    "tir.compact_object": "tilewright_compact",
}
"""Functions of the support module that makes arrays and tuples, and copies and keeps values."""


@emits(Call)
def _call(emitter: FunctionEmitter, call: Call) -> str:
    if isinstance(call.op, GlobalVar):
        return _call_function(emitter, own_name(call.op.name_hint), call, call.args)
    emit = emits.calls.get(call.op.name)  # type: ignore[attr-defined]
    if emit is None:
        raise CodegenError(f"target llvm has no code for `{call!r}`")
    return emit(emitter, call)


def _call_function(emitter: FunctionEmitter, name: str, call: Call, args: tuple[Expr, ...]) -> str:
    """A call of a function that is defined or declared."""
    operands = ", ".join(f"{value_type(arg.dtype)} {emitter.operand(arg)}" for arg in args)
    code = f'call {value_type(call.dtype)} @"{name}"({operands})'
    if call.dtype.code == "void":
        emitter.effect(code)
        return ""
    return emitter.value(code)


def _declare_and_call(
    emitter: FunctionEmitter, name: str, call: Call, args: tuple[Expr, ...]
) -> str:
    types = tuple(value_type(arg.dtype) for arg in args)
    emitter.module.declare(name, value_type(call.dtype), types)
    return _call_function(emitter, name, call, args)


@emits("tir.call_extern", "tir.call_pure_extern")
def _call_extern(emitter: FunctionEmitter, call: Call) -> str:
    name, args = call.args[0].value, call.args[1:]  # type: ignore[attr-defined]
    emitter.module.externals[name] = None
    return _declare_and_call(emitter, name, call, args)


@emits("tir.call_llvm_intrin", "tir.call_llvm_pure_intrin")
def _call_llvm_intrin(emitter: FunctionEmitter, call: Call) -> str:
    """An LLVM intrinsic by its name, which may lack the types of overloaded ones."""
    name, args = call.args[0].value, call.args[1:]  # type: ignore[attr-defined]
    if not name.startswith("llvm."):
        raise CodegenError(f"call_llvm_intrin: {name!r} is not an LLVM intrinsic (llvm...)")
    if not re.search(r"\.(?:v\d+)?[ifp]\d+$", name):
        typed = call if call.dtype.code != "void" or not args else args[0]
        name = f"{name}.{mangled(typed.dtype)}"
    return _declare_and_call(emitter, name, call, args)


@emits("tir.print_text")
def _print_text(emitter: FunctionEmitter, call: Call) -> str:
    types, operands = printed(emitter, call.args[1:])
    text = emitter.operand(call.args[0])
    values = "".join(f", {ty} {value}" for ty, value in zip(types, operands, strict=True))
    emitter.module.declare("printf", "i32", ("ptr", "..."))
    emitter.module.declare("fflush", "i32", ("ptr",))
    emitter.effect(f"call i32 (ptr, ...) @printf(ptr {text}{values})")
    emitter.effect("call i32 @fflush(ptr null)")
    return ""


@emits("tir.tvm_call_packed_lowered")
def _tvm_call_packed_lowered(emitter: FunctionEmitter, call: Call) -> str:
    name, caller, *rest = call.args
    emitter.module.needs_packed_calls = True
    length = len(name.value.encode())  # type: ignore[attr-defined]
    operands = [f"{value_type(arg.dtype)} {emitter.operand(arg)}" for arg in rest]
    arguments = ", ".join([f"ptr {emitter.operand(caller)}", *operands])
    head = f"ptr {emitter.operand(name)}, i64 {length}"
    return emitter.value(f"call i32 @tilewright_call_packed({head}, {arguments})")


# --- objects ---------------------------------------------------------------------------------


@emits(*OBJECT_FUNCTIONS)
def _object_function(emitter: FunctionEmitter, call: Call) -> str:
    emitter.module.needs_objects = True
    name = OBJECT_FUNCTIONS[call.op.name]  # type: ignore[attr-defined]
    return _declare_and_call(emitter, name, call, call.args)


@emits("tir.has_packed")
def _has_packed(emitter: FunctionEmitter, call: Call) -> str:
    emitter.module.needs_objects = True
    name = call.args[0]
    length = len(name.value.encode())  # type: ignore[attr-defined]
    function = emitter.module.declare("tilewright_has_packed", "i1", ("ptr", "i64"))
    return emitter.value(f"call i1 {function}(ptr {emitter.operand(name)}, i64 {length})")


@emits("tir.lookup_param")
def _lookup_param(emitter: FunctionEmitter, call: Call) -> str:
    return emitter.module.param(call.args[0].value)  # type: ignore[attr-defined]
