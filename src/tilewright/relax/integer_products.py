"""Products of quantised arrays, as sums of products of their integers in int32.

An integer q stands for a multiple of q - z, where z is the zero point. The products are those of
the integers as they are, which are narrow, and the zero points are taken off the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tilewright.ir.expr import IntImm
from tilewright.relax import op
from tilewright.relax.analysis.variables import definition
from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import Call, Constant, PrimValue, RelaxExpr, const
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.topi.nn.window import padding_of, spatial_axes

WIDE: Final = "int32"
"""The dtype of the sums."""


def integer_matmul(
    builder: BlockBuilder, a: Any, a_zero: Any, b: Any, b_zero: Any, is_linear: bool = False
) -> RelaxExpr:
    """The product of two quantised matrices, less their zero points, in int32.

    With zero points p and q: ``(a - p)(b - q) = a b - q rows(a) - p columns(b) + p q k``.

    Args:
        builder: what it is emitted to.
        a: ``(..., m, k)``, integers.
        a_zero: one integer in int32, or one for each row, ``(m, 1)``; None for 0.
        b: ``(..., k, n)``, or ``(n, k)`` if it `is_linear`, which means the operator ``R.linear``.
        b_zero: one integer in int32, or one for each column, ``(n,)``; None for 0.
    """
    multiply = op.linear if is_linear else op.matmul
    total: RelaxExpr = builder.emit(multiply(a, b, out_dtype=WIDE))
    if b_zero is not None:
        rows = _sum(builder, a, [-1], keepdims=True)
        total = builder.emit(op.subtract(total, builder.emit(op.multiply(rows, b_zero))))
    if a_zero is not None:
        columns = _sum(builder, b, [-1] if is_linear else [-2], keepdims=not is_linear)
        if b_zero is not None:
            depth = _extents(a)[-1].astype(WIDE)
            columns = op.subtract(columns, op.multiply(b_zero, PrimValue(depth)))
            columns = builder.emit(columns)
        total = builder.emit(op.subtract(total, builder.emit(op.multiply(columns, a_zero))))
    return total


def integer_convolution(builder: BlockBuilder, call: Call, zero: int) -> RelaxExpr:
    """A convolution of quantised images by integers, less the zero point of the images, in int32.

    Args:
        builder: what it is emitted to.
        call: the convolution of the integers as they are, with sums in int32.
        zero: the zero point of the images, which the padding has, too.
    """
    if zero == 0:
        return builder.emit(call)
    data, weight = call.args
    layout, kernel_layout = str(call.attrs["data_layout"]), str(call.attrs["kernel_layout"])
    axes = spatial_axes(layout)
    extents = _extents(weight)
    window = [extents[axis] for axis in spatial_axes(kernel_layout)]
    amounts = padding_of("convolution", call.attrs["padding"], window, call.attrs["dilation"])
    widths = [(0, 0)] * len(layout)
    for axis, before, after in zip(axes, *amounts, strict=True):
        assert isinstance(before, IntImm)
        assert isinstance(after, IntImm)
        widths[axis] = (before.value, after.value)
    if any(map(any, widths)):
        data = builder.emit(op.nn.pad(data, widths, pad_value=zero))
    attrs = {**call.attrs, "padding": (0,) * (2 * len(axes))}
    total = builder.emit(call.replace(args=(data, weight), attrs=attrs, struct_info=None))
    summed = [axis for axis, letter in enumerate(kernel_layout) if letter != "O"]
    shift = builder.emit(op.multiply(_sum(builder, weight, summed), const(zero, WIDE)))
    shape = [-1 if letter == "C" else 1 for letter in layout]
    return builder.emit(op.subtract(total, builder.emit(op.reshape(shift, shape))))


def _sum(builder: BlockBuilder, value: Any, axes: Sequence[int], keepdims: bool = False) -> Any:
    """The sums of integers in int32."""
    known = definition(builder.lookup_usable, value)
    if isinstance(known, Constant):
        # Here, as constant folding does not compute what is wider than its operands.
        sums = known.data.numpy().sum(tuple(axes), WIDE, keepdims=keepdims)
        return const(np.asarray(sums))
    return builder.emit(op.sum(op.astype(value, WIDE), list(axes), keepdims=keepdims))


def _extents(value: Any) -> Any:
    info = value.struct_info
    assert isinstance(info, TensorStructInfo)
    assert info.extents is not None
    return info.extents
