"""Arrays with elements put at places that other arrays say."""

from __future__ import annotations

from typing import Any

from tilewright import topi
from tilewright.error import ArgumentValueError
from tilewright.ir.expr import Expr, IntImm
from tilewright.relax.expr import Call
from tilewright.relax.op.rules import agreeing, axis_of, integers, require_within, sized, within
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.struct_info import UNKNOWN_NDIM, StructInfo, TensorStructInfo
from tilewright.te.tensor import Tensor, shape_text
from tilewright.topi.scatter import REDUCTIONS


def _reduction(operator: str, name: str) -> str:
    allowed = (*REDUCTIONS, "mean")
    if name not in allowed:
        raise ArgumentValueError(
            f"R.{operator}: the reduction is one of {', '.join(allowed)}, got {name!r}"
        )
    return name


def _require_shape(
    inference: Inference, info: TensorStructInfo, wanted: tuple[Expr, ...], what: str
) -> None:
    extents = info.extents
    if extents is None:
        return
    if len(extents) != len(wanted) or any(map(inference.differ, extents, wanted)):
        inference.error(
            f"{what} must have shape {shape_text(wanted)}, it has {shape_text(extents)}"
        )


def _infer_scatter_elements(inference: Inference) -> StructInfo:
    data, indices, updates = inference.tensor(0), integers(inference, 1), inference.tensor(2)
    inference.same_dtype(0, 2)
    if data.ndim != UNKNOWN_NDIM:
        axis_of(inference, data.ndim)
        if indices.ndim not in (data.ndim, UNKNOWN_NDIM):
            inference.error(f"indices of {indices.ndim} dimensions for data of {data.ndim}")
    if indices.extents is not None:
        _require_shape(inference, updates, indices.extents, inference.name_of(2))
        if data.extents is not None:
            axis = axis_of(inference, data.ndim)
            others = {n: extent for n, extent in enumerate(data.extents) if n != axis}
            require_within(inference, 1, indices.extents, others)
    return data


def _legalize_scatter_elements(builder: Any, expr: Call) -> Any:
    axis, reduction = expr.attrs["axis"], expr.attrs["reduction"]
    data, indices, updates = expr.args
    data, limits = sized(builder, data)
    along: Any = axis
    others = {n: extent for n, extent in enumerate(limits) if n != along % len(limits)}
    indices, extents = sized(builder, within(builder, indices, others))
    updates = agreeing(builder, updates, dict(enumerate(extents)))
    return builder.call_te(
        topi.scatter_elements, data, indices, updates, axis, reduction,
        primfunc_name_hint="scatter_elements",
    )  # fmt: skip


_SCATTER_ELEMENTS = register(
    "scatter_elements", ("data", "indices", "updates"),
    _infer_scatter_elements, _legalize_scatter_elements,
)  # fmt: skip


def scatter_elements(
    data: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "update"
) -> Call:
    """`data` with each element of `updates` put at its index along `axis`.

    Args:
        data: the array.
        indices: the places along `axis`; the others are those of the update.
        updates: what is put there, of the shape of `indices`.
        axis: the dimension.
        reduction: what becomes of what was there: ``"update"`` replaces it, ``"add"``, ``"mul"``,
            ``"min"``, ``"max"`` and ``"mean"`` combine both.
    """
    attrs = {"axis": axis, "reduction": _reduction("scatter_elements", reduction)}
    return call(_SCATTER_ELEMENTS, data, indices, updates, attrs=attrs)


def _infer_scatter_nd(inference: Inference) -> StructInfo:
    data, indices, updates = inference.tensor(0), integers(inference, 1), inference.tensor(2)
    inference.same_dtype(0, 2)
    if indices.extents is not None:
        last = indices.extents[-1] if indices.extents else None
        if not isinstance(last, IntImm):
            inference.error("the last extent of the indices, how many there are, must be known")
        if data.extents is not None:
            if last.value > data.ndim:
                inference.error(f"{last.value} indices for {data.ndim} dimensions")
            wanted = (*indices.extents[:-1], *data.extents[last.value :])
            _require_shape(inference, updates, wanted, inference.name_of(2))
    return data


def _legalize_scatter_nd(builder: Any, expr: Call) -> Any:
    reduction = expr.attrs["reduction"]

    def scatter_rows(data: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        last = indices.ndim - 1
        columns = topi.transpose(indices, (last, *range(last)))
        return topi.scatter_nd(data, columns, updates, reduction)

    data, indices, updates = expr.args
    (data, extents), (indices, places) = sized(builder, data), sized(builder, indices)
    assert isinstance(places[-1], IntImm)
    wanted = (*places[:-1], *extents[places[-1].value :])
    updates = agreeing(builder, updates, dict(enumerate(wanted)))
    return builder.call_te(scatter_rows, data, indices, updates, primfunc_name_hint="scatter_nd")


_SCATTER_ND = register(
    "scatter_nd", ("data", "indices", "updates"), _infer_scatter_nd, _legalize_scatter_nd
)


def scatter_nd(data: Any, indices: Any, updates: Any, reduction: str = "update") -> Call:
    """`data` with elements, or parts, put at the index tuples in the last dimension of `indices`.

    Args:
        data: the array.
        indices: of shape ``(*places, m)``: the m indices of each place.
        updates: of shape ``(*places, *data.shape[m:])``.
        reduction: what becomes of what was there; see `scatter_elements`.
    """
    attrs = {"reduction": _reduction("scatter_nd", reduction)}
    return call(_SCATTER_ND, data, indices, updates, attrs=attrs)
