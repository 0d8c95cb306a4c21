"""Choosing elements by a condition, by size, and at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright import te, tir, topi
from tilewright.ir.convert import cast
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr, is_const_int
from tilewright.relax.expr import Call
from tilewright.relax.op.broadcasting import (
    broadcast_info,
    call_broadcasting,
    operand_dtype,
    with_numbers,
)
from tilewright.relax.op.rules import agreeing, at_least, require_agreement, require_at_least, sized
from tilewright.relax.op.statistical import reduced_extents
from tilewright.relax.op.table import Inference, call, named, register
from tilewright.relax.op.unary import infer_same, is_number
from tilewright.relax.struct_info import UNKNOWN_NDIM, TensorStructInfo
from tilewright.te import Tensor

# --- where ----------------------------------------------------------------------------------


def _infer_where(inference: Inference) -> TensorStructInfo:
    condition = inference.tensor(0)
    if condition.dtype is not None and not condition.dtype.is_bool:
        inference.error(
            f"argument `condition` must have dtype bool, it has {condition.dtype!s}; compare it "
            "with not_equal"
        )
    return broadcast_info(inference, (0, 1, 2), operand_dtype(inference, (1, 2)))


def _legalize_where(builder: Any, expr: Call) -> Any:
    dtype = expr.struct_info.dtype  # type: ignore[union-attr]  # that of the condition is bool
    return call_broadcasting(builder, expr, topi.where, "where", (0, 1, 2), dtype)


_WHERE = register("where", ("condition", "x1", "x2"), _infer_where, _legalize_where)


def where(condition: Any, x1: Any, x2: Any) -> Call:
    """`x1` where `condition` holds, else `x2`; all of them broadcast.

    A Python number takes the dtype of the other one.
    """
    return call(_WHERE, condition, *with_numbers(x1, x2))


# --- argmax, argmin -------------------------------------------------------------------------


def _infer_place(inference: Inference) -> TensorStructInfo:
    info = infer_same(inference, is_number, "numbers")
    axis, keepdims = inference.call.attrs.get("axis"), inference.call.attrs["keepdims"]
    if info.ndim == UNKNOWN_NDIM:
        ndim = 0 if axis is None and not keepdims else UNKNOWN_NDIM
        return TensorStructInfo(() if ndim == 0 else None, INT64, info.vdevice, ndim)
    reduced = range(info.ndim) if axis is None else [inference.axis(axis, info.ndim)]
    if info.extents is not None:
        _require_elements(inference, info.extents, reduced)
    if info.extents is None:
        ndim = info.ndim if keepdims else info.ndim - len(reduced)
        return TensorStructInfo(None, INT64, info.vdevice, ndim)
    return TensorStructInfo(reduced_extents(info.extents, reduced, keepdims), INT64, info.vdevice)


def _require_elements(
    inference: Inference, extents: Sequence[Expr], reduced: Sequence[int]
) -> None:
    """Nothing has no largest element; an empty result needs none."""
    if not any(is_const_int(e, 0) for n, e in enumerate(extents) if n not in reduced):
        require_at_least(inference, 0, extents, dict.fromkeys(reduced, 1))


def _place(name: str, doc: str) -> Callable[..., Call]:
    function = getattr(topi, name)

    def legalize(builder: Any, expr: Call) -> Any:
        x, extents = sized(builder, expr.args[0])
        axis, ndim = expr.attrs.get("axis"), len(extents)
        if not any(is_const_int(extent, 0) for extent in extents):
            reduced = range(ndim) if axis is None else [axis % ndim]
            x = at_least(builder, x, dict.fromkeys(reduced, 1))
        return builder.call_te(
            function, x, axis, expr.attrs["keepdims"], dtype="int64", primfunc_name_hint=name
        )

    op = register(name, ("x",), _infer_place, legalize)

    @named(name, doc)
    def make(x: Any, axis: int | None = None, keepdims: bool = False) -> Call:
        attrs: dict[str, Any] = {"keepdims": bool(keepdims)}
        if axis is not None:
            attrs["axis"] = int(axis)
        return call(op, x, attrs=attrs)

    return make


argmax = _place(
    "argmax",
    """Where the first of the largest elements is, as int64; a NaN counts as the largest.

    The same as numpy's `argmax`, also of equal elements and in every schedule.

    Args:
        x: the array.
        axis: along which dimension; None for the place among all elements in a row.
        keepdims: whether the dimension stays, with extent 1.
    """,
)
argmin = _place(
    "argmin", "Where the first of the smallest elements is, or the first NaN; see `argmax`."
)


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
