"""Tensors with elements put at places that other tensors say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

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
from tilewright.ir.dtype import INT32, DType
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.te.compute import compute
from tilewright.te.elementwise import same_extent
from tilewright.te.extern import extern, grouped_loop, loop_nest
from tilewright.te.tensor import Tensor, as_shape, shape_text, zero_like
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, IfThenElse, LetStmt, Stmt, seq
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

UNROLLED: Final = 8
"""So many elements are put in one step of a loop."""


class _Places(NamedTuple):
    """Where updates are put.

    Attributes:
        of: leads from a function that loads an index, and the place of an update, to the place in
            the data.
        shared: so many dimensions are first among those of the data and of the updates, with the
            same extent and the same index in both.
        dimensions: so many dimensions of the updates have indices of their own; along the others,
            updates are parts of the data.
    """

    of: Callable[[Callable[..., Expr], Sequence[Expr]], list[Expr]]
    shared: int
    dimensions: int


def _scatter(
    owner: str, data: Tensor, indices: Tensor, updates: Tensor, reduction: str, places: _Places
) -> Tensor:
    """`data` after each element of `updates`, one after the other, was put in its place.

    A negative index counts from the end; places outside of `data` are left out. A part of the data
    is copied just before its updates are put, while a cache keeps it.
    """
    if reduction not in REDUCTIONS:
        names = ", ".join((*REDUCTIONS, "mean"))
        raise ArgumentError(f"{owner}: the reduction is one of {names}, got {reduction!r}")
    if not indices.dtype.is_integral or indices.dtype.is_bool:
        raise DTypeError(f"{owner}: indices are integers, got {indices.dtype!s}")
    if updates.dtype is not data.dtype:
        raise DTypeError(f"{owner}: updates of {updates.dtype!s} for data of {data.dtype!s}")
    shared = places.shared

    def program(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        (source, *_), (result,) = ins, outs

        def part(loops: list[Expr]) -> Stmt:
            rows = [Var(f"row{n}", loop.dtype) for n, loop in enumerate(loops)]
            axes = [
                IterVar(Range.from_min_extent(zero_like(extent), extent), row, IterType.DATA_PAR)
                for row, extent in zip(rows, data.shape, strict=False)
            ]

            def copy(inner: list[Expr]) -> Stmt:
                place = (*rows, *inner)
                return BufferStore(result, BufferLoad(source, place), place)

            body = seq(
                loop_nest(data.shape[shared:], copy), _put(ins, result, rows, reduction, places)
            )
            read = [*ins, result] if reduction != "update" else ins
            reads = tuple(_part(buffer, rows) for buffer in read)
            block = Block(tuple(axes), reads, (_part(result, rows),), "part", body)
            return BlockRealize(tuple(loops), const(True), block)

        return loop_nest(data.shape[:shared], part)

    inputs = [data, indices, updates]
    name = owner.removeprefix("topi.")
    return extern(data.shape, inputs, program, name, dtype=str(data.dtype), tag=tag.INJECTIVE)


def _part(buffer: Buffer, rows: Sequence[Expr]) -> BufferRegion:
    """The region of a buffer with some first indices."""
    single = [Range.from_min_extent(row, const(1, row.dtype)) for row in rows]
    return BufferRegion(buffer, (*single, *map(Range.from_extent, buffer.shape[len(rows) :])))


def _put(
    ins: Sequence[Buffer], result: Buffer, rows: Sequence[Expr], reduction: str, places: _Places
) -> Stmt:
    """Loops that put the updates of one part of the data."""
    _, where, updates = ins

    def put(at: Sequence[Expr]) -> Stmt:
        place, inside, loads = _place(where, at, places, result.shape)

        def element(inner: list[Expr]) -> Stmt:
            target = (*place, *inner)
            update = BufferLoad(updates, (*at, *inner))
            value = REDUCTIONS[reduction](BufferLoad(result, target), update)
            return BufferStore(result, value, target)

        elements = loop_nest(updates.shape[places.dimensions :], element, "v")
        statement: Stmt = IfThenElse(inside, elements)
        for variable, index in reversed(loads):
            statement = LetStmt(variable, index, statement)
        return statement

    extents = updates.shape[places.shared : places.dimensions]
    if not extents:
        return put(rows)
    group = UNROLLED if places.dimensions == updates.ndim else 1
    return loop_nest(
        extents[:-1],
        lambda outer: grouped_loop(extents[-1], lambda k: put([*rows, *outer, k]), group, "u"),
        "u",
    )


def _place(
    where: Buffer, at: Sequence[Expr], places: _Places, shape: Sequence[Expr]
) -> tuple[list[Expr], Expr, list[tuple[Var, Expr]]]:
    """The place of an update, whether the data has it, and what is loaded first."""
    place: list[Expr] = []
    inside, loads = as_expr(True), []
    indices = places.of(lambda *element: BufferLoad(where, element), at)
    for index, extent in zip(indices, shape, strict=False):
        if any(index is loop for loop in at):
            place.append(index)
            continue
        if index.dtype.bits < INT32.bits:  # which may be less than an extent
            index = cast(INT32, index)
        loaded, wrapped = Var("index", index.dtype), Var("wrapped", index.dtype)
        length = cast(index.dtype, extent)
        loads += (loaded, index), (wrapped, select(loaded < 0, loaded + length, loaded))
        # As an unsigned number, a negative one is greater than all indices.
        unsigned = DType(f"uint{index.dtype.bits}")
        inside = logical_and(inside, cast(unsigned, wrapped) < cast(unsigned, length))
        place.append(wrapped)
    return place, inside, loads


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

    same = map(same_extent, data.shape[:along], updates.shape[:along])
    shared = sum(1 for _ in takewhile(bool, same))
    places = _Places(place, shared, updates.ndim)
    if reduction == "mean":
        return _mean(
            lambda old, new: _scatter(owner, old, indices, new, "add", places), data, updates
        )
    return _scatter(owner, data, indices, updates, reduction, places)


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
    count, number = indices.shape[0].value, indices.ndim - 1
    wanted = (*indices.shape[1:], *data.shape[count:])
    fits = count <= data.ndim and len(wanted) == updates.ndim
    if not fits or not all(map(same_extent, wanted, updates.shape)):
        raise ShapeError(
            f"{owner}: indices of shape {shape_text(indices.shape)} need updates of shape "
            f"{shape_text(wanted)}, they have {shape_text(updates.shape)}"
        )

    def place(load: Callable[..., Expr], at: Sequence[Expr]) -> list[Expr]:
        return [load(const(n, "int32"), *at) for n in range(count)]

    places = _Places(place, 0, number)
    if mode == "mean":
        return _mean(
            lambda old, new: _scatter(owner, old, indices, new, "add", places), data, updates
        )
    return _scatter(owner, data, indices, updates, mode, places)


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

    return _scatter(owner, background, sparse_indices, values, "update", _Places(place, 0, 1))


def invert_permutation(data: Tensor) -> Tensor:
    """Where each number is in a permutation of ``0, 1, ...``."""
    if data.ndim != 1:
        raise ShapeError(f"topi.invert_permutation: {data.ndim} dimensions, not a vector")
    places = compute(data.shape, lambda i: cast(data.dtype, i), "places", tag.INJECTIVE)
    zeros = full_like(data, 0)
    return scatter_elements(zeros, data, places)
