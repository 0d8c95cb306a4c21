"""Random choices, from random numbers that are given."""

from __future__ import annotations

from typing import Any

from tilewright import te, tir, topi
from tilewright.ir.convert import cast
from tilewright.ir.dtype import DType
from tilewright.relax.expr import Call
from tilewright.relax.op.agreement import agreeing, require_agreement, sized
from tilewright.relax.op.inference import Inference
from tilewright.relax.op.table import call, register
from tilewright.relax.struct_info import UNKNOWN_NDIM, TensorStructInfo
from tilewright.te import Tensor


def _infer(inference: Inference) -> TensorStructInfo:
    prob, sample = inference.tensor(0), inference.tensor(1)
    infos = [inference.tensor(n) for n in range(len(inference.call.args))]
    for position, info in enumerate(infos):
        if info.ndim not in (UNKNOWN_NDIM, 2):
            inference.error(f"{inference.name_of(position)} has 2 dimensions, not {info.ndim}")
    dtype = inference.same_dtype(0, 1)
    if dtype is not None and not dtype.is_float:
        inference.error(f"the probabilities must have a float dtype, they have {dtype!s}")
    chosen: Any = inference.attr("dtype")
    if not chosen.is_integral or chosen.is_bool:
        inference.error(f"the places are integers, not {chosen!s}")
    if len(infos) > 2:
        rows = infos[2].dtype
        if rows is not None and not (rows.is_int or rows.is_uint):
            inference.error(f"argument `sample_indices` must be integers, it has {rows!s}")
    others = infos[2:] or [prob]
    if sample.extents is None:
        return TensorStructInfo(None, chosen, prob.vdevice, 2)
    for info in others:
        if info.extents is not None:
            what = "the number of samples" if len(infos) > 2 else "the rows of both"
            require_agreement(inference, what, info.extents[0], sample.extents[0])
    return TensorStructInfo(sample.shape, chosen, prob.vdevice)


def _legalize(builder: Any, expr: Call) -> Any:
    sample, extents = sized(builder, expr.args[1])
    first = {0: extents[0]}
    prob, rows = expr.args[0], [agreeing(builder, item, first) for item in expr.args[2:]]
    prob = prob if rows else agreeing(builder, prob, first)
    return builder.call_te(
        _kernel, prob, sample, *rows, dtype=str(expr.attrs["dtype"]),
        primfunc_name_hint="multinomial_from_uniform",
    )  # fmt: skip


def clipped(index: Any, extent: Any) -> Any:
    """The nearest index that exists."""
    return tir.max(tir.min(index, extent - 1), cast(index.dtype, 0))


def _kernel(prob: Tensor, sample: Tensor, rows: Tensor | None = None, *, dtype: str) -> Tensor:
    sums = topi.cumsum(prob, 1)
    step = te.reduce_axis((0, prob.shape[1]), "k")

    def count(i: Any, j: Any) -> Any:
        row = i if rows is None else clipped(cast("int64", rows(i, 0)), prob.shape[0])
        return te.sum(cast(dtype, sums(row, step.var) <= sample(i, j)), axis=step)

    places = te.compute(sample.shape, count, "T_count")
    # Rounding may leave the last sum below the sample.
    last = cast(dtype, prob.shape[1] - 1)
    return te.compute(sample.shape, lambda i, j: tir.min(places(i, j), last), "T_choice")


_MULTINOMIAL = register(
    "multinomial_from_uniform", ("prob", "uniform_sample", "sample_indices*"), _infer, _legalize
)


def multinomial_from_uniform(
    prob: Any, uniform_sample: Any, sample_indices: Any = None, dtype: str = "int64"
) -> Call:
    """For each sample the first place at which the sum of probabilities exceeds it.

    Args:
        prob: ``(rows, n)``, probabilities that add up to 1 in each row.
        uniform_sample: ``(samples, 1)``, numbers from 0 to 1.
        sample_indices: ``(samples, 1)``, the row of each sample, the nearest one if there is no
            such row; by default sample i has row i.
        dtype: of the result, ``(samples, 1)``.
    """
    arguments = [prob, uniform_sample] + ([] if sample_indices is None else [sample_indices])
    return call(_MULTINOMIAL, *arguments, attrs={"dtype": DType(dtype)})
