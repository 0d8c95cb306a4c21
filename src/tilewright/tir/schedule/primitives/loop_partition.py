"""Cutting the range of a loop into consecutive parts."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.arith import Analyzer
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.edits.bindings import TRUE, rebind
from tilewright.tir.schedule.edits.copying import copied
from tilewright.tir.schedule.edits.loops import (
    require_factors,
    require_plain,
    require_schedulable,
    with_regions,
    wrapped,
)
from tilewright.tir.schedule.edits.tile_init import updating
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree, bind_scope
from tilewright.tir.stmt import Block, BlockRealize, For, ForKind, SeqStmt, Stmt, seq


@primitive
def loop_partition(
    tree: FunctionTree,
    loop: For,
    factors: list[Number | None],
    preserve_unit_iters: bool = True,
) -> Edit:
    """Cut the range of a loop into consecutive parts, each a loop of its own.

    The order of execution stays the same. Every part is inside of a block of its own, and all are
    in one block together. In a part, conditions that always hold there disappear, and so do
    initialisations that never run there.

    Before::

        for i in range(128):
            with T.block("B"):
                vi = T.axis.spatial(128, i)

    After ``loop_partition(i, [2, 64])``::

        with T.block("B_i_common"):
            with T.block("B_i0_partition"):
                for i0 in range(2):
                    with T.block("B_i0"):
                        vi = T.axis.spatial(128, i0)
            with T.block("B_i1_partition"):
                for i1 in range(2, 66):
                    with T.block("B_i1"):
                        vi = T.axis.spatial(128, i1)
            with T.block("B_i2_partition"):
                for i2 in range(66, 128):
                    with T.block("B_i2"):
                        vi = T.axis.spatial(128, i2)

    Requires: the loop has no annotation and no thread binding, and blocks are inside of it.

    Args:
        loop: the loop.
        factors: how many iterations each part has. One of them may be None and is then what the
            others leave. Without one, what they leave is a part after them.
        preserve_unit_iters: whether loops of one iteration stay in the bindings.

    Returns:
        The loops of the parts.

    Raises:
        ScheduleError: for factors that are not positive, more than one None, or more iterations in
            the factors than the loop is known to have.

    Example::

        sch = tir.Schedule(convolution)
        (i,) = sch.get_loops("P")
        sch.loop_partition(i, [1, 16])  # the condition disappears where it always holds
    """
    require_plain(loop)
    require_schedulable(tree, loop)
    parts: list[For] = []
    start = loop.min
    analyzer = tree.analyzer(loop)
    for position, extent in enumerate(_extents(tree, loop, factors)):
        parts.append(_part(tree, loop, position, start, extent, preserve_unit_iters))
        start = analyzer.simplify(start + extent)
    name = tree.blocks_below(loop)[0].block.name_hint
    common = wrapped(tree, loop, seq(*parts), f"{name}_{loop.loop_var.name}_common")
    analyzer = tree.analyzer(tree.scope(loop).block)
    bind_scope(analyzer, common.block)
    body = common.block.body
    blocks: list[BlockRealize] = []
    for part in body.seq if isinstance(body, SeqStmt) else (body,):
        assert isinstance(part, For)
        block = Block((), (), (), f"{name}_{part.loop_var.name}_partition", part)
        blocks.append(BlockRealize((), TRUE, with_regions(block, analyzer)))
    common = common.replace(block=common.block.replace(body=seq(*blocks)))
    return tree.edit({loop: common}, parts)


def _part(
    tree: FunctionTree, loop: For, position: int, start: Expr, extent: Expr, keep_unit: bool
) -> For:
    """The iterations from `start` on, with blocks of their own."""
    var = Var(f"{loop.loop_var.name}{position}", loop.loop_var.dtype)
    analyzer = tree.analyzer(loop)
    if not (keep_unit and is_const_int(extent, 1)):
        analyzer.bind_range(var, start, extent)
    body = copied(loop.body, lambda name: f"{name}_{var.name}")
    proving = tree.analyzer(loop)
    proving.bind_range(var, start, extent)
    body = _without_idle_inits(rebind(body, {loop.loop_var: var}, analyzer), proving)
    return For(var, start, extent, ForKind.SERIAL, body)


def _without_idle_inits(stmt: Stmt, analyzer: Analyzer) -> Stmt:
    """`stmt` without the initialisations of blocks that never run the start of their reduction.

    Such a block continues what another part has begun: it reads what it updates.
    """
    if isinstance(stmt, BlockRealize):
        block = stmt.block
        starts_later = any(
            item.iter_type is IterType.COMM_REDUCE
            and item.dom is not None
            and analyzer.can_prove(value > item.dom.min)
            for item, value in zip(block.iter_vars, stmt.iter_values, strict=True)
        )
        idle = block.init is not None and starts_later
        return stmt.replace(block=updating(block)) if idle else stmt
    if isinstance(stmt, For):
        bind_scope(analyzer, stmt)
    elif not isinstance(stmt, SeqStmt):
        return stmt
    return stmt.map_children(
        lambda child: _without_idle_inits(child, analyzer) if isinstance(child, Stmt) else child
    )


def _extents(tree: FunctionTree, loop: For, factors: Sequence[int | None]) -> list[Expr]:
    """How many iterations each part has."""
    dtype = loop.loop_var.dtype
    require_factors(loop, factors, "partition")
    total = sum(factor for factor in factors if factor is not None)
    analyzer = tree.analyzer(loop)
    rest = analyzer.simplify(loop.extent - total)
    exact = None not in factors
    if is_const_int(rest, 0) and not exact:
        raise ScheduleError(
            f"the factors of {{0}} have {total} iterations, all that it has: nothing is left for "
            "None",
            at=[loop],
        )
    if total > 0 and not analyzer.can_prove(rest >= 0):
        raise ScheduleError(
            f"the factors of {{0}} have {total} iterations, but its extent is {loop.extent}",
            at=[loop],
            counterexample=None if isinstance(loop.extent, IntImm) else _too_few(loop, total),
        )
    extents = [rest if factor is None else const(factor, dtype) for factor in factors]
    return extents if not exact or is_const_int(rest, 0) else [*extents, rest]


def _too_few(loop: For, total: int) -> str:
    return f"{loop.extent} = {total - 1}: the parts would have more iterations than the loop"
