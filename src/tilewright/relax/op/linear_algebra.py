"""Products of matrices and of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import topi
from tilewright.error import ArgumentError
from tilewright.ir.expr import Expr, is_const_int
from tilewright.relax.expr import Call, RelaxExpr
from tilewright.relax.op.broadcasting import broadcast_extents, fitting
from tilewright.relax.op.elementwise import add
from tilewright.relax.op.rules import agreeing, require_agreement, result_dtype, sized
from tilewright.relax.op.table import Inference, call, refusing, register
from tilewright.relax.struct_info import UNKNOWN_NDIM, TensorStructInfo, TupleStructInfo
from tilewright.te import Tensor
from tilewright.topi.operands import accumulator
from tilewright.topi.products import parse_subscripts

Extents = tuple[Expr, ...]


def _product_dtype(inference: Inference) -> Any:
    return inference.attr("out_dtype") or inference.same_dtype(0, 1)


def _out_dtype(out_dtype: str | None) -> dict[str, Any]:
    dtype = result_dtype(out_dtype)
    return {} if dtype is None else {"out_dtype": dtype}


def _in_wide(builder: Any, expr: Call, function: Any, operands: Sequence[Any], name: str) -> Any:
    """The call of a kernel that adds products of half precision in single precision.

    Args:
        builder: where it is emitted.
        expr: the call of the operator.
        function: from tensors and the dtype of the sums to a tensor.
        operands: the arguments of the kernel.
        name: of the kernel.
    """
    result = expr.struct_info
    assert isinstance(result, TensorStructInfo)
    assert result.dtype is not None
    dtype, wide = result.dtype, accumulator(result.dtype)

    def kernel(*tensors: Tensor) -> Tensor:
        summed = function(*tensors, str(wide))
        return summed if wide is dtype else topi.cast(summed, str(dtype))

    return builder.call_te(kernel, *operands, primfunc_name_hint=name)


# --- matmul ---------------------------------------------------------------------------------


@refusing
def _infer_matmul(inference: Inference) -> TensorStructInfo:
    a, b = inference.tensor(0), inference.tensor(1)
    dtype = _product_dtype(inference)
    for position, info in enumerate((a, b)):
        if info.ndim == 0:
            inference.error(
                f"{inference.name_of(position)} has no dimension to add along; use multiply"
            )
    if a.extents is None or b.extents is None:
        ndim = _rank_of_product(a.ndim, b.ndim)
        return TensorStructInfo(None, dtype, a.vdevice, ndim)
    depth, other = a.extents[-1], b.extents[-2 if b.ndim > 1 else -1]
    require_agreement(inference, "the extents of the sum", depth, other)
    batch = broadcast_extents(a.extents[:-2], b.extents[:-2], inference.analyzer)
    rows = a.extents[-2:-1]
    columns = b.extents[-1:] if b.ndim > 1 else ()
    return TensorStructInfo((*batch, *rows, *columns), dtype, a.vdevice)


def _rank_of_product(a: int, b: int) -> int:
    if UNKNOWN_NDIM in (a, b):
        return UNKNOWN_NDIM
    return max(a, b, 2) - (a == 1) - (b == 1)


def _legalize_matmul(builder: Any, expr: Call) -> Any:
    a, left = sized(builder, expr.args[0])
    b, right = sized(builder, expr.args[1])
    b, right = sized(builder, agreeing(builder, b, {max(len(right) - 2, 0): left[-1]}))
    batch = broadcast_extents(left[:-2], right[:-2], builder.analyzer)
    a, b = (
        fitting(builder, value, (*batch, *extents[-2:])) if len(extents) > 2 else value
        for value, extents in ((a, left), (b, right))
    )
    return _in_wide(
        builder, expr, lambda x, y, wide: topi.nn.matmul(x, y, None, wide), (a, b), "matmul"
    )


_MATMUL = register("matmul", ("x1", "x2"), _infer_matmul, _legalize_matmul)


def matmul(x1: Any, x2: Any, out_dtype: str | None = None) -> Call:
    """The product of matrices, as in numpy.

    Args:
        x1: ``(..., m, k)``, or a vector. The dimensions before the last two broadcast.
        x2: ``(..., k, n)``, or a vector.
        out_dtype: of the result, by default that of the operands. Products of half precision are
            added in single precision in any case.
    """
    return call(_MATMUL, x1, x2, attrs=_out_dtype(out_dtype))


# --- linear ---------------------------------------------------------------------------------


def _infer_linear(inference: Inference) -> TensorStructInfo:
    data, weight = inference.tensor(0), inference.tensor(1)
    dtype = _product_dtype(inference)
    if weight.ndim not in (UNKNOWN_NDIM, 2):
        inference.error(f"{inference.name_of(1)} has 2 dimensions, (out, in), not {weight.ndim}")
    if data.ndim == 0:
        inference.error(f"{inference.name_of(0)} has no dimension to add along")
    if data.extents is None or weight.extents is None:
        return TensorStructInfo(None, dtype, data.vdevice, data.ndim)
    outputs, inputs = weight.extents
    require_agreement(
        inference, "the last extents of `data` and `weight`", data.extents[-1], inputs
    )
    return TensorStructInfo((*data.extents[:-1], outputs), dtype, data.vdevice)


def _legalize_linear(builder: Any, expr: Call) -> Any:
    data, extents = sized(builder, expr.args[0])
    weight = agreeing(builder, expr.args[1], {1: extents[-1]})
    return _in_wide(
        builder, expr, lambda x, w, wide: topi.nn.dense(x, w, None, wide), (data, weight), "linear"
    )


_LINEAR = register("linear", ("data", "weight"), _infer_linear, _legalize_linear)


def linear(data: Any, weight: Any, bias: Any = None, out_dtype: str | None = None) -> Call:
    """``data @ weight.T + bias``.

    Args:
        data: ``(..., in)``.
        weight: ``(out, in)``.
        bias: ``(out,)``, if there is one.
        out_dtype: of the result, by default that of the operands.
    """
    product = call(_LINEAR, data, weight, attrs=_out_dtype(out_dtype))
    return product if bias is None else add(product, bias)


# --- outer and einsum -----------------------------------------------------------------------


def _infer_outer(inference: Inference) -> TensorStructInfo:
    a, b = inference.tensor(0), inference.tensor(1)
    dtype = inference.same_dtype(0, 1)
    for position, info in enumerate((a, b)):
        if info.ndim not in (UNKNOWN_NDIM, 1):
            inference.error(
                f"{inference.name_of(position)} is a vector, it has {info.ndim} dimensions"
            )
    if a.extents is None or b.extents is None:
        return TensorStructInfo(None, dtype, a.vdevice, 2)
    return TensorStructInfo((*a.extents, *b.extents), dtype, a.vdevice)


def _legalize_outer(builder: Any, expr: Call) -> Any:
    def kernel(a: Tensor, b: Tensor) -> Tensor:
        return topi.einsum("i,j->ij", a, b)

    return builder.call_te(kernel, *expr.args, primfunc_name_hint="outer")


_OUTER = register("outer", ("x1", "x2"), _infer_outer, _legalize_outer)


def outer(x1: Any, x2: Any) -> Call:
    """The products of all elements of one vector with all of another one."""
    return call(_OUTER, x1, x2)


@refusing
def _infer_einsum(inference: Inference) -> TensorStructInfo:
    infos = inference.tensors(0)
    dtypes = {info.dtype for info in infos if info.dtype is not None}
    if len(dtypes) > 1:
        inference.error(f"the operands have different dtypes: {', '.join(map(str, dtypes))}")
    dtype = next(iter(dtypes), None)
    if any(info.ndim == UNKNOWN_NDIM for info in infos):
        return TensorStructInfo(None, dtype)
    names, result = parse_subscripts(
        inference.call.attrs["subscripts"], [info.ndim for info in infos]
    )
    if any(info.extents is None for info in infos):
        return TensorStructInfo(None, dtype, ndim=len(result))
    extents: dict[str, Expr] = {}
    for info, letters in zip(infos, names, strict=True):
        for letter, extent in zip(letters, info.extents or (), strict=True):
            known = extents.get(letter)
            if known is None or is_const_int(known, 1):
                extents[letter] = extent
            elif not is_const_int(extent, 1):
                require_agreement(inference, f"dimension {letter!r}", known, extent)
    return TensorStructInfo([extents[letter] for letter in result], dtype)


def _legalize_einsum(builder: Any, expr: Call) -> Any:
    subscripts, (value,) = expr.attrs["subscripts"], expr.args
    info = value.struct_info
    assert isinstance(info, TupleStructInfo)
    fields = [value[n] for n in range(len(info.fields))]
    operands = _of_same_letters(builder, fields, subscripts)
    return builder.call_te(
        lambda *tensors: topi.einsum(subscripts, *tensors), *operands, primfunc_name_hint="einsum"
    )


def _of_same_letters(
    builder: Any, operands: Sequence[RelaxExpr], subscripts: str
) -> list[RelaxExpr]:
    """The operands, checked to have equal extents where they have the same letter."""
    pairs = [sized(builder, operand) for operand in operands]
    names, _ = parse_subscripts(subscripts, [len(extents) for _, extents in pairs])
    first: dict[str, Expr] = {}
    checked = []
    for (operand, extents), letters in zip(pairs, names, strict=True):
        wanted = {}
        for n, (letter, extent) in enumerate(zip(letters, extents, strict=True)):
            if not is_const_int(extent, 1):
                wanted[n] = first.setdefault(letter, extent)
        checked.append(agreeing(builder, operand, wanted))
    return checked


_EINSUM = register("einsum", ("operands",), _infer_einsum, _legalize_einsum)


def einsum(operands: Any, subscripts: str) -> Call:
    """The sum of products that `subscripts` says, as in numpy: ``"bij,bjk->bik"``.

    Args:
        operands: a tuple of arrays.
        subscripts: a letter for each dimension of each operand and of the result.
    """
    if not isinstance(subscripts, str):
        raise ArgumentError(f"R.einsum: `subscripts` is a text, got {subscripts!r}")
    return call(_EINSUM, operands, attrs={"subscripts": subscripts})
