"""Graph expressions without operands: variables, constants, shapes, scalars, and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.error import ArgumentError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, is_const_int
from tilewright.ir.expr import StringImm as TextImm
from tilewright.ir.node import attr, child, meta, node
from tilewright.ir.span import Span
from tilewright.relax.expr.base import RelaxExpr
from tilewright.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    extents_of,
)
from tilewright.runtime.ndarray import NDArray, array

_set = object.__setattr__


@node
class Var(RelaxExpr):
    """A variable of a graph function; two are the same only if they are the same object.

    Attributes:
        name_hint: its name in scripts.
        struct_info: what is known of it.
    """

    __node_name__ = "RelaxVar"
    __is_reference__ = True

    name_hint: str = meta()
    struct_info: StructInfo | None = child(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self, name_hint: str, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        if not isinstance(name_hint, str):
            raise ArgumentError(f"relax.Var: the name is a string, got {name_hint!r}")
        if not isinstance(struct_info, StructInfo | None):
            raise ArgumentError(
                f"relax.Var {name_hint!r}: expected struct info, such as R.Tensor((2, n), "
                f"'float32') with n = tir.Var('n', 'int64'), got {struct_info!r}"
            )
        _set(self, "name_hint", name_hint)
        _set(self, "struct_info", struct_info)
        _set(self, "span", span)

    @property
    def vid(self) -> Var:
        """What identifies the variable: itself."""
        return self


@node
class DataflowVar(Var):
    """A variable that only the dataflow block that binds it can see."""

    __node_name__ = "DataflowVar"
    __init__ = Var.__init__


@node
class Constant(RelaxExpr):
    """An array that is known when the program is compiled.

    Attributes:
        data: its elements.
    """

    data: NDArray = attr()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self, data: Any, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        value = data if isinstance(data, NDArray) else array(np.asarray(data))
        _set(self, "data", value)
        info = struct_info or TensorStructInfo(ShapeExpr(value.shape), value.dtype)
        _set(self, "struct_info", info)
        _set(self, "span", span)


@node
class ShapeExpr(RelaxExpr):
    """A shape.

    Attributes:
        values: the extents, of dtype int64. One of -1 stands for what is left in `op.reshape`.
    """

    values: tuple[Expr, ...] = child()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        values: Sequence[Any],
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        del struct_info  # follows from the extents
        extents = extents_of(values, least=-1)
        known = not any(is_const_int(extent, -1) for extent in extents)
        info = ShapeStructInfo(extents) if known else ShapeStructInfo(ndim=len(extents))
        _set(self, "values", extents)
        _set(self, "struct_info", info)
        _set(self, "span", span)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        """Extent `index`."""
        return self.values[index]


@node
class PrimValue(RelaxExpr):
    """A scalar."""

    value: Expr = child()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self, value: Any, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        known = as_expr(value)
        if isinstance(known, TextImm):
            raise ArgumentError(f"PrimValue: a scalar is a number, got the text {known.value!r}")
        _set(self, "value", known)
        _set(self, "struct_info", PrimStructInfo(known.dtype, known))
        _set(self, "span", span)


@node
class StringImm(RelaxExpr):
    """A text."""

    __node_name__ = "RelaxStringImm"

    value: str = attr()
    struct_info: StructInfo | None = meta(default=ObjectStructInfo())
    span: Span | None = meta(default=None)


@node
class DataTypeImm(RelaxExpr):
    """A dtype as a value."""

    value: DType = attr()
    struct_info: StructInfo | None = meta(default=ObjectStructInfo())
    span: Span | None = meta(default=None)


@node
class ExternFunc(RelaxExpr):
    """A function that is found by name when the program runs.

    First the functions of the same module are searched, then the registry.
    """

    global_symbol: str = attr()
    struct_info: StructInfo | None = meta(default=FuncStructInfo.opaque_func())
    span: Span | None = meta(default=None)

    def __init__(
        self, global_symbol: str, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        if not isinstance(global_symbol, str):
            raise ArgumentError(f"ExternFunc: the name is a text, got {global_symbol!r}")
        _set(self, "global_symbol", str(global_symbol))
        _set(self, "struct_info", struct_info or FuncStructInfo.opaque_func())
        _set(self, "span", span)
