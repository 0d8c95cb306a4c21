"""How many elements are not 0, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright import te
from tilewright.ir.arithmetic import floordiv, minimum, not_equal
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT32, INT64
from tilewright.ir.expr import Expr, Var
from tilewright.te import Tensor
from tilewright.te.extern import extern, grouped_loop, loop_nest
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, LetStmt, Stmt, seq
from tilewright.topi import tag
from tilewright.topi.creation import full

PART: Final = 1024
"""So many elements of a row are searched before the places found are stored."""

UNROLLED: Final = 4
"""So many elements are searched in one step of a loop."""


def count_nonzero(data: Tensor) -> Tensor:
    """How many elements are not 0, as a vector of one number."""
    steps = [te.reduce_axis((0, extent), f"k{n}") for n, extent in enumerate(data.shape)]

    def count(_: Any) -> Any:
        element = data(*(step.var for step in steps))
        found = cast(INT64, not_equal(element, const(0, data.dtype)))
        return te.sum(found, axis=steps) if steps else found

    return te.compute((1,), count, "T_count", tag.COMM_REDUCE)


def nonzero(data: Tensor, count: Any, rows: bool = False) -> Tensor:
    """Where the elements are that are not 0, in order, as int64.

    The places in a part of a row are first listed without branches: each is stored behind the list,
    which only gets longer if the element is not 0.

    Args:
        data: the tensor; one without dimensions has an element with an empty place.
        count: how many such elements there are; see `count_nonzero`.
        rows: whether the result has a row for each element, and not for each dimension.
    """
    if not data.shape:
        return full((count, 0) if rows else (0, count), INT64, 0)
    places = decl_buffer((PART,), INT32, "places", scope="local")
    found = decl_buffer((1,), INT64, "found", scope="local")
    total = decl_buffer((1,), INT64, "total", scope="local")
    zero = const(0, INT64)
    length = cast(INT64, data.shape[-1])

    def list_places(source: Buffer, before: Sequence[Expr], start: Expr) -> Stmt:
        """List the places in one part of a row, which begins at `start`."""

        def step(k: Expr) -> Stmt:
            index = (*before, cast(data.shape[-1].dtype, start + k))
            is_found = not_equal(BufferLoad(source, index), const(0, data.dtype))
            behind = BufferLoad(found, (zero,))
            return seq(
                BufferStore(places, cast(INT32, k), (behind,)),
                BufferStore(found, behind + cast(INT64, is_found), (zero,)),
            )

        size = minimum(const(PART, INT64), length - start)
        return seq(BufferStore(found, zero, (zero,)), grouped_loop(size, step, UNROLLED))

    def store_places(result: Buffer, before: Sequence[Expr], start: Expr) -> Stmt:
        """Store the places that have been listed behind those of the parts before."""
        number = Var("number", INT64)

        def store(at: Sequence[Expr]) -> Stmt:
            element = BufferLoad(total, (zero,)) + at[0]
            last = start + cast(INT64, BufferLoad(places, (at[0],)))
            place = [*(cast(INT64, i) for i in before), last]
            where = [
                (element, const(n, INT64)) if rows else (const(n, INT64), element)
                for n in range(data.ndim)
            ]
            return seq(*map(BufferStore, (result,) * data.ndim, place, where))

        behind = BufferStore(total, BufferLoad(total, (zero,)) + number, (zero,))
        stores = seq(loop_nest((number,), store), behind)
        return LetStmt(number, BufferLoad(found, (zero,)), stores)

    def program(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        (source,), (result,) = ins, outs

        def part(loops: Sequence[Expr]) -> Stmt:
            *before, number = loops
            start = Var("start", INT64)
            steps = list_places(source, before, start), store_places(result, before, start)
            return LetStmt(start, number * PART, seq(*steps))

        parts = floordiv(length + (PART - 1), const(PART, INT64))
        body = seq(BufferStore(total, zero, (zero,)), loop_nest((*data.shape[:-1], parts), part))
        regions = (source[tuple(slice(None) for _ in data.shape)],), (result[:, :],)
        block = Block((), *regions, "nonzero", body, None, (places, found, total))
        return BlockRealize((), const(True), block)

    shape = (count, data.ndim) if rows else (data.ndim, count)
    return extern(shape, [data], program, "nonzero", dtype="int64")
