"""Changing the order of loops, and of the iterators of a block."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tir.schedule.edits.loops import require_schedulable
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.proofs.legality import require_order_kept
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For, Stmt
from tilewright.tir.substitute import variables_of


@primitive
def reorder(tree: FunctionTree, *ordered_loops: For) -> Edit:
    """Put nested loops into a new order.

    Before::

        for i, j, k in T.grid(16, 32, 64):
            S(i, j, k)

    After ``reorder(k, i)``::

        for k, j, i in T.grid(64, 32, 16):
            S(i, j, k)

    Requires: the loops are on one chain of perfectly nested loops (others may be between them and
    stay where they are), no bounds of a loop depend on one that comes to stand inside of it, and
    no two iterations that depend on each other change their order. The updates of a reduction may
    change theirs if its reducer is proved to be commutative and associative, also where values that
    it compares are equal (see `rfactor`).

    Args:
        ordered_loops: the loops in their new order, from the outermost on.

    Raises:
        ScheduleError: if a requirement does not hold; for a dependence, with two iterations and
            the element that both access.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.reorder(i, k, j)  # the innermost loop now runs along the rows of B and C
    """
    if len(set(ordered_loops)) < len(ordered_loops):
        raise ScheduleError("a loop is given more than once", at=ordered_loops)
    if len(ordered_loops) < 2:
        return Edit(tree.func)
    require_schedulable(tree, ordered_loops[0])
    chain = _chain(tree, ordered_loops)
    places = [position for position, loop in enumerate(chain) if loop in set(ordered_loops)]
    order = list(chain)
    for position, loop in zip(places, ordered_loops, strict=True):
        order[position] = loop
    if all(new is old for new, old in zip(order, chain, strict=True)):
        return Edit(tree.func)
    _require_bounds_known(order)
    body: Stmt = chain[-1].body
    for loop in reversed(order):
        body = loop.replace(body=body)
    edit = tree.edit({chain[0]: body})
    require_order_kept(tree, edit, chain[0], moved=ordered_loops)
    return edit


def _chain(tree: FunctionTree, loops: Sequence[For]) -> list[For]:
    """All loops from the outermost of `loops` to the innermost."""
    depth = {loop: sum(1 for _ in tree.ancestors(loop)) for loop in loops}
    top, bottom = min(loops, key=depth.__getitem__), max(loops, key=depth.__getitem__)
    chain = [top]
    while chain[-1] is not bottom:
        below = chain[-1].body
        if not isinstance(below, For):
            raise ScheduleError(
                "the loops are not on one chain: between {0} and {1} there is more than loops",
                at=[top, bottom],
                hint="only perfectly nested loops can be reordered",
            )
        chain.append(below)
    missing = [loop for loop in loops if loop not in set(chain)]
    if missing:
        raise ScheduleError(
            "the loops are not on one chain: {0} is not between {1} and {2}",
            at=[missing[0], top, bottom],
        )
    return chain


def _require_bounds_known(order: Sequence[For]) -> None:
    """Refuse bounds that mention the variable of a loop further inside."""
    for position, outer in enumerate(order):
        mentioned = set(variables_of(outer.min) + variables_of(outer.extent))
        for inner in order[position + 1 :]:
            if inner.loop_var in mentioned:
                raise ScheduleError(
                    "the bounds of {0} depend on {1}, which would come to stand inside of it",
                    at=[outer, inner],
                )


@primitive
def reorder_block_iter_var(
    tree: FunctionTree, block: BlockRealize, new_order: list[Number]
) -> Edit:
    """Put the iterators of a block into a new order; nothing else changes.

    Before::

        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])

    After ``reorder_block_iter_var("C", [2, 0, 1])``::

        with T.block("C"):
            vk, vi, vj = T.axis.remap("RSS", [k, i, j])

    Args:
        block: the block.
        new_order: the positions of the iterators in their new order.

    Raises:
        ScheduleError: if `new_order` does not name each position once.

    Example::

        sch = tir.Schedule(matmul)
        sch.reorder_block_iter_var("C", [2, 0, 1])
    """
    iterators = block.block.iter_vars
    if sorted(new_order) != list(range(len(iterators))):
        raise ScheduleError(
            f"new_order must have each number from 0 to {len(iterators) - 1} once, as {{0}} has "
            f"{len(iterators)} iterators; got {new_order}",
            at=[block],
        )
    inner = block.block.replace(iter_vars=tuple(iterators[n] for n in new_order))
    values = tuple(block.iter_values[n] for n in new_order)
    return tree.edit({block: block.replace(iter_values=values, block=inner)})
