"""Arrays with elements added around or between their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import te, tir
from tilewright.error import ArgumentError, ArgumentValueError, ShapeError
from tilewright.ir.arithmetic import floormod
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.topi.nn.window import constant, simplified


def pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    pad_value: Any = 0.0,
    name: str = "PadInput",
    attrs: dict[str, Any] | None = None,
) -> Tensor:
    """`data` with `pad_value` around it.

    Args:
        data: the array.
        pad_before: how many elements are added before each dimension.
        pad_after: how many after each; by default as many as before.
        pad_value: the value of the new elements.
        name: of the result.
        attrs: attributes of the operation.
    """
    before, after = _amounts("pad", data, pad_before, pad_after)
    value = as_expr(pad_value, None if isinstance(pad_value, Expr) else data.dtype)
    value = cast(data.dtype, value)
    padded = [
        n
        for n, (low, high) in enumerate(zip(before, after, strict=True))
        if constant(low) != 0 or constant(high) != 0
    ]

    def element(*axes: Any) -> Any:
        place = [a if constant(b) == 0 else a - b for a, b in zip(axes, before, strict=True)]
        inside = []
        for n in padded:
            if constant(before[n]) != 0:
                inside.append(axes[n] >= before[n])
            if constant(after[n]) != 0:
                inside.append(axes[n] < data.shape[n] + before[n])
        return te.if_then_else(te.all(*inside), data(*place), value) if inside else data(*place)

    shape = _padded_shape(data, before, after)
    return te.compute(shape, element, name, "injective,pad", attrs)


def mirror_pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    mode: str = "SYMMETRIC",
    name: str = "MirrorPadInput",
) -> Tensor:
    """`data` continued by its mirror image.

    Args:
        data: the array.
        pad_before: how many elements are added before each dimension.
        pad_after: how many after each; by default as many as before.
        mode: ``"SYMMETRIC"`` repeats the element at the border, ``"REFLECT"`` does not.
        name: of the result.
    """
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise ArgumentValueError(f'mirror_pad: `mode` is "SYMMETRIC" or "REFLECT", got {mode!r}')
    before, after = _amounts("mirror_pad", data, pad_before, pad_after)
    _require_extents("mirror_pad", data, mode.lower(), before, after)
    border = 1 if mode == "SYMMETRIC" else 0

    def mirrored(axis: Any, n: int) -> Any:
        place = axis
        if constant(before[n]) != 0:
            place = axis - before[n]
            place = te.if_then_else(axis < before[n], -place - border, place)
        if constant(after[n]) != 0:
            end = data.shape[n]
            beyond = axis >= end + before[n]
            place = te.if_then_else(beyond, 2 * end - 2 + border - (axis - before[n]), place)
        return place

    return te.compute(
        _padded_shape(data, before, after),
        lambda *axes: data(*(mirrored(axis, n) for n, axis in enumerate(axes))),
        name,
        "injective,pad",
    )


def replicate_pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    name: str = "ReplicatePadInput",
) -> Tensor:
    """`data` continued by the elements at its borders."""
    before, after = _amounts("replicate_pad", data, pad_before, pad_after)
    _require_extents("replicate_pad", data, "replicate", before, after)

    def clamped(axis: Any, n: int) -> Any:
        if constant(before[n]) == 0 and constant(after[n]) == 0:
            return axis
        last = data.shape[n] - 1
        return tir.max(tir.min(axis - before[n], last), 0)

    return te.compute(
        _padded_shape(data, before, after),
        lambda *axes: data(*(clamped(axis, n) for n, axis in enumerate(axes))),
        name,
        "injective,pad",
    )


def circular_pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    name: str = "CircularPadInput",
) -> Tensor:
    """`data` continued by its other end."""
    before, after = _amounts("circular_pad", data, pad_before, pad_after)
    _require_extents("circular_pad", data, "circular", before, after)

    def around(axis: Any, n: int) -> Any:
        if constant(before[n]) == 0 and constant(after[n]) == 0:
            return axis
        return floormod(axis - before[n], data.shape[n])

    return te.compute(
        _padded_shape(data, before, after),
        lambda *axes: data(*(around(axis, n) for n, axis in enumerate(axes))),
        name,
        "injective,pad",
    )


def least_extents(mode: str, before: Sequence[Any], after: Sequence[Any]) -> dict[int, int]:
    """How many elements each dimension must have, so that there are enough to continue it by.

    Args:
        mode: ``"reflect"``, ``"symmetric"``, ``"replicate"`` or ``"circular"``; any other one needs
            none.
        before: how many elements are added before each dimension.
        after: how many after each.
    """
    least = {}
    for axis, ends in enumerate(zip(before, after, strict=True)):
        amount = max(constant(end) or 0 for end in ends)
        wanted = {"reflect": amount + 1, "symmetric": amount, "replicate": 1, "circular": 1}
        if amount:
            least[axis] = wanted.get(mode, 0)
    return least


def _require_extents(
    owner: str, data: Tensor, mode: str, before: Sequence[Expr], after: Sequence[Expr]
) -> None:
    for axis, least in least_extents(mode, before, after).items():
        known = constant(data.shape[axis])
        if known is not None and known < least:
            raise ShapeError(
                f"{owner}: dimension {axis} has {known} elements, and needs {least} to be "
                "continued by them so far"
            )


def _amounts(
    owner: str, data: Tensor, before: Sequence[Any], after: Sequence[Any] | None
) -> tuple[list[Expr], list[Expr]]:
    both = [before, before if after is None else after]
    for amounts in both:
        if len(amounts) != data.ndim:
            raise ArgumentError(
                f"{owner}: {len(amounts)} numbers to pad with for {data.ndim} dimensions"
            )
    low, high = ([simplified(amount) for amount in amounts] for amounts in both)
    return low, high


def _padded_shape(data: Tensor, before: Sequence[Expr], after: Sequence[Expr]) -> list[Expr]:
    return [
        simplified(low + extent + high)
        for low, extent, high in zip(before, data.shape, after, strict=True)
    ]


def dilate(
    data: Tensor, strides: Sequence[int], dilation_value: float = 0.0, name: str = "DilatedInput"
) -> Tensor:
    """`data` with its elements ``strides[n]`` apart along dimension ``n``.

    Args:
        data: the array.
        strides: one for each dimension.
        dilation_value: value of the inserted elements.
        name: of the result.
    """
    if len(strides) != data.ndim:
        raise ArgumentError(f"dilate: {len(strides)} strides for {data.ndim} dimensions")
    shape = [
        simplified((extent - 1) * stride + 1)
        for extent, stride in zip(data.shape, strides, strict=True)
    ]
    between = as_expr(dilation_value, data.dtype)

    def element(*axes: Any) -> Any:
        apart = [n for n, stride in enumerate(strides) if constant(stride) != 1]
        place = [a // strides[n] if n in apart else a for n, a in enumerate(axes)]
        if not apart:
            return data(*place)
        hit = te.all(*((axes[n] % strides[n]).equal(0) for n in apart))
        return te.if_then_else(hit, data(*place), between)

    return te.compute(shape, element, name, "injective,dilate")
