"""`ShapeTuple`: a shape as a value that functions take and return."""

from __future__ import annotations

import operator
from collections.abc import Iterable

from tilewright.error import ArgumentError


class ShapeTuple(tuple[int, ...]):
    """The extents of a shape, at least 0 each: a tuple of integers.

    Functions of a virtual machine take it, or any other tuple of integers, where they want a shape.
    """

    __slots__ = ()

    def __new__(cls, shape: Iterable[int]) -> ShapeTuple:
        try:
            extents = tuple(map(operator.index, shape))
        except TypeError:
            raise ArgumentError(f"ShapeTuple: a shape is integers, got {shape!r}") from None
        if any(extent < 0 for extent in extents):
            raise ArgumentError(f"ShapeTuple: extents are at least 0, got {extents}")
        return super().__new__(cls, extents)

    def __repr__(self) -> str:
        return f"ShapeTuple({super().__repr__()})"
