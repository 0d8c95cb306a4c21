"""Rules of inference, and of extents that must agree.

What the functions on tensors refuse, inference refuses. Extents that are symbolic are compared when
the program runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tilewright.error import ArgumentError, ArgumentValueError, DTypeError, ShapeError
from tilewright.ir.arithmetic import maximum, minimum, not_equal, select
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr, FloatImm, IntImm, is_const_int
from tilewright.relax.expr import RelaxExpr, ShapeExpr
from tilewright.relax.op.broadcasting import with_extents
from tilewright.relax.op.table import Inference
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
)
from tilewright.te.tensor import extent_text
from tilewright.topi.operands import normalized_axes, normalized_axis
from tilewright.topi.reshape import number_of_elements

Result = TypeVar("Result")


def checked(inference: Inference, rule: Callable[..., Result], *args: Any) -> Result:
    """``rule(owner, *args)``, where `owner` names the operator; what it refuses is reported."""
    owner = f"R.{inference.call.op.name.removeprefix('relax.')}"  # type: ignore[union-attr]
    try:
        return rule(owner, *args)
    except (ArgumentError, DTypeError, ShapeError) as error:
        inference.error(str(error).removeprefix(f"{owner}: "))


def axis_of(inference: Inference, ndim: int, name: str = "axis") -> int:
    """The attribute `name`, a dimension, counted from the front."""
    return checked(inference, normalized_axis, inference.attr(name), ndim)


def axes_of(inference: Inference, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """The attribute `name`, dimensions (all for None), counted from the front."""
    return checked(inference, normalized_axes, inference.attr(name), ndim)


def array_like(
    info: TensorStructInfo,
    extents: Sequence[Any] | None,
    ndim: int = UNKNOWN_NDIM,
    dtype: DType | None = None,
) -> TensorStructInfo:
    """An array of another shape, on the same device.

    Args:
        extents: the shape; None where only the rank is known.
        ndim: the rank, for unknown extents.
    """
    kind = dtype or info.dtype
    if extents is None:
        return TensorStructInfo(None, kind, info.vdevice, ndim)
    return TensorStructInfo(ShapeExpr(extents), kind, info.vdevice)


def shape_argument(inference: Inference, position: int) -> ShapeStructInfo:
    """The struct info of argument `position`, a shape."""
    info = inference.struct_info(position)
    if not isinstance(info, ShapeStructInfo):
        inference.error(f"{inference.name_of(position)} must be a shape, it is {info!r}")
    return info


def result_dtype(dtype: Any) -> DType | None:
    """An optional dtype of a result; ``"void"`` stands for that of the inputs, as None does."""
    chosen = DType(dtype) if dtype else None
    return None if chosen == "void" else chosen


def scalar_argument(inference: Inference, position: int) -> Expr | None:
    """The value of argument `position`, a scalar; None if it is not known."""
    info = inference.struct_info(position)
    if not isinstance(info, PrimStructInfo):
        inference.error(f"{inference.name_of(position)} must be a scalar, it is {info!r}")
    return info.value


def require_value(inference: Inference, value: Any, dtype: DType) -> None:
    """Refuse a number that is not a value of a dtype; an expression that is not known passes."""
    number: Any = value.value if isinstance(value, (IntImm, FloatImm)) else value
    if isinstance(number, Expr):
        return
    number = number.item() if hasattr(number, "item") else number  # a scalar of numpy
    whole = isinstance(number, int) or (isinstance(number, float) and number.is_integer())
    fits = dtype.is_float and isinstance(number, (int, float))
    fits = fits or (dtype.is_bool and whole and number in (0, 1))
    fits = fits or (dtype.is_integral and whole and dtype.min_int <= number <= dtype.max_int)
    if not fits:
        inference.error(f"{number!r} is not a value of the dtype {dtype!s} of the array")


def integers(inference: Inference, position: int) -> TensorStructInfo:
    """The struct info of argument `position`, an array of integers."""
    info = inference.tensor(position)
    if info.dtype is not None and (not info.dtype.is_integral or info.dtype.is_bool):
        inference.error(
            f"{inference.name_of(position)} must have integers, it has {info.dtype!s}; convert it "
            "with astype"
        )
    return info


def require_agreement(inference: Inference, what: str, a: Expr, b: Expr) -> None:
    """Refuse a call with two extents that are known to be different."""
    if inference.differ(a, b):
        inference.error(f"{what}: {extent_text(a)} and {extent_text(b)} differ")


def require_at_least(
    inference: Inference, position: int, extents: Sequence[Expr], least: Mapping[int, int]
) -> None:
    """Refuse a call with an argument that is known to be too small."""
    for axis, number in least.items():
        if inference.analyzer.can_prove(extents[axis] < number):
            inference.error(
                f"{inference.name_of(position)} must have at least {number} "
                f"element{'s' * (number != 1)} along dimension {axis}, not "
                f"{extent_text(extents[axis])}"
            )


def require_within(
    inference: Inference, position: int, extents: Sequence[Expr], limits: Mapping[int, Expr]
) -> None:
    """Refuse a call with an argument that is known to be too large."""
    for axis, limit in limits.items():
        if inference.analyzer.can_prove(extents[axis] > limit):
            inference.error(
                f"{inference.name_of(position)} must have at most {extent_text(limit)} elements "
                f"along dimension {axis}, as the data has, not {extent_text(extents[axis])}"
            )


def agreeing(builder: Any, value: RelaxExpr, extents: Mapping[int, Expr]) -> RelaxExpr:
    """`value`, with a check that it has `extents` along some dimensions, unless that is known."""
    value, known = sized(builder, value)
    wanted = [
        extents[axis]
        if axis in extents and not builder.analyzer.can_prove_equal(extent, extents[axis])
        else extent
        for axis, extent in enumerate(known)
    ]
    if all(a is b for a, b in zip(wanted, known, strict=True)):
        return value
    info = value.struct_info
    assert isinstance(info, TensorStructInfo)
    return builder.match_cast(value, TensorStructInfo(wanted, info.dtype, info.vdevice))


def requiring(builder: Any, value: RelaxExpr, extents: Mapping[int, Expr]) -> RelaxExpr:
    """`value`, with a check like that of `agreeing`, after which its extents are as they were.

    So an extent may be required to be a multiple, or at least a number::

        requiring(builder, x, {0: maximum(n, 4)})
    """
    plain, _ = sized(builder, value)
    checked = agreeing(builder, plain, extents)
    return plain if checked is plain else builder.match_cast(checked, plain.struct_info)


def at_least(builder: Any, value: RelaxExpr, least: Mapping[int, int]) -> RelaxExpr:
    """`value`, with a check that its extents along some dimensions are not less than a number."""
    value, known = sized(builder, value)
    wanted = {n: maximum(known[n], const(number, INT64)) for n, number in least.items()}
    return requiring(builder, value, wanted)


def within(builder: Any, value: RelaxExpr, limits: Mapping[int, Expr]) -> RelaxExpr:
    """`value`, with a check that its extents along some dimensions are not more than others."""
    value, known = sized(builder, value)
    return requiring(builder, value, {n: minimum(known[n], e) for n, e in limits.items()})


def with_elements(
    builder: Any, value: RelaxExpr, axes: Iterable[int], places: Sequence[Expr]
) -> RelaxExpr:
    """`value`, with a check that it has elements along `axes` if any are read.

    Args:
        axes: the dimensions that places are in.
        places: the shape of the array of places.
    """
    value, known = sized(builder, value)
    is_read = not_equal(number_of_elements(places), 0)
    wanted = {n: select(is_read, maximum(known[n], const(1, INT64)), known[n]) for n in axes}
    return requiring(builder, value, wanted)


def require_elements(
    inference: Inference, extents: Sequence[Expr], axes: Iterable[int], places: Sequence[Expr]
) -> None:
    """Refuse a call that is known to read elements along dimensions without any."""
    for axis in axes:
        if is_const_int(extents[axis], 0) and inference.analyzer.can_prove(
            number_of_elements(places) > 0
        ):
            inference.error(f"there are no elements to take along dimension {axis}")


def sized(builder: Any, value: RelaxExpr) -> tuple[RelaxExpr, tuple[Expr, ...]]:
    """An array with named extents, and these extents."""
    value = with_extents(builder, value)
    info = value.struct_info
    assert isinstance(info, TensorStructInfo)
    assert info.extents is not None
    return value, info.extents


def numbers(owner: str, name: str, value: Any, count: int) -> tuple[int, ...]:
    """One number for all, one for a dimension, or one for each end, as `count` numbers.

    Raises:
        ArgumentError: for another number of them.
        ArgumentValueError: for a negative one.
    """
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    given = len(items)
    if given == 1 or (2 * given == count and name == "padding"):
        items *= count // given
    if len(items) != count:
        forms = f"1, {count // 2} or {count}" if name == "padding" else f"1 or {count}"
        raise ArgumentError(f"{owner}: `{name}` has {forms} numbers, got {value!r}")
    amounts = tuple(int(getattr(item, "value", item)) for item in items)
    if min(amounts) < 0:
        raise ArgumentValueError(f"{owner}: `{name}` is at least 0, got {value!r}")
    return amounts
