"""Extents that must agree, and are checked when the program runs where they are symbolic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tilewright.ir.arithmetic import maximum, minimum, not_equal, select
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, is_const_int
from tilewright.relax.expr import RelaxExpr
from tilewright.relax.op.broadcasting import with_extents
from tilewright.relax.op.inference import Inference
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.te.tensor import extent_text
from tilewright.topi.reshape import number_of_elements


def require_agreement(inference: Inference, what: str, a: Expr, b: Expr) -> None:
    """Refuse a call with two extents that are known to be different."""
    if inference.differ(a, b):
        inference.error(f"{what}: {extent_text(a)} and {extent_text(b)} differ")


def require_at_least(
    inference: Inference, position: int, extents: Sequence[Expr], least: Mapping[int, int]
) -> None:
    """Refuse a call of which an argument is known to be smaller than it must be."""
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
    """Refuse a call of which an argument is known to be larger than it can be."""
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
        builder: where the check is emitted.
        value: an array.
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
    """An array of which the extents have names, and the extents."""
    value = with_extents(builder, value)
    info = value.struct_info
    assert isinstance(info, TensorStructInfo)
    assert info.extents is not None
    return value, info.extents
