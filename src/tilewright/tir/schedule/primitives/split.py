"""Splitting a loop into several."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.op import ceildiv
from tilewright.tir.schedule.edits.bindings import bind_loops, guarded, rebind
from tilewright.tir.schedule.edits.loops import nest, require_plain
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.proofs.index_ranges import require_fits
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import For


@primitive
def split(
    tree: FunctionTree,
    loop: For,
    factors: list[Number | None],
    preserve_unit_iters: bool = True,
    disable_predication: bool = False,
) -> Edit:
    """Split a loop into nested loops, one per factor, the outermost first.

    The order of execution stays the same. If the product of the factors is more than the extent,
    the blocks below get a predicate. A symbolic extent of dtype int32 is at most 2**31 - 65,536,
    so that tiles of up to 65,536 iterations fit.

    Before::

        for i in range(128):
            S(i)

    After ``split(i, [None, 32])``::

        for i_0, i_1 in T.grid(4, 32):
            S(i_0 * 32 + i_1)

    Requires: the loop has no annotation and no thread binding, and the factors cover its extent.

    Args:
        loop: the loop.
        factors: the extents of the new loops; one of them may be None and is then inferred.
        preserve_unit_iters: whether new loops of one iteration stay in the bindings.
        disable_predication: refuse the split where it would need a predicate.

    Returns:
        The new loops.

    Raises:
        ScheduleError: for factors that are not positive, more than one None, a product of
            factors less than the extent, or one that the dtype of the loop does not hold.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.split(j, [None, 8])
        sch.split(k, [None, 3])  # 3 does not divide 8: a predicate keeps the rest out
    """
    require_plain(loop)
    extents = _extents(loop, factors, checked=tree.checked)
    variables = [
        Var(f"{loop.loop_var.name}_{position}", loop.loop_var.dtype)
        for position in range(len(extents))
    ]
    position: Expr = variables[0]
    for variable, extent in zip(variables[1:], extents[1:], strict=True):
        position = position * extent + variable
    analyzer = tree.analyzer(loop)
    loops = dict(zip(variables, extents, strict=True))
    bind_loops(analyzer, loops, preserve_unit_iters)
    position = analyzer.simplify(position)
    body = rebind(loop.body, {loop.loop_var: loop.min + position}, analyzer)
    inside = position < loop.extent
    bind_loops(analyzer, loops, keep_unit=False)
    if not analyzer.can_prove(inside):
        if not disable_predication:
            body = guarded(body, inside)
        elif tree.checked:
            raise ScheduleError(
                "the factors cover more than the extent of {0}, which needs a predicate",
                at=[loop],
                counterexample=_beyond(loop, extents),
                hint="leave out disable_predication",
            )
    new, outermost = nest(loops, body)
    return tree.edit({loop: outermost}, new)


def _extents(loop: For, factors: Sequence[int | None], *, checked: bool) -> list[Expr]:
    """The extents of the new loops."""
    dtype = loop.loop_var.dtype
    if not factors:
        raise ScheduleError("a split of {0} needs at least one factor", at=[loop])
    if sum(factor is None for factor in factors) > 1:
        raise ScheduleError(
            "only one factor of a split may be None, and is then inferred", at=[loop]
        )
    for factor in factors:
        if factor is not None and factor <= 0:
            raise ScheduleError(f"the factors must be positive, got {factor}", at=[loop])
    product = math.prod(factor for factor in factors if factor is not None)
    require_fits(product, dtype, "the product of the factors", loop)
    inferred = _inferred(loop, product)
    if isinstance(inferred, IntImm) and None in factors:
        require_fits(product * inferred.value, dtype, "the product of the factors", loop)
    if None not in factors and checked:
        _require_cover(loop, product)
    return [inferred if factor is None else const(factor, dtype) for factor in factors]


def _inferred(loop: For, product: int) -> Expr:
    if isinstance(loop.extent, IntImm):
        return const(-(-loop.extent.value // product), loop.loop_var.dtype)
    return ceildiv(loop.extent, const(product, loop.extent.dtype))


def _require_cover(loop: For, product: int) -> None:
    if not isinstance(loop.extent, IntImm):
        raise ScheduleError(
            "the extent of {0} is symbolic, so that no product of constant factors covers it",
            at=[loop],
            hint="give None as one of the factors",
        )
    if product < loop.extent.value:
        name = loop.loop_var.name
        raise ScheduleError(
            f"the product of the factors, {product}, is less than the extent of {{0}}, "
            f"{loop.extent.value}",
            at=[loop],
            counterexample=f"the iteration {name} = {product} would not be executed",
            hint="give None as one of the factors to have it inferred",
        )


def _beyond(loop: For, extents: Sequence[Expr]) -> str:
    last = " * ".join(map(str, extents))
    return f"the last of {last} iterations lies behind {loop.loop_var.name} = {loop.extent} - 1"
