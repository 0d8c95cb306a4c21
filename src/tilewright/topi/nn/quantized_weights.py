"""Products of matrices whose weights are integers with a scale for each group."""

from __future__ import annotations

from tilewright import te
from tilewright.error import ShapeError, require_one_of
from tilewright.ir.expr import Expr, const_int_value
from tilewright.te import Tensor


def quantized_weight_matmul(data: Tensor, weight: Tensor, scale: Tensor, bits: int = 8) -> Tensor:
    """The product of activations and weights that are stored as small integers.

    Each row of the weights has groups of neighbours with one scale. The integers become floats in
    registers; the sum of a group is multiplied by its scale::

        out[..., n] = sum_g scale[n, g] * sum_(k in g) data[..., k] * weight[n, k]

    Args:
        data: ``(..., K)``, of a float dtype.
        weight: for 8 bits ``(N, K)`` of int8. For 4 bits ``(N, K / 2)`` of uint8: of a group of
            size s, byte b has element b in its lower half and element b + s / 2 in its upper one,
            each with 8 added.
        scale: ``(N, number of groups)``, of the dtype of `data`.
        bits: 8 or 4.

    Returns:
        ``(..., N)``, of the dtype of `data`.

    Raises:
        ArgumentValueError: for other numbers of bits.
        ShapeError: if the groups do not divide K, or shapes do not belong together.
    """
    require_one_of("quantized_weight_matmul: bits", bits, (4, 8))
    count, depth = (const_int_value(extent) for extent in (scale.shape[1], data.shape[-1]))
    stored = const_int_value(weight.shape[1])
    if count is None or depth is None or depth % count or stored != depth * bits // 8:
        raise ShapeError(
            f"quantized_weight_matmul: weight {tuple(weight.shape)} of {bits} bits and scale "
            f"{tuple(scale.shape)} do not fit data {tuple(data.shape)}: groups of one size make up "
            "the last dimension of data"
        )
    size, dtype, rows = depth // count, data.dtype, weight.shape[0]
    if bits == 4 and size % 2:
        raise ShapeError(f"quantized_weight_matmul: groups of 4 bits are of even size, got {size}")
    group = te.reduce_axis((0, count), "group")
    step = te.reduce_axis((0, size * bits // 8), "step")

    def products(*index: Expr) -> Expr:
        *lead, row, g = index
        if bits == 8:
            return data[(*lead, g * size + step)] * weight[row, g * size + step].astype(dtype)
        half = size // 2
        pair = weight[row, g * half + step].astype("int32")
        low, high = ((part - 8).astype(dtype) for part in (pair & 15, pair >> 4))
        first = data[(*lead, g * size + step)] * low
        return first + data[(*lead, g * size + half + step)] * high

    lead = tuple(data.shape[:-1])
    sums = te.compute(
        (*lead, rows, count), lambda *i: te.sum(products(*i), axis=step), "sums_of_groups"
    )
    return te.compute(
        (*lead, rows),
        lambda *i: te.sum(sums[(*i, group)] * scale[i[-1], group], axis=group),
        "quantized_weight_matmul",
    )
