"""What operators have in common: axes as users name them, dtypes of sums, other layouts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from tilewright import te, tir
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir.arithmetic import logical_and, select
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import FLOAT32, DType
from tilewright.ir.expr import Expr, IntImm
from tilewright.te import Tensor
from tilewright.te.elementwise import cast_elements


def accumulator(dtype: DType) -> DType:
    """Dtype of sums of elements of `dtype`: single precision for half precision."""
    return FLOAT32 if dtype.is_float and dtype.bits < FLOAT32.bits else dtype


def in_dtype(total: Tensor, dtype: DType) -> Tensor:
    """`total` with elements of type `dtype`; `total` itself if it has them."""
    return total if total.dtype is dtype else cast_elements(total, dtype)


def or_neutral(
    reduced: Tensor, extents: Sequence[Expr], neutral: Any = 0, name: str = "T_or_nothing"
) -> Tensor:
    """`reduced`, or `neutral` everywhere if one of the extents that it was reduced over is 0."""
    value = as_expr(neutral, reduced.dtype)
    if any(isinstance(extent, IntImm) and extent.value == 0 for extent in extents):
        return te.compute(reduced.shape, lambda *_: value, name, "elemwise")
    unknown = [extent for extent in extents if not isinstance(extent, IntImm)]
    if not unknown:
        return reduced
    is_something: Expr = unknown[0] > 0
    for extent in unknown[1:]:
        is_something = logical_and(is_something, extent > 0)
    return te.compute(
        reduced.shape,
        lambda *i: tir.Select(is_something, reduced(*i), value),
        name,
        "elemwise",
    )


def as_int(owner: str, name: str, value: Any) -> int:
    """A constant integer argument.

    Raises:
        ArgumentError: if it is something else.
    """
    if isinstance(value, IntImm):
        return value.value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{owner}: {name} is a constant integer, got {value!r}")
    return value.__index__()


def normalized_axis(owner: str, axis: Any, ndim: int) -> int:
    """`axis` counted from the front.

    Raises:
        ShapeError: if there is no such dimension.
    """
    number = as_int(owner, "axis", axis)
    if not -ndim <= number < ndim:
        raise ShapeError(f"{owner}: axis {number} is out of range for {ndim} dimensions")
    return number % ndim


def normalized_axes(owner: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions that `axis` names, one, several or None for all, counted from the front.

    Raises:
        ShapeError: if there is no such dimension, or one is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    listed: Sequence[Any] = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = tuple(normalized_axis(owner, item, ndim) for item in listed)
    if len(set(found)) != len(found):
        raise ShapeError(f"{owner}: axes {tuple(listed)} name a dimension twice")
    return found


def nth(items: Sequence[Expr], n: Expr, choose: Callable[..., Expr] = select) -> Expr:
    """Item number `n` of some expressions."""
    value = items[-1]
    for number in range(len(items) - 2, -1, -1):
        value = choose(n == number, items[number], value)
    return value


Operator = TypeVar("Operator", bound=Callable[..., Tensor])


def variant(
    model: Operator, name: str, doc: str, compute: Callable[..., Tensor], **defaults: Any
) -> Operator:
    """An operator called `name`, with the parameters of another one, and other defaults.

    `compute` is called with the name, and all arguments in the order of the parameters.
    """
    signature = inspect.signature(model)
    signature = signature.replace(
        parameters=[
            parameter.replace(default=defaults.get(parameter.name, parameter.default))
            for parameter in signature.parameters.values()
        ]
    )

    def operator(*args: Any, **options: Any) -> Tensor:
        try:
            given = signature.bind(*args, **options)
        except TypeError as error:
            raise ArgumentError(f"{name}: {error}") from None
        given.apply_defaults()
        return compute(name, *given.arguments.values())

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__, operator.__module__ = doc, model.__module__
    operator.__signature__ = signature
    return cast(Operator, operator)
