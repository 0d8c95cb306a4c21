"""Elements along a dimension as sums of others, by tables that say of which."""

from __future__ import annotations

from typing import Any

from tilewright import te, tir
from tilewright.te import Tensor
from tilewright.topi.operands import accumulator


def resample(data: Tensor, places: Tensor, weights: Tensor, axis: int) -> Tensor:
    """``result[..., i, ...] = sum over k of weights[i, k] * data[..., places[i, k], ...]``.

    Elements of weight 0 do not count: they may be infinite.

    Args:
        data: the array.
        places: integers ``(size, terms)``, each of an element along `axis`.
        weights: ``(size, terms)``.
        axis: the dimension.
    """
    size, terms = weights.shape
    step = te.reduce_axis((0, terms), "step")
    shape = [*data.shape[:axis], size, *data.shape[axis + 1 :]]
    wide = accumulator(data.dtype)

    def element(*place: Any) -> Any:
        weight = weights(place[axis], step.var)
        value = data(*place[:axis], places(place[axis], step.var), *place[axis + 1 :])
        term = tir.Cast(wide, value) * tir.Cast(wide, weight)
        return te.sum(tir.Select(weight.equal(0.0), tir.const(0.0, wide), term), axis=step)

    total = te.compute(shape, element, "T_total")
    return te.compute(
        shape, lambda *place: tir.Cast(data.dtype, total(*place)), "T_resample", "injective"
    )
