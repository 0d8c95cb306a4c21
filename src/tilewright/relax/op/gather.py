"""Elements at places that other arrays say, one by one; and the places themselves as vectors."""

from __future__ import annotations

from typing import Any

from tilewright import topi
from tilewright.error import ShapeError
from tilewright.ir.convert import const
from tilewright.ir.dtype import promote
from tilewright.ir.expr import Expr, IntImm
from tilewright.relax.expr import Call
from tilewright.relax.op.broadcasting import (
    broadcast_extents,
    common_extents,
    fitting,
    with_extents,
)
from tilewright.relax.op.joining import fields_of
from tilewright.relax.op.rules import (
    array_like,
    axis_of,
    checked,
    integers,
    require_agreement,
    require_elements,
    require_within,
    requiring,
    sized,
    with_elements,
    within,
)
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.struct_info import UNKNOWN_NDIM, PrimStructInfo, StructInfo
from tilewright.te.tensor import Tensor
from tilewright.topi.operands import as_int

# --- gather ---------------------------------------------------------------------------------


def _infer_gather_elements(inference: Inference) -> StructInfo:
    info, indices = inference.tensor(0), integers(inference, 1)
    if UNKNOWN_NDIM not in (info.ndim, indices.ndim):
        axis_of(inference, info.ndim)
        if info.ndim != indices.ndim:
            inference.error(f"indices of {indices.ndim} dimensions for data of {info.ndim}")
        if info.extents is not None and indices.extents is not None:
            axis = axis_of(inference, info.ndim)
            others = {n: extent for n, extent in enumerate(info.extents) if n != axis}
            require_within(inference, 1, indices.extents, others)
            require_elements(inference, info.extents, [axis], indices.extents)
    return array_like(info, indices.extents, indices.ndim)


def _legalize_gather_elements(builder: Any, expr: Call) -> Any:
    axis = expr.attrs["axis"]
    data, extents = sized(builder, expr.args[0])
    along = axis % len(extents)
    others = {n: extent for n, extent in enumerate(extents) if n != along}
    indices, places = sized(builder, within(builder, expr.args[1], others))
    data = with_elements(builder, data, [along], places)
    return builder.call_te(topi.gather, data, axis, indices, primfunc_name_hint="gather_elements")


_GATHER_ELEMENTS = register(
    "gather_elements", ("data", "indices"), _infer_gather_elements, _legalize_gather_elements
)


def gather_elements(data: Any, indices: Any, axis: int = 0) -> Call:
    """For each index the element of `data` at that place along `axis`, and the same others."""
    return call(_GATHER_ELEMENTS, data, indices, attrs={"axis": axis})


def _infer_gather_nd(inference: Inference) -> StructInfo:
    info, indices = inference.tensor(0), integers(inference, 1)
    batch = checked(inference, as_int, "batch_dims", inference.attr("batch_dims"))
    extents = indices.extents
    last = None if not extents else extents[-1]
    if not isinstance(last, IntImm) or info.extents is None or extents is None:
        if extents is not None and not isinstance(last, IntImm):
            inference.error("the last extent of the indices, how many there are, must be known")
        return array_like(info, None)
    count = last.value
    if batch < 0 or batch + count > info.ndim or batch >= indices.ndim:
        inference.error(
            f"{count} indices after {batch} batch dimensions for {info.ndim} dimensions"
        )
    for n in range(batch):
        require_agreement(inference, f"batch dimension {n}", info.extents[n], extents[n])
    require_elements(inference, info.extents, range(batch, batch + count), extents[:-1])
    return array_like(info, (*extents[:-1], *info.extents[batch + count :]))


def _legalize_gather_nd(builder: Any, expr: Call) -> Any:
    batch: Any = expr.attrs["batch_dims"]
    data, extents = sized(builder, expr.args[0])
    indices = requiring(builder, expr.args[1], dict(enumerate(extents[:batch])))
    indices, places = sized(builder, indices)
    last = places[-1]
    assert isinstance(last, IntImm)
    data = with_elements(builder, data, range(batch, batch + last.value), places[:-1])

    def gather_rows(data: Tensor, indices: Tensor) -> Tensor:
        last = indices.ndim - 1
        columns = topi.transpose(indices, (last, *range(last)))
        return topi.gather_nd(data, columns, batch)

    return builder.call_te(gather_rows, data, indices, primfunc_name_hint="gather_nd")


_GATHER_ND = register("gather_nd", ("data", "indices"), _infer_gather_nd, _legalize_gather_nd)


def gather_nd(data: Any, indices: Any, batch_dims: int = 0) -> Call:
    """The elements, or parts, of `data` at the index tuples in the last dimension of `indices`."""
    return call(_GATHER_ND, data, indices, attrs={"batch_dims": batch_dims})


def _infer_index_tensor(inference: Inference) -> StructInfo:
    info, indices = inference.tensor(0), inference.tensors(1)
    if not indices or (info.ndim != UNKNOWN_NDIM and len(indices) > info.ndim):
        inference.error(f"{len(indices)} indices for {info.ndim} dimensions")
    for index in indices:
        if index.dtype is not None and (not index.dtype.is_integral or index.dtype.is_bool):
            inference.error(f"indices are integers, one has {index.dtype!s}")
    if info.extents is None or any(index.extents is None for index in indices):
        return array_like(info, None)
    shape: tuple[Expr, ...] = ()
    for index in indices:
        assert index.extents is not None
        try:
            shape = broadcast_extents(shape, index.extents, inference.analyzer)
        except ShapeError as error:
            inference.error(str(error))
    require_elements(inference, info.extents, range(len(indices)), shape)
    return array_like(info, (*shape, *info.extents[len(indices) :]))


def _legalize_index_tensor(builder: Any, expr: Call) -> Any:
    arrays = [with_extents(builder, field) for field in fields_of(builder, expr.args[1])]
    target = common_extents(builder, arrays)
    indices = [fitting(builder, array, target) for array in arrays]
    data = with_elements(builder, expr.args[0], range(len(indices)), target)
    return builder.call_te(topi.adv_index, data, indices, primfunc_name_hint="index_tensor")


_INDEX_TENSOR = register(
    "index_tensor", ("data", "indices"), _infer_index_tensor, _legalize_index_tensor
)


def index_tensor(data: Any, indices: Any) -> Call:
    """``data[indices]`` of numpy: arrays of integers that broadcast, one per leading dimension."""
    return call(_INDEX_TENSOR, data, indices)


# --- one-hot --------------------------------------------------------------------------------


def _infer_one_hot(inference: Inference) -> StructInfo:
    indices = integers(inference, 0)
    on, off = (inference.struct_info(position) for position in (1, 2))
    if not isinstance(on, PrimStructInfo) or not isinstance(off, PrimStructInfo):
        inference.error("the values must be scalars")
    if on.dtype is not off.dtype:
        inference.error(f"the values have different dtypes, {on.dtype!s} and {off.dtype!s}")
    depth: Any = inference.attr("depth")
    if indices.ndim == UNKNOWN_NDIM:
        return array_like(indices, None, dtype=on.dtype)
    axis = axis_of(inference, indices.ndim + 1)
    if indices.extents is None:
        return array_like(indices, None, indices.ndim + 1, on.dtype)
    extents = (*indices.extents[:axis], depth, *indices.extents[axis:])
    return array_like(indices, extents, dtype=on.dtype)


def _legalize_one_hot(builder: Any, expr: Call) -> Any:
    depth, axis = expr.attrs["depth"], expr.attrs["axis"]
    return builder.call_te(
        lambda indices, on, off: topi.one_hot(indices, on, off, depth, axis, on.dtype),
        *expr.args,
        primfunc_name_hint="one_hot",
    )


_ONE_HOT = register(
    "one_hot", ("indices", "on_value", "off_value"), _infer_one_hot, _legalize_one_hot
)


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int = -1) -> Call:
    """Vectors of length `depth` with `on_value` at each index and `off_value` elsewhere.

    Args:
        indices: the places.
        on_value: a scalar, of the dtype of the result.
        off_value: a scalar of the same dtype; two Python numbers get one that holds both.
        depth: how long the vectors are.
        axis: their dimension in the result.
    """
    numbers = (on_value, off_value)
    if all(isinstance(number, (bool, int, float)) for number in numbers):
        dtype = promote(*(const(number).dtype for number in numbers))
        on_value, off_value = (const(number, dtype) for number in numbers)
    return call(_ONE_HOT, indices, on_value, off_value, attrs={"depth": depth, "axis": axis})
