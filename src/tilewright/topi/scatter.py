"""Tensors with elements put at places that other tensors say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tilewright.error import ArgumentError, DTypeError, ShapeError
from tilewright.ir.arithmetic import (
    add,
    floordiv,
    logical_and,
    maximum,
    minimum,
    multiply,
    select,
)
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.te.compute import compute
from tilewright.te.elementwise import same_extent
from tilewright.te.extern import extern, loop_nest
from tilewright.te.tensor import Tensor, as_shape, shape_text
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import BufferStore, IfThenElse, LetStmt, Stmt, seq
from tilewright.topi import tag
from tilewright.topi.creation import full, full_like
from tilewright.topi.operands import normalized_axis

REDUCTIONS: Final[dict[str, Callable[[Any, Any], Expr]]] = {
    "update": lambda old, new: new,
    "add": add,
    "mul": multiply,
    "min": minimum,
    "max": maximum,
}
"""Combination of the old and the new element, by name."""


def _scatter(
    owner: str,
    data: Tensor,
    indices: Tensor,
    updates: Tensor,
    reduction: str,
    place_of: Callable[[Callable[..., Expr], Sequence[Expr]], list[Expr]],
) -> Tensor:
    """`data` after each element of `updates`, one after the other, was put in its place.

    A negative index counts from the end; places outside of `data` are left out. `place_of` leads
    from a function that loads an index, and the place of an update, to the place in `data`.
    """
    if reduction not in REDUCTIONS:
        names = ", ".join((*REDUCTIONS, "mean"))
        raise ArgumentError(f"{owner}: the reduction is one of {names}, got {reduction!r}")
    if not indices.dtype.is_integral or indices.dtype.is_bool:
        raise DTypeError(f"{owner}: indices are integers, got {indices.dtype!s}")
    if updates.dtype is not data.dtype:
        raise DTypeError(f"{owner}: updates of {updates.dtype!s} for data of {data.dtype!s}")
    combine = REDUCTIONS[reduction]

    def program(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        source, where, new = ins
        (result,) = outs

        def put(at: list[Expr]) -> Stmt:
            place, inside, loads = [], as_expr(True), []
            indices = place_of(lambda *index: BufferLoad(where, index), at)
            for index, extent in zip(indices, data.shape, strict=True):
                if not _is_loaded(index, at):
                    place.append(index)
                    continue
                # Loaded once, without a branch between the two comparisons.
                loaded = Var("index", index.dtype)
                loads.append((loaded, index))
                length = cast(index.dtype, extent)
                wrapped = select(loaded < 0, loaded + length, loaded)
                inside = logical_and(inside, logical_and(wrapped >= 0, wrapped < length))
                place.append(wrapped)
            value = combine(BufferLoad(result, tuple(place)), BufferLoad(new, tuple(at)))
            update: Stmt = IfThenElse(inside, BufferStore(result, value, tuple(place)))
            for loaded, index in reversed(loads):
                update = LetStmt(loaded, index, update)
            return update

        copy = loop_nest(
            data.shape, lambda i: BufferStore(result, BufferLoad(source, tuple(i)), tuple(i))
        )
        return seq(copy, loop_nest(updates.shape, put, "u"))

    inputs = [data, indices, updates]
    name = owner.removeprefix("topi.")
    return extern(data.shape, inputs, program, name, dtype=str(data.dtype), tag=tag.INJECTIVE)


def _is_loaded(index: Expr, at: Sequence[Expr]) -> bool:
    return not any(index is loop for loop in at)


def _mean(scatter: Callable[..., Tensor], data: Tensor, updates: Tensor) -> Tensor:
    """The mean of each element and all that is put in its place."""
    totals = scatter(data, updates)
    counts = scatter(full_like(data, 1), full_like(updates, 1))
    divide = (lambda a, b: a / b) if data.dtype.is_float else floordiv
    return compute(data.shape, lambda *i: divide(totals(*i), counts(*i)), "T_mean", tag.ELEMWISE)


def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """`data` with each element of `updates` put at its index along `axis`.

    Args:
        data: the tensor.
        indices: the places along `axis`; the others are those of the update.
        updates: new elements, of the shape of `indices`.
        axis: the dimension.
        reduction: combination with the old elements: ``"update"`` replaces them; ``"add"``,
            ``"mul"``, ``"min"``, ``"max"`` and ``"mean"`` combine both.
    """
    owner = "topi.scatter_elements"
    along = normalized_axis(owner, axis, data.ndim)
    fits = indices.ndim == updates.ndim == data.ndim
    if not fits or not all(map(same_extent, indices.shape, updates.shape)):
        raise ShapeError(
            f"{owner}: indices of shape {shape_text(indices.shape)} and updates of shape "
            f"{shape_text(updates.shape)} for data of {data.ndim} dimensions"
        )

    def place(load: Callable[..., Expr], at: Sequence[Expr]) -> list[Expr]:
        return [load(*at) if n == along else index for n, index in enumerate(at)]

    if reduction == "mean":
        return _mean(
            lambda old, new: _scatter(owner, old, indices, new, "add", place), data, updates
        )
    return _scatter(owner, data, indices, updates, reduction, place)


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str = "update") -> Tensor:
    """`data` with elements, or parts, put at the index tuples in the columns of `indices`.

    Args:
        data: the tensor.
        indices: of shape ``(m, *places)``: the m indices of each place.
        updates: of shape ``(*places, *data.shape[m:])``.
        mode: combination with the old elements; see `scatter_elements`.
    """
    owner = "topi.scatter_nd"
    if indices.ndim == 0 or not isinstance(indices.shape[0], IntImm):
        raise ArgumentError(f"{owner}: the indices do not say how many there are")
    count, places = indices.shape[0].value, indices.ndim - 1
    wanted = (*indices.shape[1:], *data.shape[count:])
    fits = count <= data.ndim and len(wanted) == updates.ndim
    if not fits or not all(map(same_extent, wanted, updates.shape)):
        raise ShapeError(
            f"{owner}: indices of shape {shape_text(indices.shape)} need updates of shape "
            f"{shape_text(wanted)}, they have {shape_text(updates.shape)}"
        )

    def place(load: Callable[..., Expr], at: Sequence[Expr]) -> list[Expr]:
        return [*(load(const(n, "int32"), *at[:places]) for n in range(count)), *at[places:]]

    if mode == "mean":
        return _mean(
            lambda old, new: _scatter(owner, old, indices, new, "add", place), data, updates
        )
    return _scatter(owner, data, indices, updates, mode, place)


def sparse_to_dense(
    sparse_indices: Tensor, output_shape: Any, sparse_values: Tensor, default_value: Any = 0
) -> Tensor:
    """A tensor with `sparse_values` at `sparse_indices` and `default_value` elsewhere.

    Args:
        sparse_indices: one place, a vector of places in a vector, or a row of indices per place.
        output_shape: the shape of the result.
        sparse_values: one value, or one for each place.
        default_value: the others.
    """
    owner = "topi.sparse_to_dense"
    shape = as_shape(output_shape, owner)
    if sparse_indices.ndim > 2 or (sparse_indices.ndim < 2 and len(shape) != 1):
        raise ShapeError(
            f"{owner}: indices of shape {shape_text(sparse_indices.shape)} for a result of shape "
            f"{shape_text(shape)}"
        )
    background = full(shape, sparse_values.dtype, default_value)
    count = sparse_indices.shape[0] if sparse_indices.ndim else const(1, "int32")
    values = compute(
        (count,), lambda i: sparse_values(i) if sparse_values.ndim else sparse_values(), "values"
    )

    def place(load: Callable[..., Expr], at: Sequence[Expr]) -> list[Expr]:
        if sparse_indices.ndim < 2:
            return [load(*at) if sparse_indices.ndim else load()]
        return [load(*at, const(n, "int32")) for n in range(len(shape))]

    return _scatter(owner, background, sparse_indices, values, "update", place)


def invert_permutation(data: Tensor) -> Tensor:
    """Where each number is in a permutation of ``0, 1, ...``."""
    if data.ndim != 1:
        raise ShapeError(f"topi.invert_permutation: {data.ndim} dimensions, not a vector")
    places = compute(data.shape, lambda i: cast(data.dtype, i), "places", tag.INJECTIVE)
    zeros = full_like(data, 0)
    return scatter_elements(zeros, data, places)
