"""Making tensors: `placeholder` and `compute`, and the scalars that they mention."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.convert import as_expr
from tilewright.ir.convert import const as const_expr
from tilewright.ir.dtype import FLOAT32, DType
from tilewright.ir.expr import Expr, SizeVar, Var, values_unknown
from tilewright.ir.recursion import deep_recursion
from tilewright.te.operation import ComputeOp, PlaceholderOp
from tilewright.te.tag import TagScope
from tilewright.te.tensor import Tensor, as_shape
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType, IterVar


def var(name: str = "tindex", dtype: str = "int32", span: object = None) -> Var:
    """A scalar variable: a symbolic size, or a scalar parameter of the function."""
    del span
    return Var(name, DType(dtype))


def size_var(name: str = "size", dtype: str = "int32", span: object = None) -> SizeVar:
    """A variable that is at least 0, for symbolic sizes."""
    del span
    return SizeVar(name, DType(dtype))


def const(value: object, dtype: str | None = None, span: object = None) -> Expr:
    """A constant; by default int32 (int64 where needed), float32 or bool."""
    del span
    return const_expr(value, dtype)


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """An input tensor.

    Args:
        shape: extents, integers or expressions; one extent may stand alone.
        dtype: type of the elements, float32 by default.
        name: of the tensor, and of the parameter that it becomes.

    Raises:
        ShapeError: for a negative extent.
        DTypeError: for an unknown dtype, or an extent that is not an integer.
    """
    element = FLOAT32 if dtype is None else DType(dtype)
    extents = as_shape(shape, f"te.placeholder {name!r}")
    return PlaceholderOp(name, "", None, [(extents, element)]).output(0)


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor of the given shape whose element at ``(i, j)`` is ``fcompute(i, j)``.

    Args:
        shape: extents, one per parameter of `fcompute`.
        fcompute: from index variables to an expression, or to a tuple for several outputs. A
            reduction such as `te.sum` is the whole expression. The names of its parameters become
            the names of the axes; without parameters or with ``*i`` they are ``i0, i1, ...``.
        name: of the tensor.
        tag: what kind of computation it is; see also `tag_scope`.
        attrs: further data about it.
        varargs_names: names of the axes that ``*i`` stands for.

    Returns:
        A `Tensor`, or a tuple of tensors if `fcompute` gives several expressions.

    Raises:
        ArgumentError: if the parameters of `fcompute` do not fit the shape, it gives no
            expression, or a reduction is only part of an expression.
        ShapeError: for a negative extent.
        DTypeError: for operands that cannot be combined.
    """
    owner = f"te.compute {name!r}"
    if not callable(fcompute):
        raise ArgumentError(
            f"{owner}: fcompute must be a function of the indices, got {fcompute!r}"
        )
    extents = as_shape(shape, owner)
    axis = tuple(
        IterVar(
            Range.from_extent(extent),
            Var(label, extent.dtype),
            IterType.DATA_PAR,
        )
        for label, extent in zip(
            _axis_names(owner, fcompute, len(extents), varargs_names), extents, strict=True
        )
    )
    indices = [iv.var for iv in axis]
    with values_unknown(indices):
        result = fcompute(*indices)
    several = isinstance(result, (tuple, list))
    body = tuple(_as_body(owner, item) for item in (result if several else (result,)))
    if not body:
        raise ArgumentError(f"{owner}: fcompute gives no expression")
    op = ComputeOp(name, TagScope.resolve(tag), attrs, axis, body)
    return op.outputs if several else op.output(0)


@deep_recursion
def _as_body(owner: str, value: object) -> Expr:
    if value is None:
        raise ArgumentError(f"{owner}: fcompute gives None; does it lack a return?")
    body = as_expr(value)
    if body.dtype.is_handle or body.dtype == "void":
        raise ArgumentError(f"{owner}: fcompute gives {body!r}, which is not a number")
    return body


def _axis_names(
    owner: str, fcompute: Callable[..., Any], ndim: int, varargs_names: Sequence[str] | None
) -> list[str]:
    parameters = inspect.signature(fcompute).parameters.values()
    # Parameters with a default only carry a value of the surroundings: ``lambda i, step=step:``.
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [p.name for p in parameters if p.kind in positional and p.default is p.empty]
    star = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    if star is None and len(named) != ndim:
        raise ArgumentError(
            f"{owner}: fcompute takes {len(named)} indices {_listed(named)}, but the shape has "
            f"{ndim} dimensions"
        )
    if star is None:
        return named
    rest = ndim - len(named)
    if rest < 0:
        raise ArgumentError(
            f"{owner}: fcompute takes at least {len(named)} indices, but the shape has {ndim} "
            "dimensions"
        )
    if varargs_names is None:
        return named + [f"{star}{position}" for position in range(rest)]
    if len(varargs_names) != rest:
        raise ShapeError(
            f"{owner}: {len(varargs_names)} varargs_names for {rest} dimensions of *{star}"
        )
    return named + [str(item) for item in varargs_names]


def _listed(names: list[str]) -> str:
    return f"({', '.join(names)})"
