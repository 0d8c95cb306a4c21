"""A loop of one iteration around a block or a loop."""

from __future__ import annotations

from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Var
from tilewright.tir.schedule.edits.loops import nest
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For


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
    return tree.edit({block_or_loop: loop}, loop)
