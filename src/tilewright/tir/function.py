"""A tensor program."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tilewright.error import ArgumentError
from tilewright.ir.attributes import EMPTY, Attributes
from tilewright.ir.convert import cast
from tilewright.ir.expr import Expr, Var
from tilewright.ir.function import BaseFunc
from tilewright.ir.node import attr, binds, child, meta, node
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.span import Span
from tilewright.ir.types import Type
from tilewright.tir.buffer import Buffer
from tilewright.tir.stmt import Stmt

NO_BUFFERS: Final[Mapping[Var, Buffer]] = MappingProxyType({})


@node
class PrimFunc(BaseFunc):
    """A function over buffers and scalars.

    Attributes:
        params: scalars, and handles that `buffer_map` gives a buffer.
        body: what it does.
        ret_type: type of the returned value; None for no value.
        buffer_map: the buffer behind each handle parameter. Variables that occur in their shapes,
            strides and offsets for the first time are defined by the arrays of the call.
        attrs: ``global_symbol`` is the exported name; ``tir.noalias`` promises that the buffers do
            not overlap.
    """

    __compare_first__ = ("params", "buffer_map")

    params: tuple[Var, ...] = binds()
    body: Stmt = child()
    ret_type: Type | None = attr(default=None)
    buffer_map: Mapping[Var, Buffer] = attr(default=NO_BUFFERS)
    attrs: Attributes = attr(default=EMPTY)
    span: Span | None = meta(default=None)

    def with_body(self, body: Stmt, span: Span | None = None) -> PrimFunc:
        """A copy with another body."""
        return self.replace(body=body, span=span or self.span)

    @deep_recursion
    def specialize(self, values: Mapping[Var, Any]) -> PrimFunc:
        """A copy in which symbolic sizes (or whole buffers) of the parameters are fixed.

        Args:
            values: maps a size variable to a number, or a handle parameter to a `Buffer` whose
                shape, strides and offset give the values.
        """
        from tilewright.tir.substitute import specialize_function

        return specialize_function(self, values)


def size_value(var: Var, value: object) -> Expr:
    """`value` as a constant of the dtype of the size `var`."""
    if not isinstance(var, Var):
        raise ArgumentError(f"expected a variable, got {var!r}")
    return cast(var.dtype, value)
