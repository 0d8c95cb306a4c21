"""The base class of graph expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tilewright.error import ArgumentError, TVMError
from tilewright.ir.expr import SymbolicTruthError
from tilewright.ir.node import Node
from tilewright.ir.operators import Operators
from tilewright.ir.span import Span
from tilewright.providers import provider
from tilewright.relax.struct_info import (
    ObjectStructInfo,
    StructInfo,
    TupleStructInfo,
)
from tilewright.runtime.ndarray import NDArray


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
        """Arrays become constants, beside what other expressions accept."""
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
