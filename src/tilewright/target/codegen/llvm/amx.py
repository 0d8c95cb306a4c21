"""Instructions on the tile registers of Intel's AMX."""

from __future__ import annotations

from typing import Final

from tilewright.ir.expr import Call, StringImm, is_const_int
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.helper_functions import PERMIT_TILES
from tilewright.target.codegen.llvm.statements import leave_if_failed
from tilewright.tir.tile_registers import configuration

_INTRINSICS: Final = {
    "tir.amx_zero": "llvm.x86.tilezero",
    "tir.amx_load": "llvm.x86.tileloadd64",
    "tir.amx_stream": "llvm.x86.tileloaddt164",
    "tir.amx_store": "llvm.x86.tilestored64",
    "tir.amx_release": "llvm.x86.tilerelease",
}

_ADDITION: Final = "vaddss $1, $1, $0"
"""Keeps the units of floats awake. They sleep when they have nothing to do, but stores of tile
registers need them, and wait for 300 ns after a long sum, as measured on a Xeon. One addition in
each step runs beside the multiplications."""

_TYPES: Final = ("i8", "ptr", "i64")
"""Of a tile, an address, and the bytes between rows."""


@emits("tir.amx_permit")
def _permit(emitter: FunctionEmitter, call: Call) -> str:
    del call
    if "linux" in emitter.module.target.triple:
        emitter.module.needs_tiles = True
        leave_if_failed(emitter, emitter.value(f"call i32 @{PERMIT_TILES}()"))
    return ""


@emits("tir.amx_configure")
def _configure(emitter: FunctionEmitter, call: Call) -> str:
    module = emitter.module
    sizes = [int(arg) for arg in call.args]  # type: ignore[call-overload]
    values = list(map(str, configuration(*sizes)))
    function = module.declare("llvm.x86.ldtilecfg", "void", ("ptr",))
    emitter.effect(f"call void {function}(ptr {module.constant_array('i8', values, len(values))})")
    return ""


@emits(*_INTRINSICS)
def _instruction(emitter: FunctionEmitter, call: Call) -> str:
    types = _TYPES[: len(call.args)]
    name = _INTRINSICS[call.op.name]  # type: ignore[attr-defined]
    operands = [emitter.operand(arg) for arg in call.args]
    function = emitter.module.declare(name, "void", types)
    arguments = ", ".join(f"{ty} {value}" for ty, value in zip(types, operands, strict=True))
    emitter.effect(f"call void {function}({arguments})")
    return ""


@emits("tir.amx_multiply")
def _multiply(emitter: FunctionEmitter, call: Call) -> str:
    kind, *tiles = call.args
    assert isinstance(kind, StringImm)
    if is_const_int(tiles[0], 0):  # once for a block
        emitter.effect(f'call float asm sideeffect "{_ADDITION}", "=x,x"(float 1.0)')
    function = emitter.module.declare(f"llvm.x86.tdp{kind.value}", "void", ("i8", "i8", "i8"))
    arguments = ", ".join(f"i8 {emitter.operand(tile)}" for tile in tiles)
    emitter.effect(f"call void {function}({arguments})")
    return ""
