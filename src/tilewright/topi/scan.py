"""Running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.ir.arithmetic import minimum
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.te.extern import extern
from tilewright.te.tensor import Tensor
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import BufferStore, Stmt, seq
from tilewright.topi import tag
from tilewright.topi.axes import normalized_axis
from tilewright.topi.loops import loop_nest
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
        binop: combines what is before with an element.
        identity_value: what is before the first element.
        op_name: of the operation.
        axis: the dimension; None for all elements in a row.
        dtype: of the result, and what is combined; by default that of `data`.
        exclusive: whether the element itself is left out.
    """
    if axis is None:
        data, axis = reshape(data, (number_of_elements(data.shape),)), 0
    along = normalized_axis(f"topi.{op_name}", axis, data.ndim)
    target = data.dtype if dtype is None else DType(dtype)
    outer, length, inner = data.shape[:along], data.shape[along], data.shape[along + 1 :]

    def program(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        (source,), (result,) = ins, outs

        def at(buffer: Buffer, before: Sequence[Expr], k: Expr, after: Sequence[Expr]) -> Expr:
            return cast(target, BufferLoad(buffer, (*before, k, *after)))

        def one_row(before: list[Expr]) -> Stmt:
            zero = const(0, length.dtype)

            def first(place: list[Expr]) -> Stmt:
                after = place[1:]
                value = identity if exclusive else at(source, before, zero, after)
                return BufferStore(result, value, (*before, zero, *after))

            def next_one(place: list[Expr]) -> Stmt:
                k, after = place[0], place[1:]
                element = at(source, before, k if exclusive else k + 1, after)
                value = binop(at(result, before, k, after), element)
                return BufferStore(result, cast(target, value), (*before, k + 1, *after))

            # There is no first element if there are none at all.
            return seq(
                loop_nest((minimum(length, const(1, length.dtype)), *inner), first, "j"),
                loop_nest((length - 1, *inner), next_one, "k"),
            )

        identity = const(identity_value, target)
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
