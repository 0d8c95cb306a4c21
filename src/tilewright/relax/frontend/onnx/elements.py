"""Small arrays of numbers that are computed while a model is converted.

Models compute shapes by operators on arrays: the shape of an array, some elements of it, and a new
shape of these. Here such elements are numbers and expressions of symbolic sizes, so that extents
stay known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, IntImm


class Elements(NamedTuple):
    """The elements of an array.

    Attributes:
        values: an array of `dtype`, or of objects if some of them are expressions.
        dtype: their type.
    """

    values: np.ndarray
    dtype: str

    @property
    def is_constant(self) -> bool:
        """Whether all of them are numbers."""
        return self.values.dtype != object

    def simplified(self, simplify: Callable[[Expr], Expr]) -> Elements:
        """The same elements, with expressions as short as they can be."""
        if self.is_constant:
            return self
        items = [simplify(item) if isinstance(item, Expr) else item
                 for item in self.values.reshape(-1).tolist()]  # fmt: skip
        result = np.empty(len(items), dtype=object)
        result[:] = items
        return Elements.of(result.reshape(self.values.shape), self.dtype)

    @staticmethod
    def of(values: Any, dtype: str) -> Elements:
        """Numbers and expressions as elements."""
        items = np.array(values, dtype=object)
        plain = [_plain(item) for item in items.reshape(-1).tolist()]
        if any(isinstance(item, Expr) for item in plain):
            result = np.empty(len(plain), dtype=object)
            result[:] = plain
        else:
            result = np.array(plain, dtype=DType(dtype).numpy)
        return Elements(result.reshape(items.shape), dtype)

    def like(self, values: Any) -> Elements:
        """Some of these elements in an array; numpy takes a single one out of its array."""
        if self.is_constant:
            return Elements(np.asarray(values, dtype=self.values.dtype), self.dtype)
        return Elements.of(values, self.dtype)

    def objects(self) -> np.ndarray:
        """An array of numbers of Python, and of expressions."""
        result = np.empty(self.values.shape, dtype=object)
        result[...] = self.values.tolist() if self.values.ndim == 0 else self.values
        if self.is_constant:
            flat = [item.item() if isinstance(item, np.generic) else item
                    for item in result.reshape(-1).tolist()]  # fmt: skip
            result = np.array([None, *flat], dtype=object)[1:].reshape(self.values.shape)
        return result


def _plain(item: Any) -> Any:
    if isinstance(item, IntImm):
        return bool(item.value) if item.dtype.is_bool else int(item.value)
    return item


class UnknownElementsError(Exception):
    """Raised where elements cannot be computed while a model is converted."""
