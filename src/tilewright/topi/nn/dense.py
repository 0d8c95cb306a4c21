"""Products of matrices, and arrays flattened to matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright import te
from tilewright.error import ShapeError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import DType
from tilewright.te import Tensor
from tilewright.te.elementwise import broadcast_shape
from tilewright.topi.nn.window import constant, require_equal, simplified
from tilewright.topi.operands import or_neutral
from tilewright.topi.utils import unravel_index


def matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    bias: Tensor | None = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Tensor:
    """The product of two matrices, or of all pairs of matrices in two arrays.

    Args:
        tensor_a: ``(..., m, k)``, or ``(..., k, m)`` where it is transposed, or a vector. The
            dimensions before the last two follow the broadcasting rules of numpy.
        tensor_b: ``(..., k, n)``, or ``(..., n, k)``, or a vector.
        bias: ``(n,)``, added to each row.
        out_dtype: dtype of the accumulation; by default that of the operands.
        transpose_a: whether the last two dimensions of `tensor_a` are exchanged.
        transpose_b: the same for `tensor_b`.
    """
    return _matmul("matmul", tensor_a, tensor_b, bias, out_dtype, transpose_a, transpose_b)


def dense(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None
) -> Tensor:
    """``data @ weight.T + bias``.

    Args:
        data: ``(..., in)``.
        weight: ``(out, in)``.
        bias: ``(out,)``.
        out_dtype: dtype of the accumulation; by default that of the operands.
    """
    return _matmul("dense", data, weight, bias, out_dtype, False, True)


def batch_matmul(
    tensor_a: Tensor,
    tensor_b: Tensor,
    oshape: Any = None,
    out_dtype: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = True,
) -> Tensor:
    """The products of the matrices of two batches.

    Args:
        tensor_a: ``(batch, m, k)``, or ``(batch, k, m)`` where it is transposed.
        tensor_b: ``(batch, n, k)``, or ``(batch, k, n)`` where it is not transposed.
        oshape: the shape of the result, if it is known better than it can be computed.
        out_dtype: dtype of the accumulation; by default that of the operands.
        transpose_a: whether the last two dimensions of `tensor_a` are exchanged.
        transpose_b: the same for `tensor_b`.
    """
    for name, tensor in (("tensor_a", tensor_a), ("tensor_b", tensor_b)):
        if tensor.ndim != 3:
            raise ShapeError(f"batch_matmul: `{name}` has 3 dimensions, got {tensor.ndim}")
    return _matmul(
        "batch_matmul", tensor_a, tensor_b, None, out_dtype, transpose_a, transpose_b, oshape
    )


def _matmul(
    owner: str,
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    out_dtype: str | None,
    transpose_a: bool,
    transpose_b: bool,
    shape: Any = None,
) -> Tensor:
    for name, tensor in (("first", a), ("second", b)):
        if tensor.ndim < 1:
            raise ShapeError(f"{owner}: the {name} operand has no dimension to add along")
    dtype = DType(out_dtype) if out_dtype else a.dtype
    # A vector is a row on the left, and a column on the right; the result lacks that dimension.
    transpose_a, transpose_b = transpose_a and a.ndim > 1, transpose_b and b.ndim > 1
    depth = a.shape[-2 if transpose_a else -1]
    rows = [a.shape[-1 if transpose_a else -2]] if a.ndim > 1 else []
    other_depth = b.shape[-1 if transpose_b or b.ndim == 1 else -2]
    columns = [b.shape[-2 if transpose_b else -1]] if b.ndim > 1 else []
    require_equal(owner, "the extents of the sum", depth, other_depth)
    if bias is not None and columns:
        require_equal(owner, "columns and bias", columns[0], bias.shape[-1])
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2], owner)
    k = te.reduce_axis((0, depth), "k")

    def element(*axes: Any) -> Any:
        outer, inner = axes[: len(batch)], axes[len(batch) :]
        row, column = inner[: len(rows)], inner[len(rows) :]
        left = a(*_batch_place(a, outer), *((k, *row) if transpose_a else (*row, k)))
        right = b(*_batch_place(b, outer), *((*column, k) if transpose_b else (k, *column)))
        return te.sum(cast(dtype, left) * cast(dtype, right), axis=k)

    names = ["b"] if len(batch) == 1 else [f"b{n}" for n in range(len(batch))]
    names += ["i"] * len(rows) + ["j"] * len(columns)
    extents = shape or (*batch, *rows, *columns)
    product = te.compute(extents, element, f"T_{owner}", owner, varargs_names=names)
    product = or_neutral(product, [depth])
    if bias is None:
        return product
    return te.compute(
        product.shape,
        lambda *axes: product(*axes) + cast(dtype, bias(*axes[len(axes) - bias.ndim :])),
        "T_add",
        "broadcast",
    )


def _batch_place(tensor: Tensor, outer: Sequence[Any]) -> list[Any]:
    """Batch indices of a matrix in `tensor`, whose dimensions of extent 1 repeat."""
    extents = tensor.shape[:-2]
    used = outer[len(outer) - len(extents) :]
    return [
        0 if constant(extent) == 1 else axis for axis, extent in zip(used, extents, strict=True)
    ]


def flatten(data: Tensor) -> Tensor:
    """All dimensions but the first as one."""
    if data.ndim < 1:
        raise ShapeError("flatten: an array without dimensions has no batch")
    extents = data.shape[1:]
    columns = simplified(math.prod(extents, start=as_expr(1, data.shape[0].dtype)))
    return te.compute(
        (data.shape[0], columns),
        lambda i, j: data(i, *unravel_index(j, extents)),
        "T_flatten",
        "injective",
    )
