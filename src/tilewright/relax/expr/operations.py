"""Graph expressions with operands, and what becomes of Python values as operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import isfunction
from typing import Any

import numpy as np

from tilewright.error import ArgumentError
from tilewright.ir.convert import EMPTY, Attributes
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.ir.module import BaseFunc, GlobalVar
from tilewright.ir.node import Span, attr, child, meta, node
from tilewright.ir.op import Op
from tilewright.relax.expr.leaves import (
    Constant,
    DataTypeImm,
    PrimValue,
    RelaxExpr,
    ShapeExpr,
    StringImm,
)
from tilewright.relax.struct_info import StructInfo, TupleStructInfo
from tilewright.runtime.ndarray import NDArray

_set = object.__setattr__


@node
class Tuple(RelaxExpr):
    """Several values."""

    fields: tuple[RelaxExpr, ...] = child()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        fields: Sequence[Any],
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        values = tuple(as_relax(field) for field in fields)
        infos = [getattr(value, "struct_info", None) for value in values]
        known = [info for info in infos if info is not None]
        if len(known) == len(values):  # what the fields say counts, also when they were replaced
            same = isinstance(struct_info, TupleStructInfo) and [*map(id, known)] == [
                *map(id, struct_info.fields)
            ]
            struct_info = struct_info if same else TupleStructInfo(known)
        _set(self, "fields", values)
        _set(self, "struct_info", struct_info)
        _set(self, "span", span)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: int) -> Any:
        """Field `index`, which is known."""
        return self.fields[index]


@node
class TupleGetItem(RelaxExpr):
    """Field `index` of a tuple."""

    tuple_value: RelaxExpr = child()
    index: int = attr()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        tuple_value: RelaxExpr,
        index: int,
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        info = tuple_value.struct_info
        if isinstance(info, TupleStructInfo) and 0 <= index < len(info.fields):
            struct_info = info.fields[index]
        _set(self, "tuple_value", tuple_value)
        _set(self, "index", index)
        _set(self, "struct_info", struct_info)
        _set(self, "span", span)


@node
class Call(RelaxExpr):
    """A call of an operator or a function.

    Attributes:
        op: an `Op` of `tilewright.relax.op.table`, the `GlobalVar` of a function of the module, or
            an expression whose value is a function.
        args: the arguments.
        attrs: what is known when the program is compiled: axes, strides, ...
        sinfo_args: struct info that is part of the call: of ``call_tir``, that of the result.
    """

    __node_name__ = "RelaxCall"

    op: Op | GlobalVar | RelaxExpr = child()
    args: tuple[RelaxExpr, ...] = child()
    attrs: Attributes = attr(default=EMPTY)
    sinfo_args: tuple[StructInfo, ...] = child(default=())
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        op: Op | GlobalVar | RelaxExpr,
        args: Sequence[Any],
        attrs: Mapping[str, Any] | None = None,
        sinfo_args: Sequence[StructInfo] | None = (),
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        _set(self, "op", op)
        _set(self, "args", tuple(as_relax(argument) for argument in args))
        _set(self, "attrs", attrs or EMPTY)
        _set(self, "sinfo_args", tuple(sinfo_args or ()))
        _set(self, "struct_info", struct_info)
        _set(self, "span", span)


@node
class If(RelaxExpr):
    """One of two values, each computed only if it is chosen."""

    cond: RelaxExpr = child()
    true_branch: RelaxExpr = child()
    false_branch: RelaxExpr = child()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)


def const(value: Any, dtype: str | None = None) -> Constant:
    """A constant array.

    Args:
        value: numbers, nested lists of them, a numpy array, or an `NDArray`.
        dtype: type of the elements; by default that of `value`; for Python numbers float32 or
            int32, or int64 if they need it.
    """
    if isinstance(value, NDArray) and dtype is None:
        return Constant(value)
    numbers = value.numpy() if isinstance(value, NDArray) else _numbers(value)
    if dtype is None and not isinstance(value, (np.ndarray, np.generic, NDArray)):
        dtype = _default_dtype(numbers)
    if dtype is None:
        return Constant(numbers)
    target = DType(dtype)
    with np.errstate(invalid="ignore"):
        converted = numbers.astype(target.numpy)
    is_python = not isinstance(value, (np.ndarray, np.generic, NDArray))
    if is_python and target.is_integral and not target.is_bool:
        wrong = numbers[converted != numbers]
        if wrong.size:
            raise ArgumentError(f"const: {wrong[0].item()!r} is not a value of {target!s}")
    return Constant(converted)


def _default_dtype(numbers: np.ndarray) -> str | None:
    """The dtype of Python numbers."""
    if numbers.dtype.kind != "i":
        return "float32" if numbers.dtype.kind == "f" else None
    return "int32" if np.array_equal(numbers.astype("int32"), numbers) else "int64"


def _numbers(value: Any) -> np.ndarray:
    try:
        numbers = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # such as lists of different lengths
        numbers = None
    if numbers is None or (numbers.dtype.kind not in "biufV" or numbers.dtype.names):
        raise ArgumentError(
            f"const: expected numbers, or nested lists of one length, got {value!r}"
        )
    return numbers


def as_shape(value: Any) -> RelaxExpr:
    """A shape from a sequence of extents; an expression stays as it is."""
    return value if isinstance(value, RelaxExpr) else ShapeExpr(value)


def as_relax(value: Any) -> Any:
    """A Python value as an argument of a call.

    Numbers and scalar expressions become `PrimValue`, texts `StringImm`, arrays `Constant`, and
    tuples `Tuple`; expressions and names of functions stay as they are.

    Raises:
        ArgumentError: for something else.
    """
    if isinstance(value, (RelaxExpr, GlobalVar, BaseFunc)):
        return value
    if isinstance(value, DType):
        return DataTypeImm(value)
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (tuple, list)):
        return Tuple(value)
    if isinstance(value, (Expr, bool, int, float)):
        return PrimValue(value)
    if isinstance(value, (NDArray, np.ndarray, np.generic)):
        return const(value)
    given = f"the function {value.__name__}" if isfunction(value) else repr(value)
    raise ArgumentError(f"expected a graph expression, an array or a number, got {given}")
