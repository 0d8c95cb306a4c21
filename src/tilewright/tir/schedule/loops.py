"""Requirements and constructions that loop transformations share."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, Var
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, For, ForKind, Stmt


def require_plain(loop: For) -> None:
    """Refuse a loop with annotations or a thread binding: what they say would be lost."""
    if loop.annotations or loop.thread_binding is not None:
        what = "a thread binding" if loop.thread_binding is not None else "annotations"
        raise ScheduleError(
            f"{{0}} has {what}, which would be lost",
            at=[loop],
            hint="transform the loop first, and annotate or bind the result",
        )


def require_schedulable(tree: FunctionTree, loop: For) -> None:
    """Refuse a loop inside of the body of a leaf block: blocks are scheduled as they are."""
    if not tree.blocks_below(loop):
        block = next(above for above in tree.ancestors(loop) if isinstance(above, Block))
        raise ScheduleError(
            "{0} is inside of the body of {1}: only loops around blocks are transformed",
            at=[loop, block],
            hint="write the body of the loop as a block",
        )


def nest(loops: Mapping[Var, Expr], body: Stmt) -> tuple[list[For], Stmt]:
    """Serial loops from 0, the outermost first, around `body`; and the outermost (or `body`)."""
    made: list[For] = []
    for var, extent in reversed(list(loops.items())):
        body = For(var, const(0, var.dtype), extent, ForKind.SERIAL, body)
        made.append(body)
    made.reverse()
    return made, body


def require_nested(tree: FunctionTree, loops: Sequence[For]) -> None:
    """Refuse loops that are not nested directly in each other, in the order given."""
    for outer, inner in itertools.pairwise(loops):
        if outer.body is inner:
            continue
        if not tree.is_above(outer, inner):
            raise ScheduleError(
                "{1} is not inside of {0}: the loops must be given from the outermost on",
                at=[outer, inner],
            )
        raise ScheduleError(
            "{1} is not the only statement in {0}: the loops must be perfectly nested",
            at=[outer, inner],
            hint="reorder or fuse what is between them first, or move it away",
        )
