"""The operands of an operator that is run by a tensor program made for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tilewright.ir.convert import const
from tilewright.relax.expr import (
    Constant,
    DataTypeImm,
    ExternFunc,
    PrimValue,
    RelaxExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    Var,
)
from tilewright.relax.interpreter.values import Shape, struct_info_of
from tilewright.relax.struct_info import PrimStructInfo, StructInfo, TupleStructInfo

if TYPE_CHECKING:
    from tilewright.relax.interpreter.evaluator import Evaluator, Frame

_FIXED: Final = (Constant, StringImm, DataTypeImm, ExternFunc)


class Operands:
    """The operands of an operator: arrays as variables, shapes and scalars as what they are.

    Attributes:
        params: a variable for each array.
        values: the arrays.
    """

    def __init__(self, evaluator: Evaluator, frame: Frame) -> None:
        self.params: list[Var] = []
        self.values: list[Any] = []
        self._evaluator, self._frame = evaluator, frame
        self._numbers: list[Any] = []

    def key(self) -> tuple[Any, ...]:
        """What the tensor program depends on."""
        arrays = [(v.shape, v.dtype.str) for v in self.values if isinstance(v, np.ndarray)]
        return (*arrays, *self._numbers)

    def known(self, argument: Any) -> Any:
        """An operand, of which all is known but the elements of arrays."""
        if isinstance(argument, Tuple):
            return Tuple([self.known(field) for field in argument.fields])
        if not isinstance(argument, RelaxExpr) or isinstance(argument, _FIXED):
            return argument
        return self._value(self._evaluator.evaluate(argument, self._frame), argument.struct_info)

    def _value(self, value: Any, info: StructInfo | None) -> Any:
        if isinstance(value, Shape):
            self._numbers.append(value)
            return ShapeExpr(value)
        if isinstance(value, (bool, int, float)):
            self._numbers.append(value)
            dtype = info.dtype if isinstance(info, PrimStructInfo) else None
            return PrimValue(const(value, dtype))
        if isinstance(value, tuple):
            self._numbers.append(len(value))
            fields = info.fields if isinstance(info, TupleStructInfo) else [None] * len(value)
            return Tuple([self._value(v, i) for v, i in zip(value, fields, strict=True)])
        self.params.append(Var(f"x{len(self.params)}", struct_info_of(value)))
        self.values.append(value)
        return self.params[-1]
