"""Requirements and constructions that loop transformations share."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, Var
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, ForKind, Stmt
from tilewright.tir.substitute import substitute


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


def in_copies(
    loops: Sequence[For], realize: BlockRealize, suffix: str = ""
) -> tuple[BlockRealize, Stmt]:
    """A block in copies of loops, the outermost first, which its bindings mention.

    Args:
        loops: the loops; their bodies do not count.
        realize: the block, in terms of their variables.
        suffix: what the names of the variables of the copies end with.

    Returns:
        The block in terms of the variables of the copies, and the outermost copy.
    """
    copies: dict[Var, Expr] = {}
    made: list[For] = []
    for loop in loops:
        low, extent = substitute(loop.min, copies), substitute(loop.extent, copies)
        var = Var(f"{loop.loop_var.name}{suffix}", loop.loop_var.dtype)
        made.append(loop.replace(loop_var=var, min=low, extent=extent))
        copies[loop.loop_var] = var
    realize = realize.replace(
        iter_values=tuple(substitute(value, copies) for value in realize.iter_values),
        predicate=substitute(realize.predicate, copies),
    )
    body: Stmt = realize
    for loop in reversed(made):
        body = loop.replace(body=body)
    return realize, body


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
