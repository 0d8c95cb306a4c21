"""A tensor program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from tilewright.error import ArgumentError
from tilewright.ir.convert import EMPTY, Attributes, attributes, cast
from tilewright.ir.dtype import HANDLE, Type
from tilewright.ir.expr import Expr, Var
from tilewright.ir.module import BaseFunc
from tilewright.ir.node import Span, attr, binds, child, meta, node
from tilewright.ir.recursion import deep_recursion
from tilewright.providers import provider
from tilewright.tir.buffer import Buffer
from tilewright.tir.stmt import Stmt

_set = object.__setattr__
NO_BUFFERS: Final[Mapping[Var, Buffer]] = MappingProxyType({})


@node
class PrimFunc(BaseFunc):
    """A function over buffers and scalars.

    Attributes:
        params: scalars, and handles that `buffer_map` gives a buffer. The constructor makes a
            handle for each buffer among them.
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

    def __init__(
        self,
        params: Sequence[Any],
        body: Stmt,
        ret_type: Type | None = None,
        buffer_map: Mapping[Var, Buffer] | None = None,
        attrs: Mapping[str, Any] | None = None,
        span: Span | None = None,
    ) -> None:
        if any(isinstance(param, Buffer) for param in params):
            params, buffer_map = _with_handles(params, buffer_map or NO_BUFFERS)
        for param in params:
            if not isinstance(param, Var):
                raise ArgumentError(f"PrimFunc: params are variables or buffers, got {param!r}")
        if not isinstance(body, Stmt):
            raise ArgumentError(f"PrimFunc: body is of type Stmt, got {body!r}")
        for handle, buffer in (buffer_map or NO_BUFFERS).items():
            if not isinstance(handle, Var) or not isinstance(buffer, Buffer):
                raise ArgumentError(
                    f"PrimFunc: buffer_map gives variables a buffer, got {handle!r}: {buffer!r}"
                )
        _set(self, "params", tuple(params))
        _set(self, "body", body)
        _set(self, "ret_type", ret_type)
        _set(self, "buffer_map", buffer_map or NO_BUFFERS)
        _set(self, "attrs", attributes(attrs))
        _set(self, "span", span)

    @property
    def struct_info(self) -> Any:
        """What graphs know of it: the `relax.FuncStructInfo` with its buffers as arrays."""
        return provider("struct info").struct_info_of_kernel(self)

    def with_body(self, body: Stmt, span: Span | None = None) -> PrimFunc:
        """A copy with another body; the function itself for its own body."""
        if body is self.body and span is None:
            return self
        if not isinstance(body, Stmt):
            raise ArgumentError(f"PrimFunc: body is of type Stmt, got {body!r}")
        copy = object.__new__(PrimFunc)  # all else is checked already
        for name in ("params", "ret_type", "buffer_map", "attrs"):
            _set(copy, name, getattr(self, name))
        _set(copy, "body", body)
        _set(copy, "span", span or self.span)
        return copy

    @deep_recursion
    def specialize(self, values: Mapping[Var, Any]) -> PrimFunc:
        """A copy in which symbolic sizes (or whole buffers) of the parameters are fixed.

        Args:
            values: maps a size variable to a number, or a handle parameter to a `Buffer` whose
                shape, strides and offset give the values.
        """
        from tilewright.tir.substitute import specialize_function

        return specialize_function(self, values)


def _with_handles(
    params: Sequence[Any], buffer_map: Mapping[Var, Buffer]
) -> tuple[list[Any], Mapping[Var, Buffer]]:
    """The parameters with a handle for each buffer among them, and the buffer behind each."""
    buffers = dict(buffer_map)
    variables: list[Any] = []
    for param in params:
        if isinstance(param, Buffer):
            handle = Var(param.name, HANDLE)
            buffers[handle] = param
            param = handle
        variables.append(param)
    return variables, buffers


def size_value(var: Var, value: object) -> Expr:
    """`value` as a constant of the dtype of the size `var`."""
    if not isinstance(var, Var):
        raise ArgumentError(f"expected a variable, got {var!r}")
    return cast(var.dtype, value)
