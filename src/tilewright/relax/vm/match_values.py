"""Values that are declared as one thing and are another: by match_cast, at a return."""

from __future__ import annotations

from tilewright.error import LoweringError
from tilewright.ir.convert import cast
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr
from tilewright.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.vm.match_sizes import SizeMatch, match_shapes
from tilewright.relax.vm.steps import (
    ArrayValue,
    NotCompilableError,
    ShapeValue,
    TupleValue,
    Value,
)


def match_info(match: SizeMatch, value: Value, info: StructInfo, what: str) -> None:
    """Match a value with struct info.

    Raises:
        LoweringError: if it never fits.
    """
    if isinstance(info, TensorStructInfo) and isinstance(value, ArrayValue):
        require(info.dtype in (None, value.dtype), what, f"dtype {info.dtype}", value.dtype)
        if info.extents is not None:
            match_shapes(match, info.extents, value.extents, what)
        else:
            known = info.ndim in (-1, len(value.extents))
            require(known, what, f"ndim {info.ndim}", len(value.extents))
    elif isinstance(info, ShapeStructInfo) and isinstance(value, ShapeValue):
        if info.values is not None:
            match_shapes(match, info.values, value.extents, what)
        else:
            known = info.ndim in (-1, len(value.extents))
            require(known, what, f"ndim {info.ndim}", len(value.extents))
    elif isinstance(info, TupleStructInfo) and isinstance(value, TupleValue):
        require(
            len(info.fields) == len(value.fields), what, f"{len(info.fields)} fields",
            len(value.fields),
        )  # fmt: skip
        for field, part in zip(value.fields, info.fields, strict=True):
            match_info(match, field, part, what)
    elif isinstance(info, PrimStructInfo) and isinstance(value, Expr):
        if info.value is not None:
            match.match(cast(INT64, info.value), cast(INT64, value), what)
    else:
        raise NotCompilableError(f"{what} changes the kind of a value")


def require(holds: bool, what: str, expected: str, actual: object) -> None:
    """Raise an error of the program unless something holds."""
    if not holds:
        raise LoweringError(f"{what}: expected {expected}, the value has {actual}")


def without_shape(info: TensorStructInfo) -> TensorStructInfo:
    """The rank and the dtype of an array alone."""
    return TensorStructInfo(None, info.dtype, ndim=info.ndim)
