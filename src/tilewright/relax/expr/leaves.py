"""Graph expressions: the base class, and leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from tilewright.error import ArgumentError, TVMError
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, SymbolicTruthError, is_const_int
from tilewright.ir.expr import StringImm as TextImm
from tilewright.ir.node import Node, Span, attr, child, meta, node
from tilewright.ir.operators import Operators
from tilewright.providers import provider
from tilewright.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    extents_of,
)
from tilewright.runtime.ndarray import NDArray, array


class FieldIndexError(TVMError, IndexError):
    """A tuple has no such field."""


_NAMES: Final = {
    "absolute": "abs",
    "floordiv": "floor_divide",
    "floormod": "floor_mod",
    "shift_left": "left_shift",
    "shift_right": "right_shift",
}
"""The graph operators whose names are not those of `tilewright.ir.arithmetic`."""


class GraphOperators(Operators):
    """Python's operators on arrays of a graph; ``==`` is identity."""

    __slots__ = ()
    operator_priority = 20
    __array_ufunc__ = None  # numpy scalars leave the operator to us

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def accepts(self, other: object) -> bool:
        """Arrays become constants; other operands are those of all expressions."""
        return isinstance(other, (np.ndarray, NDArray)) or super().accepts(other)

    def operate(self, name: str, *operands: object) -> Any:
        """The call of the graph operator behind one of Python's operators."""
        return getattr(provider("graph operators"), _NAMES.get(name, name))(*operands)

    def __pow__(self, other: object) -> Any:
        return self.operate("power", self, other)

    def __rpow__(self, other: object) -> Any:
        return self.operate("power", other, self)

    def __matmul__(self, other: object) -> Any:
        return self.operate("matmul", self, other)

    def __rmatmul__(self, other: object) -> Any:
        return self.operate("matmul", other, self)


class RelaxExpr(GraphOperators, Node):
    """Base class of graph expressions.

    Python's operators build calls of the operators of `tilewright.relax.op`.

    Attributes:
        struct_info: what is known of the value; None before it has been inferred.
        span: where it was written; None where that is not known.
    """

    __slots__ = ()
    struct_info: StructInfo | None
    span: Span | None

    def __bool__(self) -> bool:
        raise SymbolicTruthError(
            "Python does not know the value of a graph expression: use R.where, R.logical_and, "
            "R.maximum, ..., or an `if` statement of a graph function"
        )

    def astype(self, dtype: str) -> Any:
        """The call that converts each element to `dtype`."""
        return provider("graph operators").astype(self, dtype)

    def __getitem__(self, index: int) -> Any:
        """Field `index` of a tuple."""
        info = self.struct_info
        if info is not None and not isinstance(info, (TupleStructInfo, ObjectStructInfo)):
            raise ArgumentError(
                f"only tuples have fields, this is {info!r}; use relax.op.take or "
                "relax.op.strided_slice for a part of an array"
            )
        if not isinstance(index, int) or isinstance(index, bool):
            raise ArgumentError(f"a field of a tuple is named by its number, got {index!r}")
        count = len(info.fields) if isinstance(info, TupleStructInfo) else None
        if index < 0 or (count is not None and index >= count):  # also ends Python's iteration
            fields = "" if count is None else f" of {count} fields"
            raise FieldIndexError(f"a tuple{fields} has no field {index}")
        return provider("graph expressions").TupleGetItem(self, index)

    def __call__(self, *args: Any, attrs: Mapping[str, Any] | None = None) -> Any:
        """The call of this value, a function."""
        return provider("graph expressions").Call(self, args, attrs)


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
