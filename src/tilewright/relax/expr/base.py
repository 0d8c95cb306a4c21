"""The base class of graph expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.error import ArgumentError, TVMError
from tilewright.ir.expr import SymbolicTruthError
from tilewright.ir.node import Node
from tilewright.ir.operators import Operators
from tilewright.ir.span import Span
from tilewright.relax.struct_info import (
    ObjectStructInfo,
    StructInfo,
    TupleStructInfo,
)
from tilewright.runtime.ndarray import NDArray


class FieldIndexError(TVMError, IndexError):
    """A tuple has no such field."""


class RelaxExpr(Operators, Node):
    """Base class of graph expressions.

    Python's operators build calls of the operators of `tilewright.relax.op`; ``==`` is identity.

    Attributes:
        struct_info: what is known of the value; None before it has been inferred.
        span: where it was written; None where that is not known.
    """

    __slots__ = ()
    operator_priority = 20
    __array_ufunc__ = None  # numpy scalars leave the operator to us
    struct_info: StructInfo | None
    span: Span | None

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __bool__(self) -> bool:
        raise SymbolicTruthError(
            "Python does not know the value of a graph expression: use R.where, R.logical_and, "
            "R.maximum, ..., or an `if` statement of a graph function"
        )

    def accepts(self, other: object) -> bool:
        """Arrays become constants, beside what other expressions accept."""
        return isinstance(other, (np.ndarray, NDArray)) or super().accepts(other)

    def operate(self, name: str, *operands: object) -> Any:
        """The call of the graph operator behind one of Python's operators."""
        from tilewright.relax.op.python_operators import operate

        return operate(name, *operands)

    def __pow__(self, other: object) -> Any:
        return self.operate("power", self, other)

    def __rpow__(self, other: object) -> Any:
        return self.operate("power", other, self)

    def __matmul__(self, other: object) -> Any:
        return self.operate("matmul", self, other)

    def __rmatmul__(self, other: object) -> Any:
        return self.operate("matmul", other, self)

    def astype(self, dtype: str) -> Any:
        """The call that converts each element to `dtype`."""
        from tilewright.relax.op.datatype import astype

        return astype(self, dtype)

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
        from tilewright.relax.expr.operations import TupleGetItem

        return TupleGetItem(self, index)

    def __call__(self, *args: Any, attrs: Mapping[str, Any] | None = None) -> Any:
        """The call of this value, a function."""
        from tilewright.relax.expr.operations import Call

        return Call(self, args, attrs)
