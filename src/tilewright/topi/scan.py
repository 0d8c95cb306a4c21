"""Running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.ir.arithmetic import minimum
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, Var
from tilewright.te.extern import extern, loop_nest
from tilewright.te.tensor import Tensor, zero_like
from tilewright.tir.buffer import Buffer, BufferLoad, Range, decl_buffer
from tilewright.tir.expr import IterType, IterVar
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
    outer, length, inner = data.shape[:along], data.shape[along], data.shape[along + 1 :]

    wide = accumulator(target)

    def program(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        (source,), (result,) = ins, outs
        so_far = decl_buffer(inner or (1,), wide, f"{op_name}_so_far", scope="local")

        def combine(before: Sequence[Expr], k: Expr, after: Sequence[Expr], combined: Any) -> Stmt:
            """Store element `k`, given `combined`, the reduction up to and including it."""
            place = tuple(after) or (zero_like(length),)
            old = BufferLoad(so_far, place) if k is not first_index else const(identity_value, wide)
            store = BufferStore(so_far, cast(wide, combined), place)
            new = old if exclusive else BufferLoad(so_far, place)
            put = BufferStore(result, cast(target, new), (*before, k, *after))
            return seq(put, store) if exclusive else seq(store, put)

        def element(before: Sequence[Expr], k: Expr, after: Sequence[Expr]) -> Expr:
            return cast(wide, cast(target, BufferLoad(source, (*before, k, *after))))

        def one_row(loops: list[Expr]) -> Stmt:
            before = [Var(f"row{n}", extent.dtype) for n, extent in enumerate(outer)]
            rows = [
                IterVar(Range.from_min_extent(zero_like(extent), extent), row, IterType.DATA_PAR)
                for row, extent in zip(before, outer, strict=True)
            ]
            whole = (*before, *(slice(None) for _ in (length, *inner)))

            def first(place: list[Expr]) -> Stmt:
                after = place[1:]
                return combine(before, first_index, after, element(before, first_index, after))

            def next_one(place: list[Expr]) -> Stmt:
                k, after = place[0] + 1, place[1:]
                combined = binop(
                    BufferLoad(so_far, tuple(after) or (zero_like(length),)),
                    element(before, k, after),
                )
                return combine(before, k, after, combined)

            # An empty row has no first element.
            body = seq(
                loop_nest((minimum(length, const(1, length.dtype)), *inner), first, "j"),
                loop_nest((length - 1, *inner), next_one, "k"),
            )
            reads, writes = (source[whole],), (result[whole],)
            block = Block(tuple(rows), reads, writes, "row", body, None, (so_far,))
            return BlockRealize(tuple(loops), const(True), block)

        first_index = zero_like(length)
        return loop_nest(outer, one_row)

    return extern(data.shape, [data], program, op_name, dtype=str(target), tag=tag.COMM_REDUCE)


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
