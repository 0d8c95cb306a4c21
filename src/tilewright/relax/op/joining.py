"""Several arrays as one, and one as several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import topi
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.relax.expr import Call, RelaxExpr, Tuple, TupleGetItem
from tilewright.relax.op.rules import agreeing, array_like, axis_of, checked, sized
from tilewright.relax.op.table import Inference, call, kernel, register
from tilewright.relax.op.view import flatten
from tilewright.relax.struct_info import UNKNOWN_NDIM, StructInfo, TensorStructInfo, TupleStructInfo
from tilewright.te.tensor import shape_text
from tilewright.topi.joining import split_bounds


def _alike(inference: Inference, axis: int | None) -> tuple[TensorStructInfo, ...]:
    """The arrays of a tuple, which agree but for dimension `axis`."""
    infos = inference.tensors(0)
    if not infos:
        inference.error("there are no arrays")
    dtypes = {info.dtype for info in infos if info.dtype is not None}
    if len(dtypes) > 1:
        listed = ", ".join(sorted(map(str, dtypes)))
        inference.error(f"the dtypes differ: {listed}; convert the arrays with astype")
    ranks = {info.ndim for info in infos if info.ndim != UNKNOWN_NDIM}
    if len(ranks) > 1:
        inference.error(f"the arrays have different numbers of dimensions: {sorted(ranks)}")
    known = [(n, info.extents) for n, info in enumerate(infos) if info.extents is not None]
    for n, extents in known[1:]:
        for d, (one, other) in enumerate(zip(known[0][1], extents, strict=True)):
            if d != axis and inference.differ(one, other):
                inference.error(
                    f"arrays {known[0][0]} and {n} have shapes {shape_text(known[0][1])} and "
                    f"{shape_text(extents)}, which differ in dimension {d}"
                )
    return infos


def _infer_concat(inference: Inference) -> StructInfo:
    ndim = max((info.ndim for info in inference.tensors(0)), default=UNKNOWN_NDIM)
    axis = None if ndim == UNKNOWN_NDIM else axis_of(inference, ndim)
    infos = _alike(inference, axis)
    dtype = next((info.dtype for info in infos if info.dtype is not None), None)
    if axis is None or any(info.extents is None for info in infos):
        return array_like(infos[0], None, ndim, dtype)
    shapes = [info.extents for info in infos if info.extents is not None]
    total = shapes[0][axis]
    for shape in shapes[1:]:
        total = total + shape[axis]
    extents = list(shapes[0])
    extents[axis] = inference.analyzer.simplify(total)
    return array_like(infos[0], extents, dtype=dtype)


def _legalize_concat(builder: Any, expr: Call) -> Any:
    axis = expr.attrs["axis"]
    arrays = _agreeing_fields(builder, expr.args[0], axis)
    return builder.call_te(topi.concatenate, arrays, axis, primfunc_name_hint="concatenate")


def _agreeing_fields(builder: Any, value: RelaxExpr, axis: int | None) -> list[RelaxExpr]:
    """The arrays of a tuple, with checks that they agree but for dimension `axis`."""
    fields = fields_of(builder, value)
    first, extents = sized(builder, fields[0])
    along = None if axis is None else axis % len(extents)
    wanted = {n: extent for n, extent in enumerate(extents) if n != along}
    return [first, *(agreeing(builder, field, wanted) for field in fields[1:])]


_CONCAT = register("concat", ("tensors",), _infer_concat, _legalize_concat)


def concat(tensors: Any, axis: int | None = 0) -> Call:
    """The arrays one after the other along `axis`.

    Args:
        tensors: the arrays, a tuple.
        axis: the dimension; None for the elements of all of them one after the other.
    """
    if axis is None:
        if isinstance(tensors, RelaxExpr) and not isinstance(tensors, Tuple):
            raise ArgumentError("R.concat: axis=None needs the arrays one by one, in a tuple")
        tensors, axis = [flatten(tensor) for tensor in tensors], 0
    return call(_CONCAT, tensors, attrs={"axis": axis})


def fields_of(builder: Any, value: RelaxExpr) -> list[RelaxExpr]:
    """The fields of a tuple, as operands."""
    if isinstance(value, Tuple):
        return list(value.fields)
    info = value.struct_info
    assert isinstance(info, TupleStructInfo)
    return [builder.emit(TupleGetItem(value, n)) for n in range(len(info.fields))]


def _infer_stack(inference: Inference) -> StructInfo:
    infos = _alike(inference, None)
    dtype = next((info.dtype for info in infos if info.dtype is not None), None)
    known = next((info.extents for info in infos if info.extents is not None), None)
    ndim = max(info.ndim for info in infos)
    if ndim == UNKNOWN_NDIM:
        return array_like(infos[0], None, ndim, dtype)
    axis = axis_of(inference, ndim + 1)
    if known is None:
        return array_like(infos[0], None, ndim + 1, dtype)
    return array_like(infos[0], (*known[:axis], len(infos), *known[axis:]), dtype=dtype)


def _legalize_stack(builder: Any, expr: Call) -> Any:
    arrays = _agreeing_fields(builder, expr.args[0], None)
    return builder.call_te(topi.stack, arrays, expr.attrs["axis"], primfunc_name_hint="stack")


_STACK = register("stack", ("tensors",), _infer_stack, _legalize_stack)


def stack(tensors: Any, axis: int = 0) -> Call:
    """The arrays one after the other along a new dimension `axis`."""
    return call(_STACK, tensors, attrs={"axis": axis})


def _infer_split(inference: Inference) -> StructInfo:
    info = inference.tensor(0)
    sections: Any = inference.attr("indices_or_sections")
    count = len(sections) + 1 if isinstance(sections, tuple) else sections
    if info.extents is None:
        if info.ndim != UNKNOWN_NDIM:
            axis_of(inference, info.ndim)
        return TupleStructInfo([array_like(info, None, info.ndim)] * count)
    axis = axis_of(inference, info.ndim)
    extent = info.extents[axis]
    bounds = checked(inference, split_bounds, extent, sections, inference.analyzer)
    parts = []
    for begin, end in bounds:
        extents = list(info.extents)
        extents[axis] = inference.analyzer.simplify(end - begin)
        parts.append(array_like(info, extents))
    return TupleStructInfo(parts)


_SPLIT = register("split", ("x",), _infer_split, kernel(topi.split, "indices_or_sections", "axis"))


def split(x: Any, indices_or_sections: int | Sequence[int], axis: int = 0) -> Call:
    """The parts of `x` along `axis`, a tuple.

    Args:
        x: the array.
        indices_or_sections: how many parts of the same size, the last of which may be smaller; or
            where the parts begin, but for the first. A part is empty where the next one begins
            before it does.
        axis: the dimension.
    """
    sections: Any = indices_or_sections
    if isinstance(sections, (tuple, list)):
        sections = tuple(sections)
    elif isinstance(sections, bool) or not isinstance(sections, int) or sections <= 0:
        raise ArgumentValueError(
            f"R.split: indices_or_sections is a positive number or a list, got {sections!r}"
        )
    return call(_SPLIT, x, attrs={"indices_or_sections": sections, "axis": axis})
