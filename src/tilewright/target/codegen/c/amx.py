"""Instructions on the tile registers of Intel's AMX, by the intrinsics that C compilers have."""

from __future__ import annotations

from typing import Final

from tilewright.ir.expr import Call, StringImm
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.emitter import FunctionEmitter, Text, emits
from tilewright.tir.tile_registers import configuration

_FUNCTIONS: Final = {
    "tir.amx_zero": "_tile_zero",
    "tir.amx_load": "TW_LOAD_TILE",
    "tir.amx_stream": "TW_STREAM_TILE",
    "tir.amx_store": "_tile_stored",
    "tir.amx_release": "_tile_release",
}


@emits("tir.amx_permit")
def _permit(emitter: FunctionEmitter, call: Call) -> Text:
    del call
    emitter.helper("raise", prelude.RAISE)
    emitter.helper("tiles", prelude.TILES)
    emitter.line("if (tw_permit_tiles() != 0) {")
    emitter.depth += 1
    emitter.leave("-1")
    emitter.depth -= 1
    emitter.line("}")
    return Text("")


@emits("tir.amx_configure")
def _configure(emitter: FunctionEmitter, call: Call) -> Text:
    rows, steps = (int(arg) for arg in call.args)  # type: ignore[call-overload]
    name = f"tw_tiles_{rows}_{steps}"
    values = ", ".join(map(str, configuration(rows, steps)))
    emitter.helper(name, f"static const uint8_t {name}[64] = {{{values}}};\n")
    return Text(f"_tile_loadconfig({name})")


@emits(*_FUNCTIONS)
def _instruction(emitter: FunctionEmitter, call: Call) -> Text:
    name = _FUNCTIONS[call.op.name]  # type: ignore[attr-defined]
    return Text(f"{name}({emitter.arguments(call.args)})")


@emits("tir.amx_multiply")
def _multiply(emitter: FunctionEmitter, call: Call) -> Text:
    kind, *tiles = call.args
    assert isinstance(kind, StringImm)
    return Text(f"_tile_dp{kind.value}({', '.join(map(emitter.code, tiles))})")
