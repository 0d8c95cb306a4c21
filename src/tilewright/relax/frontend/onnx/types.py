"""Types of values as ONNX and as graphs have them."""

from __future__ import annotations

from typing import Any, Final

from onnx import TypeProto, helper

from tilewright.relax.expr import RelaxExpr
from tilewright.relax.frontend.emitter import number
from tilewright.relax.frontend.onnx.tensors import ELEMENT_TYPES
from tilewright.relax.struct_info import TensorStructInfo


class Items(tuple[Any, ...]):
    """A sequence, whose length is known, of arrays."""


class Empty:
    """An optional value that is not there."""


EMPTY: Final = Empty()


def type_of(value: Any) -> TypeProto:
    """The type that ONNX gives a value; no type where there is no value."""
    if isinstance(value, Items):
        return helper.make_sequence_type_proto(type_of(value[0]) if value else TypeProto())
    if not isinstance(value, RelaxExpr):
        return TypeProto()
    info = value.struct_info
    if not isinstance(info, TensorStructInfo):
        return TypeProto()
    extents = None
    if info.extents is not None:
        sizes = [number(extent) for extent in info.extents]
        extents = [size if isinstance(size, int) else None for size in sizes]
    return helper.make_tensor_type_proto(ELEMENT_TYPES[str(info.dtype)], extents)
