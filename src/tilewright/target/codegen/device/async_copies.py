"""Copies into shared memory that run in the background: ``cp.async``."""

from __future__ import annotations

from tilewright.error import CodegenError
from tilewright.ir.expr import Call, Expr, Var, const_int_value
from tilewright.target.codegen.c.emitter import Text
from tilewright.target.codegen.c.integers import index
from tilewright.target.codegen.device.emitter import KernelEmitter, emits


@emits("tir.ptx_cp_async")
def _copy(emitter: KernelEmitter, call: Call) -> Text:
    to, to_offset, source, offset, size = call.args
    number = const_int_value(size)
    if number not in (4, 8, 16):
        raise CodegenError(f"ptx_cp_async: a copy is of 4, 8 or 16 bytes, got {size}")
    _require_copies(emitter)
    places = (_place(emitter, to, to_offset), _place(emitter, source, offset))
    return Text(f"tw_copy_async({', '.join(places)}, {number})")


def _place(emitter: KernelEmitter, pointer: Expr, offset: Expr) -> str:
    if not isinstance(pointer, Var):
        raise CodegenError(f"ptx_cp_async: expected the memory of a buffer, got {pointer!r}")
    return f"&{emitter.name_of(pointer)}[{index(emitter, offset)}]"


@emits("tir.ptx_commit_group")
def _group(emitter: KernelEmitter, call: Call) -> Text:
    del call
    _require_copies(emitter)
    return Text("tw_commit_copies()")


@emits("tir.ptx_wait_group")
def _wait(emitter: KernelEmitter, call: Call) -> Text:
    number = const_int_value(call.args[0])
    if number is None or number < 0:
        raise CodegenError(f"ptx_wait_group: expected a number of groups, got {call.args[0]}")
    _require_copies(emitter)
    return Text(f"tw_wait_copies({number})")


def _require_copies(emitter: KernelEmitter) -> None:
    emitter.helper("copy_async", emitter.dialect.copy_async)
