"""Arrays with elements added around or between their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright import te, tir
from tilewright.error import ArgumentError, ShapeError, require_one_of
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
    require_one_of("mirror_pad: `mode`", mode, ("SYMMETRIC", "REFLECT"))
    border = 1 if mode == "SYMMETRIC" else 0

    def mirrored(axis: Any, extent: Expr, before: Expr, after: Expr) -> Any:
        place = axis
        if constant(before) != 0:
            place = axis - before
            place = te.if_then_else(axis < before, -place - border, place)
        if constant(after) != 0:
            beyond = axis >= extent + before
            place = te.if_then_else(beyond, 2 * extent - 2 + border - (axis - before), place)
        return place

    return _continued("mirror_pad", data, mode.lower(), pad_before, pad_after, name, mirrored)


def replicate_pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    name: str = "ReplicatePadInput",
) -> Tensor:
    """`data` continued by the elements at its borders."""

    def clamped(axis: Any, extent: Expr, before: Expr, _: Expr) -> Any:
        return tir.max(tir.min(axis - before, extent - 1), 0)

    return _continued("replicate_pad", data, "replicate", pad_before, pad_after, name, clamped)


def circular_pad(
    data: Tensor,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None = None,
    name: str = "CircularPadInput",
) -> Tensor:
    """`data` continued by its other end."""

    def around(axis: Any, extent: Expr, before: Expr, _: Expr) -> Any:
        return floormod(axis - before, extent)

    return _continued("circular_pad", data, "circular", pad_before, pad_after, name, around)


def _continued(
    owner: str,
    data: Tensor,
    mode: str,
    pad_before: Sequence[Any],
    pad_after: Sequence[Any] | None,
    name: str,
    place: Callable[[Any, Expr, Expr, Expr], Any],
) -> Tensor:
    """`data` continued by its own elements; `place` says which, along one dimension."""
    before, after = _amounts(owner, data, pad_before, pad_after)
    for axis, least in least_extents(mode, before, after).items():
        known = constant(data.shape[axis])
        if known is not None and known < least:
            raise ShapeError(
                f"{owner}: dimension {axis} has {known} elements, and needs {least} to be "
                "continued by them so far"
            )

    last = data.ndim - 1
    is_padded = [
        (constant(low), constant(high)) != (0, 0) for low, high in zip(before, after, strict=True)
    ]

    def element(*axes: Any) -> Any:
        index = [
            place(axis, extent, low, high) if continued else axis
            for continued, axis, extent, low, high in zip(
                is_padded, axes, data.shape, before, after, strict=True
            )
        ]
        if not is_padded[last]:
            return data(*index)
        # Most neighbours are neighbours in `data`, too.
        inside = te.all(axes[last] >= before[last], axes[last] < data.shape[last] + before[last])
        return te.if_then_else(inside, data(*index[:last], axes[last] - before[last]), data(*index))

    return te.compute(_padded_shape(data, before, after), element, name, "injective,pad")


def least_extents(mode: str, before: Sequence[Any], after: Sequence[Any]) -> dict[int, int]:
    """How many elements each dimension must have, so that there are enough to continue it by.

    The modes are ``"reflect"``, ``"symmetric"``, ``"replicate"`` and ``"circular"``; any other one
    needs none.
    """
    least = {}
    for axis, ends in enumerate(zip(before, after, strict=True)):
        amount = max(constant(end) or 0 for end in ends)
        wanted = {"reflect": amount + 1, "symmetric": amount, "replicate": 1, "circular": 1}
        if amount:
            least[axis] = wanted.get(mode, 0)
    return least


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
