"""The phases of transposed convolutions: which results have which part of the kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tilewright import te
from tilewright.ir.arithmetic import floordiv, floormod
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr
from tilewright.te import Tensor
from tilewright.topi.nn.window import constant, reach, simplified


class TransposedDimension(NamedTuple):
    """A transposed convolution along one dimension.

    Tap ``t`` of the kernel adds to the results ``i * stride + t * dilation``, counted from the
    first product. Phase ``c`` has the taps ``c``, ``c + phases``, ``c + 2 * phases``, ...: these
    are all that reach a result. Where the stride and the dilation have a common divisor, the
    results between its multiples have no product at all.

    Attributes:
        stride: how far apart elements are spread.
        apart: the distances of the elements of the kernel in the result.
        divisor: the greatest common divisor of the two.
        phases: how many phases there are.
        taps: the largest number of elements of the kernel that a phase has.
        first: the element of the images that the first result of a phase begins with.
        offset: which result is the first one, counted from the first of `first`.
        extent: how many results of each phase are computed.
        size: how many results there are.
    """

    stride: int
    apart: int
    divisor: int
    phases: int
    taps: Expr
    first: Expr
    offset: Expr
    extent: Expr
    size: Expr

    @property
    def dilation(self) -> int:
        """The distances of the elements of the images that the taps of a phase read."""
        return self.apart // self.divisor

    def place(self, output: Any) -> tuple[Any, Any, Any]:
        """Where a result is: its phase, its number there, and the distance to the divisor."""
        place = output + self.offset
        turn = pow(self.dilation, -1, self.phases)
        phase = floormod(floordiv(place, self.divisor) * turn, self.phases)
        start = place if self.apart == 1 else place - phase * self.apart
        return phase, floordiv(start, self.stride), floormod(place, self.divisor)


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


def phases_of(along: TransposedDimension, window: Expr) -> list[Phases]:
    """All phases along a dimension: the first ones may have one tap more than the others."""
    longer = constant(simplified(window % along.phases))
    if not longer:
        return [Phases(0, along.phases, along.taps)]
    fewer = simplified(along.taps - 1)
    return [Phases(0, longer, along.taps), Phases(longer, along.phases - longer, fewer)]


def transposed_along(
    extent: Expr, window: Expr, stride: int, dilation: int, before: Expr, after: Expr, extra: Expr
) -> TransposedDimension:
    size = spread_extent(extent, window, stride, dilation, before + after, extra)
    divisor = math.gcd(stride, dilation)
    phases = stride // divisor
    taps = simplified(floordiv(window + (phases - 1), phases))
    first = simplified(floordiv(before + (stride - 1 - (phases - 1) * dilation), stride))
    last = floordiv(before + size - 1, stride)
    return TransposedDimension(
        stride, dilation, divisor, phases, taps, first, simplified(before - first * stride),
        simplified(last - first + 1), size,
    )  # fmt: skip


def spread_extent(
    extent: Any, window: Any, stride: int, dilation: int, cut: Any, extra: Any
) -> Expr:
    """The extent of a transposed convolution.

    `cut` elements are cut off at both ends together, and `extra` ones are added to the end.
    """
    return simplified((extent - 1) * stride + reach(window, dilation) - cut + extra)


def padded(data: Tensor, axes: Sequence[int], along: Sequence[TransposedDimension]) -> Tensor:
    """What the products of all phases read: the images with zeros around."""
    shape, starts = list(data.shape), []
    for axis, item in zip(axes, along, strict=True):
        reached = (item.taps - 1) * item.dilation
        shape[axis] = simplified(item.extent + reached)
        starts.append(simplified(item.first - reached))

    def element(*output: Any) -> Any:
        index, inside = list(output), []
        for axis, start in zip(axes, starts, strict=True):
            index[axis] = simplified(output[axis] + start)
            inside += [index[axis] >= 0, index[axis] < data.shape[axis]]
        return te.if_then_else(te.all(*inside), data(*index), as_expr(0, data.dtype))

    return te.compute(shape, element, "data_padded", "injective,pad")


def interleaved(
    totals: Mapping[tuple[Phases, ...], Tensor | None],
    kinds: Sequence[Sequence[Phases]],
    axes: Sequence[int],
    along: Sequence[TransposedDimension],
    outputs: Expr,
    layout: str,
) -> Tensor:
    """The results of all phases in turn.

    `totals` has the results by phases along each dimension, as channels of each group; None for
    zeros. A group has `outputs` output channels.
    """
    known, first = next((kind, total) for kind, total in totals.items() if total is not None)
    channel, shape, zero = layout.index("C"), list(first.shape), as_expr(0, first.dtype)
    shape[channel] = simplified(floordiv(shape[channel], math.prod(item.number for item in known)))
    for axis, item in zip(axes, along, strict=True):
        shape[axis] = item.size

    def element(*output: Any) -> Any:
        index, digits, has_products = list(output), [], []
        group, filter = floordiv(output[channel], outputs), floormod(output[channel], outputs)
        for axis, item in zip(axes, along, strict=True):
            digit, index[axis], rest = item.place(output[axis])
            digits.append(digit)
            if item.divisor > 1:
                has_products.append(rest.equal(0))

        def result(kind: tuple[Phases, ...]) -> Any:
            """The element of the phases `kind`, or of those that begin with them."""
            if len(kind) < len(along):
                n = len(kind)
                *few, last = kinds[n]
                value = result((*kind, last))
                for phases in reversed(few):
                    here = digits[n] < phases.first + phases.number
                    value = te.if_then_else(here, result((*kind, phases)), value)
                return value
            total, number = totals[kind], as_expr(0)
            if total is None:
                return zero
            for digit, phases in zip(digits, kind, strict=True):
                if phases.number > 1:
                    number = number * phases.number + (digit - phases.first)
            own = (group * math.prod(phases.number for phases in kind) + number) * outputs + filter
            return total(*index[:channel], own, *index[channel + 1 :])

        value = result(())
        return te.if_then_else(te.all(*has_products), value, zero) if has_products else value

    return te.compute(shape, element, f"{first.name}_interleaved", "injective")
