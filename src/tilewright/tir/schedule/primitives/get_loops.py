"""The loops around a block."""

from __future__ import annotations

from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize


@primitive
def get_loops(tree: FunctionTree, block: BlockRealize) -> Edit:
    """The loops around a block inside of its scope, the outermost first.

    Args:
        block: the block.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        print([sch.get(loop).loop_var.name for loop in (i, j, k)])
    """
    return Edit(tree.func, tree.loops_above(block))
