"""Printers of struct info, variables, constants, and other arguments of calls."""

from __future__ import annotations

import math
from typing import Any

from tilewright.ir.dtype import DType
from tilewright.ir.expr import IntImm
from tilewright.ir.module import VDevice
from tilewright.ir.structural import structural_equal
from tilewright.relax.expr import (
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
from tilewright.relax.script.printer.state import GraphState, scalar, sizes
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.script.printer.core import ATOM, EXPRESSIONS, Printer, Rendered, prints, quoted
from tilewright.script.printer.expressions import float_text


def relax_call(p: Printer, name: str, parts: list[str]) -> Rendered:
    """``R.name(parts)``; without any parts, ``R.name``."""
    written = f"{p.options.relax_prefix}.{name}"
    return (f"{written}({', '.join(parts)})" if parts else written), ATOM


def python_tuple(texts: list[str]) -> str:
    """A tuple of texts, as Python writes it."""
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


@prints(EXPRESSIONS, ObjectStructInfo)
def _object(p: Printer, node: ObjectStructInfo) -> Rendered:
    del node
    return relax_call(p, "Object", [])


@prints(EXPRESSIONS, TensorStructInfo)
def _tensor(p: Printer, node: TensorStructInfo) -> Rendered:
    parts = []
    if isinstance(node.shape, ShapeExpr):
        parts.append(p.mark(node.shape, python_tuple(sizes(p, node.shape.values))))
    elif node.shape is not None:
        parts.append(p.expr(node.shape))
    if node.dtype is not None:
        parts.append(f"dtype={quoted(node.dtype)}")
    if node.vdevice is not None:
        parts.append(f"vdevice={device_text(p, node.vdevice)}")
    if node.shape is None and node.ndim != UNKNOWN_NDIM:
        parts.append(f"ndim={node.ndim}")
    return relax_call(p, "Tensor", parts)


def device_text(p: Printer, device: VDevice) -> str:
    """A device: by kind and number if the module lists it, or else in full."""
    listed = () if p.module is None else p.module.global_infos.get("vdevice", ())
    kind = None if device.target is None else device.target.kind.name
    same_kind = [d for d in listed if d.target is not None and d.target.kind.name == kind]
    for position, other in enumerate(same_kind):
        if _fields(other) == _fields(device):
            return quoted(f"{kind}:{position}")
    return p.expr(device)


def _fields(device: VDevice) -> tuple[Any, ...]:
    return str(device.target), device.vdevice_id, device.memory_scope


@prints(EXPRESSIONS, ShapeStructInfo)
def _shape_info(p: Printer, node: ShapeStructInfo) -> Rendered:
    if node.values is not None:
        return relax_call(p, "Shape", [f"[{', '.join(sizes(p, node.values))}]"])
    return relax_call(p, "Shape", [] if node.ndim == UNKNOWN_NDIM else [f"ndim={node.ndim}"])


@prints(EXPRESSIONS, PrimStructInfo)
def _prim(p: Printer, node: PrimStructInfo) -> Rendered:
    if node.value is None:
        return relax_call(p, "Prim", [quoted(node.dtype)])
    # A number is printed with its dtype: a bare one is of int32 here, not of int64.
    text = p.expr(node.value) if isinstance(node.value, IntImm) else scalar(p, node.value)
    return relax_call(p, "Prim", [f"value={text}"])


@prints(EXPRESSIONS, TupleStructInfo)
def _tuple_info(p: Printer, node: TupleStructInfo) -> Rendered:
    return relax_call(p, "Tuple", [p.expr(field) for field in node.fields])


def _function_text(function: Any) -> str:
    """The name that a function is registered under; one of Python by the name of a variable."""
    if isinstance(function, str):
        return quoted(function)
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "derive_func"


@prints(EXPRESSIONS, FuncStructInfo)
def _function(p: Printer, node: FuncStructInfo) -> Rendered:
    is_opaque = node.params is None and node.derive_func is None and not node.purity
    if is_opaque and isinstance(node.ret, ObjectStructInfo):
        return relax_call(p, "Callable", [])
    params = "None" if node.params is None else python_tuple([p.expr(i) for i in node.params])
    parts = [params, p.expr(node.ret), str(node.purity)]
    if node.derive_func is not None:
        parts.append(f"derive_func={_function_text(node.derive_func)}")
    return relax_call(p, "Callable", parts)


@prints(EXPRESSIONS, Var, DataflowVar)
def _var(p: Printer, node: Var) -> Rendered:
    name = p.names.find(node)
    if name is None:
        name = p.names.define(node, node.name_hint)
        if not p.state(GraphState).depth:
            known = p.expr(node.struct_info or ObjectStructInfo())
            p.before(f"{name}: {known}")
    return name, ATOM


@prints(EXPRESSIONS, Constant)
def _constant(p: Printer, node: Constant) -> Rendered:
    if not node.data.shape:
        text = _number(node)
        if text is not None:
            return relax_call(p, "const", [text, quoted(node.data.dtype)])
    return p.state(GraphState).constant(node), ATOM


def _number(node: Constant) -> str | None:
    """The only element as a Python number, if that makes the same constant again."""
    element = node.data.numpy()[()]
    dtype = DType(node.data.dtype)
    if dtype.lanes != 1 or not (dtype.is_float or dtype.is_integral):
        return None
    if dtype.is_bool:
        text, number = str(bool(element)), bool(element)
    elif dtype.is_integral:
        text, number = str(int(element)), int(element)
    else:
        number = float(element)
        text = float_text(number, dtype)
        text = text if math.isfinite(number) else f"float({text})"
    again = const(number, dtype).data.numpy()
    return text if again.tobytes() == node.data.numpy().tobytes() else None


@prints(EXPRESSIONS, Tuple)
def _tuple(p: Printer, node: Tuple) -> Rendered:
    if not node.fields:
        return f"{p.options.relax_prefix}.tuple()", ATOM
    return python_tuple([p.expr(field) for field in node.fields]), ATOM


@prints(EXPRESSIONS, TupleGetItem)
def _tuple_get_item(p: Printer, node: TupleGetItem) -> Rendered:
    # A tuple that is written out is one of Python, whose subscript would be the field itself.
    if isinstance(node.tuple_value, Tuple):
        return relax_call(p, "TupleGetItem", [p.expr(node.tuple_value), str(node.index)])
    return f"{p.operand(node.tuple_value, ATOM)}[{node.index}]", ATOM


@prints(EXPRESSIONS, ShapeExpr)
def _shape(p: Printer, node: ShapeExpr) -> Rendered:
    return relax_call(p, "shape", [f"[{', '.join(sizes(p, node.values))}]"])


@prints(EXPRESSIONS, PrimValue)
def _prim_value(p: Printer, node: PrimValue) -> Rendered:
    return relax_call(p, "prim_value", [scalar(p, node.value)])


@prints(EXPRESSIONS, StringImm)
def _string(p: Printer, node: StringImm) -> Rendered:
    return relax_call(p, "str", [quoted(node.value)])


@prints(EXPRESSIONS, DataTypeImm)
def _dtype(p: Printer, node: DataTypeImm) -> Rendered:
    return relax_call(p, "dtype", [quoted(node.value)])


@prints(EXPRESSIONS, ExternFunc)
def _extern_func(p: Printer, node: ExternFunc) -> Rendered:
    parts = [quoted(node.global_symbol)]
    if not is_opaque(node):
        parts.append(p.expr(node.struct_info))
    return relax_call(p, "ExternFunc", parts)


def is_opaque(node: ExternFunc) -> bool:
    """Whether nothing is known of a function that is found by name."""
    return structural_equal(node.struct_info, FuncStructInfo.opaque_func())
