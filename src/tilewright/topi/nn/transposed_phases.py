"""The phases of transposed convolutions: which results have which part of the kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright import te
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.topi.nn.window import constant, reach, simplified


class Along(NamedTuple):
    """A transposed convolution along one dimension.

    Attributes:
        phases: how many phases there are.
        taps: the largest number of elements of the kernel that a phase has.
        dilation: their distances.
        between: the distances of the elements of the images.
        first: which element of a phase the first result is, counted from the first product.
        offset: which phase the first result has.
        extent: how many elements of each phase are needed.
        size: how many results there are.
    """

    phases: int
    taps: Expr
    dilation: int
    between: int
    first: Expr
    offset: Expr
    extent: Expr
    size: Expr


class Phases(NamedTuple):
    """Consecutive phases along one dimension, with the same number of taps.

    Attributes:
        first: the first of them.
        number: how many there are.
        taps: how many elements of the kernel each has.
    """

    first: int
    number: int
    taps: Expr


def phases_of(along: Along, window: Expr) -> list[Phases]:
    """All phases along a dimension: the first ones may have one tap more than the others."""
    longer = constant(simplified(window % along.phases))
    if not longer:
        return [Phases(0, along.phases, along.taps)]
    fewer = simplified(along.taps - 1)
    return [Phases(0, longer, along.taps), Phases(longer, along.phases - longer, fewer)]


def transposed_along(
    extent: Expr, window: Expr, stride: int, dilation: int, before: Expr, after: Expr, extra: Expr
) -> Along:
    size = spread_extent(extent, window, stride, dilation, before + after, extra)
    phases = stride if dilation == 1 else 1
    taps = simplified(floordiv(window + (phases - 1), phases))
    first = simplified(floordiv(before, phases))
    last = floordiv(before + size - 1, phases)
    return Along(
        phases, taps, dilation, stride // phases, first, simplified(floormod(before, phases)),
        simplified(last - first + 1), size,
    )  # fmt: skip


def spread_extent(
    extent: Any, window: Any, stride: int, dilation: int, cut: Any, extra: Any
) -> Expr:
    """The extent of a transposed convolution.

    Args:
        extent: that of the input.
        window: that of the kernel.
        stride: how far apart the windows are.
        dilation: the distance of the elements of a window.
        cut: what is cut off at both ends together.
        extra: what is added to the end.
    """
    return simplified((extent - 1) * stride + reach(window, dilation) - cut + extra)


def spread(
    data: Tensor, axes: Sequence[int], along: Sequence[Along], taps: Sequence[Expr]
) -> Tensor:
    """What the products of phases read: the images with zeros around, and perhaps between."""
    shape, starts = list(data.shape), []
    for axis, item, extent in zip(axes, along, taps, strict=True):
        reached = (extent - 1) * item.dilation
        shape[axis] = simplified(item.extent + reached)
        starts.append(simplified(item.first - reached))

    def element(*output: Any) -> Any:
        index, inside = list(output), []
        for axis, item, start in zip(axes, along, starts, strict=True):
            place = simplified(output[axis] + start)
            if item.between != 1:
                inside.append((place % item.between).equal(0))
            index[axis] = floordiv(place, item.between)
            inside += [place >= 0, index[axis] < data.shape[axis]]
        return te.if_then_else(te.all(*inside), data(*index), as_expr(0, data.dtype))

    return te.compute(shape, element, "data_spread", "injective,pad")


def joined(
    totals: Sequence[tuple[Sequence[Phases], Tensor | None]], along: Sequence[Along],
    outputs: Expr, layout: str,
) -> Tensor:  # fmt: skip
    """The results of all phases as channels of each group.

    Args:
        totals: the results of some phases each, as channels of each group; None for zeros.
        along: the transposed convolution along each spatial dimension.
        outputs: the number of output channels of a group.
        layout: of the images.
    """
    known, first = next((phases, total) for phases, total in totals if total is not None)
    if len(totals) == 1:
        return first
    channel, shape = layout.index("C"), list(first.shape)
    count = math.prod(item.phases for item in along)
    shape[channel] = simplified(
        floordiv(shape[channel], math.prod(item.number for item in known)) * count
    )

    def element(*output: Any) -> Any:
        filter = floormod(output[channel], outputs)
        phase = floordiv(output[channel], outputs)
        group, digits = floordiv(phase, count), []
        for item in reversed(along):
            digits.insert(0, floormod(phase, item.phases))
            phase = floordiv(phase, item.phases)

        def result(phases: Sequence[Phases], total: Tensor | None) -> Any:
            if total is None:
                return as_expr(0, first.dtype)
            number: Any = as_expr(0)
            for digit, item in zip(digits, phases, strict=True):
                number = number * item.number + (digit - item.first)
            own = (group * math.prod(item.number for item in phases) + number) * outputs + filter
            return total(*output[:channel], own, *output[channel + 1 :])

        value = result(*totals[-1])
        for phases, total in reversed(totals[:-1]):
            here = [
                te.all(digit >= item.first, digit < item.first + item.number)
                for digit, item, whole in zip(digits, phases, along, strict=True)
                if item.number < whole.phases
            ]
            value = te.if_then_else(te.all(*here), result(phases, total), value)
        return value

    return te.compute(shape, element, f"{first.name}_phases", "injective")


def interleaved(
    total: Tensor, axes: Sequence[int], along: Sequence[Along], outputs: Expr, layout: str
) -> Tensor:
    """The results of all phases in turn; `total` has them as channels of each group."""
    shape = list(total.shape)
    channel = layout.index("C")
    phases = math.prod(item.phases for item in along)
    shape[channel] = simplified(floordiv(shape[channel], phases))
    for axis, item in zip(axes, along, strict=True):
        shape[axis] = item.size

    def element(*output: Any) -> Any:
        index = list(output)
        phase: Any = as_expr(0)
        for axis, item in zip(axes, along, strict=True):
            place = output[axis] + item.offset
            index[axis] = floordiv(place, item.phases)
            phase = phase * item.phases + floormod(place, item.phases)
        group, filter = floordiv(output[channel], outputs), floormod(output[channel], outputs)
        index[channel] = (group * phases + phase) * outputs + filter
        return total(*index)

    return te.compute(shape, element, f"{total.name}_interleaved", "injective")
