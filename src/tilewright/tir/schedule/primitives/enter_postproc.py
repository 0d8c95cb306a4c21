"""The mark in a trace after which postprocessing begins."""

from __future__ import annotations

from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree


@primitive
def enter_postproc(tree: FunctionTree) -> Edit:
    """Mark that what follows in the trace is postprocessing.

    The program stays as it is. `Trace.apply_to_schedule` and `Trace.as_python` leave out the mark
    and what follows when they are told to.

    Example::

        sch = tir.Schedule(scale)
        i, j = sch.get_loops("B")
        sch.enter_postproc()
        sch.parallel(i)
        print(sch.trace.as_python(remove_postproc=True))
    """
    return Edit(tree.func)
