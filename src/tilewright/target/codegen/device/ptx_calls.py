"""``ptx_mma`` and ``ptx_ldmatrix``, which programs call for the registers of one thread.

The memory of a thread that they get has its part of a tile, as the PTX manual says in the chapter
"Warp-level matrix instructions using mma". Registers have 32 bits, so that several small elements
are one.
"""

from __future__ import annotations

import re
from typing import Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Expr, StringImm, Var, const_int_value
from tilewright.target.codegen.c.emitter import Text
from tilewright.target.codegen.c.integers import index
from tilewright.target.codegen.device.emitter import KernelEmitter, emits
from tilewright.target.codegen.device.tensor_cores import Tile, load_matrices, multiply_tiles
from tilewright.tir.tile_operations import TileOperation

_DTYPES: Final = {
    "fp16": "float16", "float16": "float16", "bf16": "bfloat16", "bfloat16": "bfloat16",
    "fp32": "float32", "float32": "float32", "tf32": "float32", "int8": "int8", "s8": "int8",
    "uint8": "uint8", "u8": "uint8", "int32": "int32", "s32": "int32",
}  # fmt: skip

_SHAPES: Final = {
    "float16": ("m16n8k8", "m16n8k16"),
    "bfloat16": ("m16n8k8", "m16n8k16"),
    "float32": ("m16n8k4", "m16n8k8"),
    "int8": ("m16n8k16", "m16n8k32"),
    "uint8": ("m16n8k16", "m16n8k32"),
}
"""Shapes of products by the type of operands."""


@emits("tir.ptx_mma")
def _multiply(emitter: KernelEmitter, call: Call) -> Text:
    _require_cuda(emitter, "ptx_mma")
    shape, a_layout, b_layout, *types = (_text(argument) for argument in call.args[:6])
    a, a_index, b, b_index, c, c_index, saturate = call.args[6:13]
    dtypes = [_DTYPES.get(name, "") for name in types]
    if dtypes[0] != dtypes[1] or shape not in _SHAPES.get(dtypes[0], ()):
        raise CodegenError(
            f"ptx_mma: there is no product {shape} of {types[0]} and {types[1]}; of float16 there "
            f"are {' and '.join(_SHAPES['float16'])}"
        )
    if (a_layout, b_layout) != ("row", "col"):
        raise CodegenError(f"ptx_mma: layouts are row and col, got {a_layout} and {b_layout}")
    if const_int_value(saturate) or len(call.args) > 13:
        raise CodegenError("ptx_mma: there is no code for saturation, or for products of bits")
    m, n, k = map(int, re.findall(r"\d+", shape))
    operation = TileOperation("multiply", "mma", m, n, k, ("row", "col"))
    tile = Tile(operation, tuple(map(DType, (dtypes[2], dtypes[0], dtypes[1]))))
    emitter.helper(tile.name, multiply_tiles(tile))
    sums = "float" if dtypes[2] == "float32" else "int32_t" if dtypes[2] == "int32" else "uint32_t"
    places = [
        f"({sums}*){_place(emitter, c, c_index)}",
        f"(const uint32_t*){_place(emitter, a, a_index)}",
        f"(const uint32_t*){_place(emitter, b, b_index)}",
    ]
    return Text(f"{tile.name}({', '.join(places)})")


@emits("tir.ptx_ldmatrix")
def _load(emitter: KernelEmitter, call: Call) -> Text:
    _require_cuda(emitter, "ptx_ldmatrix")
    trans, number, kind, to, to_offset, source, offset = call.args
    count = const_int_value(number)
    if count not in (1, 2, 4) or _text(kind) != ".b16":
        raise CodegenError(
            f'ptx_ldmatrix: 1, 2 or 4 matrices of type ".b16", got {number} of {kind}'
        )
    is_turned = bool(const_int_value(trans))
    name = f"tw_ldmatrix_x{count}{'_trans' if is_turned else ''}"
    emitter.helper(name, load_matrices(name, count, is_turned))
    place = f"(uint32_t*){_place(emitter, to, to_offset)}"
    return Text(f"{name}({place}, {_place(emitter, source, offset)})")


def _require_cuda(emitter: KernelEmitter, name: str) -> None:
    if emitter.target != "cuda":
        raise CodegenError(f"target {emitter.target}: there is no instruction for {name}")


def _text(argument: Expr) -> str:
    if not isinstance(argument, StringImm):
        raise CodegenError(f"a shape, a layout or a type of PTX is a string, got {argument}")
    return argument.value


def _place(emitter: KernelEmitter, pointer: Expr, offset: Expr) -> str:
    if not isinstance(pointer, Var):
        raise CodegenError(f"an instruction of PTX gets the memory of a buffer, got {pointer!r}")
    return f"&{emitter.name_of(pointer)}[{index(emitter, offset)}]"
