"""Splitting, fusing and adding loops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT32, INT64, DType
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.index_limits import is_product_bounded
from tilewright.tir.op import ceildiv
from tilewright.tir.schedule.edits.bindings import bind_loops, guarded, rebind
from tilewright.tir.schedule.edits.loops import nest, require_factors, require_nested, require_plain
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.proofs.edit_checks import require_fits
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For, ForKind
from tilewright.tir.substitute import variables_of

SAME_ORDER: Final = frozenset(ForKind)
"""Loops around and inside of those that are split, fused or added run the same instances in the
same order as before, so that whatever their kind is, nothing is left to prove."""


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
    return tree.edit({loop: outermost}, new, SAME_ORDER)


def _extents(loop: For, factors: Sequence[int | None], *, checked: bool) -> list[Expr]:
    """The extents of the new loops."""
    dtype = loop.loop_var.dtype
    require_factors(loop, factors, "split")
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


@primitive
def fuse(tree: FunctionTree, *loops: For, preserve_unit_iters: bool = True) -> Edit:
    """Fuse perfectly nested loops into one.

    The order of execution stays the same.

    Before::

        for i, j in T.grid(16, 32):
            S(i, j)

    After ``fuse(i, j)``::

        for i_j_fused in range(512):
            S(i_j_fused // 32, i_j_fused % 32)

    The fused loop counts in int64 if its iterations are too many for the dtype of the loops.

    Requires: each loop contains the next one and nothing else, none has annotations or a thread
    binding, and no extent depends on the variable of another one. Loops of a reduction that may
    have no iteration are not fused with spatial loops: a symbolic size may be 0, unless the
    function says otherwise (``T.evaluate(T.assume(n > 0))``).

    Args:
        loops: the loops, from the outermost on.
        preserve_unit_iters: whether loops of one iteration are kept in the result's bindings.

    Returns:
        The fused loop.

    Raises:
        ScheduleError: for loops that are not perfectly nested, or depend on each other, or if a
            reduction over nothing would no longer initialise its elements.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.fuse(i, j)
    """
    if not loops:
        raise ScheduleError("fuse needs at least one loop")
    for loop in loops:
        require_plain(loop)
    require_nested(tree, loops)
    _require_independent(loops)
    name = "_".join(loop.loop_var.name for loop in loops)
    dtype = _dtype_of_all(tree, loops)
    fused = Var(f"{name}_fused", dtype)
    analyzer = tree.analyzer(loops[0])
    size: Expr = const(1, dtype)
    values: dict[Var, Expr] = {}
    for position, loop in reversed(list(enumerate(loops))):
        reach = analyzer.simplify(size * loop.extent)
        digit = fused // size if position == 0 else fused % reach // size
        values[loop.loop_var] = loop.min + cast(loop.loop_var.dtype, digit)
        size = reach
    bind_loops(analyzer, {fused: size}, preserve_unit_iters)
    body = rebind(loops[-1].body, values, analyzer)
    (new,), _ = nest({fused: size}, body)
    return tree.edit({loops[0]: new}, new, SAME_ORDER)


def _dtype_of_all(tree: FunctionTree, loops: tuple[For, ...]) -> DType:
    """The dtype of a loop over all iterations: int64 if they may be too many for the loops' own."""
    dtype = max((loop.loop_var.dtype for loop in loops), key=lambda dtype: dtype.bits)
    shapes = (buffer.shape for buffer in tree.func.buffer_map.values())
    is_bounded = is_product_bounded([loop.extent for loop in loops], shapes, dtype)
    return dtype if is_bounded else INT64


def _require_independent(loops: tuple[For, ...]) -> None:
    for position, inner in enumerate(loops):
        mentioned = variables_of(inner.extent) + variables_of(inner.min)
        for outer in loops[:position]:
            if any(var is outer.loop_var for var in mentioned):
                raise ScheduleError(
                    "the bounds of {1} depend on the variable of {0}", at=[outer, inner]
                )


@primitive
def add_unit_loop(tree: FunctionTree, block_or_loop: For | BlockRealize) -> Edit:
    """Put a loop of one iteration around a block or a loop.

    Before::

        for i in range(16):
            S(i)

    After ``add_unit_loop(i)``::

        for u in range(1):
            for i in range(16):
                S(i)

    Args:
        block_or_loop: what comes into the loop.

    Returns:
        The new loop.

    Raises:
        ScheduleError: for the root block of a function.

    Example::

        sch = tir.Schedule(scale)
        i, j = sch.get_loops("B")
        sch.add_unit_loop(i)
    """
    if block_or_loop is tree.root:
        raise ScheduleError("{0} is the root block, around which there is no loop", at=[tree.root])
    (loop,), _ = nest({Var("u", INT32): const(1, INT32)}, block_or_loop)
    return tree.edit({block_or_loop: loop}, loop, SAME_ORDER)
