"""Printers of struct info."""

from __future__ import annotations

from typing import Any

from tilewright.ir.expr import IntImm
from tilewright.ir.global_info import VDevice
from tilewright.relax.expr import ShapeExpr
from tilewright.relax.script.printer.sizes import scalar, sizes
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
def _shape(p: Printer, node: ShapeStructInfo) -> Rendered:
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
def _tuple(p: Printer, node: TupleStructInfo) -> Rendered:
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
