"""Printers of constants, types and names of functions and operators."""

from __future__ import annotations

import math

from tilewright.ir.convert import round_float
from tilewright.ir.dtype import DType
from tilewright.ir.expr import FloatImm, IntImm, StringImm
from tilewright.ir.function import GlobalVar
from tilewright.ir.global_info import DummyGlobalInfo, VDevice
from tilewright.ir.op import Op
from tilewright.ir.types import PointerType, PrimType
from tilewright.script.printer.core import ATOM, EXPRESSIONS, Printer, Rendered, prints, quoted

UNARY = 11
"""Precedence of a sign."""


@prints(EXPRESSIONS, IntImm)
def _int(p: Printer, node: IntImm) -> Rendered:
    if node.dtype.is_bool:
        return f"{p.tir}bool({bool(node.value)})", ATOM
    if node.dtype is p.options.int_dtype:
        return str(node.value), ATOM if node.value >= 0 else UNARY
    return f"{p.tir}{node.dtype}({node.value})", ATOM


@prints(EXPRESSIONS, FloatImm)
def _float(p: Printer, node: FloatImm) -> Rendered:
    text = float_text(node.value, node.dtype)
    if node.dtype is p.options.float_dtype and math.isfinite(node.value):
        return text, ATOM if math.copysign(1, node.value) > 0 else UNARY
    return f"{p.tir}{node.dtype}({text})", ATOM


def float_text(value: float, dtype: DType) -> str:
    """The shortest decimal that rounds to `value` in `dtype`, or ``"inf"`` and such in quotes."""
    if not math.isfinite(value):
        return f'"{value}"'
    if dtype.bits == 64:
        return repr(value)
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if round_float(float(text), dtype) == value:
            return repr(float(text))
    return repr(value)


@prints(EXPRESSIONS, StringImm)
def _string(p: Printer, node: StringImm) -> Rendered:
    del p
    return quoted(node.value), ATOM


@prints(EXPRESSIONS, GlobalVar)
def _global_var(p: Printer, node: GlobalVar) -> Rendered:
    return f"{p.options.module_alias}.{p.function_name(node.name_hint)}", ATOM


@prints(EXPRESSIONS, DummyGlobalInfo)
def _dummy_global_info(p: Printer, node: DummyGlobalInfo) -> Rendered:
    del node
    return f"{p.options.ir_prefix}.dummy_global_info()", ATOM


@prints(EXPRESSIONS, VDevice)
def _vdevice(p: Printer, node: VDevice) -> Rendered:
    target = "None" if node.target is None else p.target(node.target)
    parts = f"{target}, {node.vdevice_id}, {quoted(node.memory_scope)}"
    return f"{p.options.ir_prefix}.vdevice({parts})", ATOM


@prints(EXPRESSIONS, Op)
def _op(p: Printer, node: Op) -> Rendered:
    del p
    return f"Op.get({quoted(node.name)})", ATOM


@prints(EXPRESSIONS, PrimType)
def _prim_type(p: Printer, node: PrimType) -> Rendered:
    return p.type(node.dtype), ATOM


@prints(EXPRESSIONS, PointerType)
def _pointer_type(p: Printer, node: PointerType) -> Rendered:
    return p.type(DType("handle"), node), ATOM
