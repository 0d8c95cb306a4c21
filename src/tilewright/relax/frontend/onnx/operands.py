"""What conversions ask of the operands of a node, and the constants that they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tilewright import te, tir
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.expr import Var as Size
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Constant, PrimValue, RelaxExpr, ShapeExpr, const
from tilewright.relax.frontend.emitter import Emitter, number
from tilewright.relax.frontend.onnx.elements import Elements
from tilewright.relax.frontend.onnx.table import NotConstantError
from tilewright.relax.frontend.table import UnsupportedError
from tilewright.relax.struct_info import ShapeStructInfo

MOST_ELEMENTS: Final = 1024
"""Maximum number of elements that are computed while a model is converted."""


class Operands(Emitter):
    """An emitter that knows elements of arrays as far as they are numbers or sizes."""

    def __init__(self, builder: BlockBuilder) -> None:
        super().__init__(builder)
        self._elements: dict[RelaxExpr, Elements] = {}

    def constant(self, value: Any, dtype: str | None = None) -> Constant:
        """A constant array."""
        return const(np.asarray(value), dtype) if dtype else const(np.asarray(value))

    def scalar_like(self, value: Any, x: Any) -> PrimValue:
        """A number of the dtype of an array."""
        return self.operand(value, self.dtype_of(x))

    def numbers(self, values: Any, dtype: str = "int64") -> Any:
        """An array of numbers, which may be expressions of sizes; its elements are known."""
        return self._array(Elements.of(values, dtype))

    def elements(self, value: Any) -> Elements | None:
        """The elements of an array as far as they are numbers or expressions of sizes."""
        if isinstance(value, Constant) and value not in self._elements:
            shape = value.data.shape
            if int(np.prod(shape)) > MOST_ELEMENTS:
                return None
            dtype = str(value.data.dtype)
            self._elements[value] = Elements(value.data.numpy(), dtype)
        return self._elements.get(value)

    def constants(self, value: Any, name: str) -> np.ndarray:
        """The elements of a constant.

        Raises:
            NotConstantError: if it is none.
        """
        if isinstance(value, Constant):
            return value.data.numpy()
        known = self.elements(value) if isinstance(value, RelaxExpr) else None
        if known is None or not known.is_constant:
            raise NotConstantError(f"`{name}` must be a constant")
        return known.values

    def axes(self, value: Any, name: str = "axes") -> list[int]:
        """Integers that decide the form of the result; an attribute or a constant."""
        if isinstance(value, (list, tuple, int)):
            return [int(item) for item in np.atleast_1d(value)]
        return [int(item) for item in np.atleast_1d(self.constants(value, name))]

    def axis(self, axis: int, rank: int) -> int:
        """A dimension counted from the front.

        Raises:
            UnsupportedError: if there is none.
        """
        if not -rank <= axis < rank:
            raise UnsupportedError(f"axis {axis} is out of range for {rank} dimensions")
        return axis % rank

    def integer(self, value: Any, name: str) -> int:
        """One constant integer."""
        (result,) = self.axes(value, name)
        return result

    def integers(self, value: Any) -> list[Any]:
        """The integers of a vector or scalar: numbers, or expressions of sizes.

        Sizes that depend on what is computed get names when the program runs.
        """
        if isinstance(value, (list, tuple)):
            return list(value)
        known = self.elements(value)
        if known is not None:
            return [number(item) if isinstance(item, Expr) else int(item)
                    for item in known.values.reshape(-1).tolist()]  # fmt: skip
        shape = [number(extent) for extent in self.shape_of(value)]
        if not all(isinstance(extent, int) for extent in shape) or int(np.prod(shape)) > 64:
            raise NotConstantError("how many sizes there are must be known")
        return self.sizes_from(value, int(np.prod(shape)))

    def bound(self, sizes: Sequence[Any]) -> list[Any]:
        """Sizes of a result; those that depend on what is computed get names of their own.

        An expression of such sizes would become longer with every operator that computes with it.
        """
        can_prove = self.builder.analyzer.can_prove
        is_plain = [isinstance(size, (int, IntImm)) or can_prove(size >= 0) for size in sizes]
        hint = self.name_hint or "size"
        names = [
            size if plain else Size(f"{hint}_{axis}", INT64)
            for axis, (size, plain) in enumerate(zip(sizes, is_plain, strict=True))
        ]
        if not all(is_plain):
            self.builder.match_cast(ShapeExpr(sizes), ShapeStructInfo(names))
        return names

    def _array(self, known: Elements) -> Any:
        """The array of known elements."""
        if known.is_constant:
            result = const(known.values, known.dtype)
        else:
            flat = [self.operand(number(item), "int64" if known.dtype == "int64" else known.dtype)
                    for item in known.values.reshape(-1).tolist()]  # fmt: skip
            vector = self.builder.emit_te(_listed, *flat, primfunc_name_hint="numbers")
            result = self.reshape(vector, list(known.values.shape))
        self._elements[result] = known
        return result


def _listed(*values: Any) -> Any:
    """The vector of some numbers."""

    def element(place: Any) -> Any:
        result = values[-1]
        for position in reversed(range(len(values) - 1)):
            result = tir.Select(place.equal(position), values[position], result)
        return result

    return te.compute((len(values),), element, "T_numbers")
