"""Changing the order of the iterators of a block."""

from __future__ import annotations

from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize


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
