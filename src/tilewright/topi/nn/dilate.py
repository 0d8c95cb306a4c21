"""Arrays with elements added between their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import te
from tilewright.error import ArgumentError
from tilewright.ir.convert import as_expr
from tilewright.te import Tensor
from tilewright.topi.nn.window import constant, simplified


def dilate(
    data: Tensor, strides: Sequence[int], dilation_value: float = 0.0, name: str = "DilatedInput"
) -> Tensor:
    """`data` with its elements ``strides[n]`` apart along dimension ``n``.

    Args:
        data: the array.
        strides: one for each dimension.
        dilation_value: what is between the elements.
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
