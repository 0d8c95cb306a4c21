"""Running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.ir.arithmetic import maximum, minimum, select
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64, DType
from tilewright.ir.expr import Expr, Var
from tilewright.te import isnan
from tilewright.te.extern import extern, loop_nest
from tilewright.te.tensor import Tensor, zero_like
from tilewright.tir.buffer import Buffer, BufferLoad, Range, decl_buffer
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.op import bitwise_or
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, Stmt, seq
from tilewright.topi import tag
from tilewright.topi.operands import accumulator, normalized_axis
from tilewright.topi.reshape import number_of_elements, reshape


def scanop(
    data: Tensor,
    binop: Callable[[Any, Any], Any],
    identity_value: Any,
    op_name: str,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> Tensor:
    """The combination of each element along `axis` with all elements before it.

    Args:
        data: the tensor.
        binop: combines the prefix with an element.
        identity_value: value of the empty prefix.
        op_name: of the operation.
        axis: the dimension; None for all elements in a row.
        dtype: of the result, and what is combined, half precision in single precision; by default
            that of `data`.
        exclusive: whether the element itself is left out.
    """
    if axis is None:
        data, axis = reshape(data, (number_of_elements(data.shape),)), 0
    along = normalized_axis(f"topi.{op_name}", axis, data.ndim)
    target = data.dtype if dtype is None else DType(dtype)
    length, inner = data.shape[along], data.shape[along + 1 :]

    wide = accumulator(target)

    def program(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        (source,), (result,) = ins, outs
        so_far = decl_buffer(inner or (1,), wide, f"{op_name}_so_far", scope="local")

        def step(before: Sequence[Expr], k: Expr, after: Sequence[Expr], is_first: bool) -> Stmt:
            place = tuple(after) or (zero_like(length),)
            element = cast(wide, cast(target, BufferLoad(source, (*before, k, *after))))
            known = BufferLoad(so_far, place)
            combined = element if is_first else binop(known, element)
            store = BufferStore(so_far, cast(wide, combined), place)
            new = known if not (exclusive and is_first) else const(identity_value, wide)
            put = BufferStore(result, cast(target, new), (*before, k, *after))
            return seq(put, store) if exclusive else seq(store, put)

        return _rows(source, outs, [so_far], along, step)

    return extern(data.shape, [data], program, op_name, dtype=str(target), tag=tag.COMM_REDUCE)


def _rows(
    source: Buffer,
    results: Sequence[Buffer],
    so_far: Sequence[Buffer],
    along: int,
    step: Callable[[Sequence[Expr], Expr, Sequence[Expr], bool], Stmt],
) -> Stmt:
    """Loops over the rows of `source` along a dimension, each a block.

    Args:
        source: what is read.
        results: what is written, of the same shape.
        so_far: the memory of a row.
        along: the dimension.
        step: from the place before `along`, in it, and after it, and whether that is the first in
            the row, to what is done there.
    """
    shape = source.shape
    outer, length, inner = shape[:along], shape[along], shape[along + 1 :]

    def one_row(loops: list[Expr]) -> Stmt:
        before = [Var(f"row{n}", extent.dtype) for n, extent in enumerate(outer)]
        rows = [
            IterVar(Range.from_min_extent(zero_like(extent), extent), row, IterType.DATA_PAR)
            for row, extent in zip(before, outer, strict=True)
        ]
        whole = (*before, *(slice(None) for _ in (length, *inner)))
        # An empty row has no first element.
        body = seq(
            loop_nest(
                (minimum(length, const(1, length.dtype)), *inner),
                lambda place: step(before, zero_like(length), place[1:], True),
                "j",
            ),
            loop_nest(
                (length - 1, *inner),
                lambda place: step(before, place[0] + 1, place[1:], False),
                "k",
            ),
        )
        writes = tuple(result[whole] for result in results)
        block = Block(tuple(rows), (source[whole],), writes, "row", body, None, tuple(so_far))
        return BlockRealize(tuple(loops), const(True), block)

    return loop_nest(outer, one_row)


def running_extremum(data: Tensor, axis: int, is_max: bool, name: str) -> Any:
    """The largest (or smallest) element up to each one along `axis`, and where the last such one
    is, as int64. A NaN comes before all numbers.

    Args:
        data: the tensor, of at least one dimension.
        axis: the dimension.
        is_max: whether the largest elements are wanted.
        name: of the operation.
    """
    along = normalized_axis(f"topi.{name}", axis, data.ndim)
    inner = data.shape[along + 1 :] or (1,)
    combine = maximum if is_max else minimum

    def program(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        (source,), (values, places) = ins, outs
        so_far = decl_buffer(inner, data.dtype, f"{name}_so_far", scope="local")
        last = decl_buffer(inner, INT64, f"{name}_last", scope="local")

        def step(before: Sequence[Expr], k: Expr, after: Sequence[Expr], is_first: bool) -> Stmt:
            index = (*before, k, *after)
            place = tuple(after) or (zero_like(k),)
            element, best = BufferLoad(source, index), BufferLoad(so_far, place)
            here, there = cast(INT64, k), BufferLoad(last, place)
            reaches = (element >= best) if is_max else (element <= best)
            if data.dtype.is_float:
                reaches = bitwise_or(reaches, isnan(element))  # without a branch
            return seq(
                BufferStore(last, here if is_first else select(reaches, here, there), place),
                BufferStore(so_far, element if is_first else combine(best, element), place),
                BufferStore(values, best, index),
                BufferStore(places, there, index),
            )

        return _rows(source, outs, [so_far, last], along, step)

    shapes, dtypes = [data.shape, data.shape], [str(data.dtype), "int64"]
    return extern(shapes, [data], program, name, dtype=dtypes, tag=tag.COMM_REDUCE)


def cumsum(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Tensor:
    """The sums of the elements up to each one along `axis`; see `scanop`."""
    return scanop(data, lambda a, b: a + b, 0, "cumsum", axis, dtype, exclusive)


def cumprod(
    data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Tensor:
    """The products of the elements up to each one along `axis`; see `scanop`."""
    return scanop(data, lambda a, b: a * b, 1, "cumprod", axis, dtype, exclusive)
