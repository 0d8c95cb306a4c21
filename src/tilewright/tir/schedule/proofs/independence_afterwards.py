"""Counterexamples about iterations that run at once in the program that a primitive would make.

Apart from `counterexamples`, since it asks `legality`, which is above it.
"""

from __future__ import annotations

from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.legality import require_independent
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import For


def carried_afterwards(loop: For, before: FunctionTree, after: FunctionTree) -> object:
    """Two iterations of a loop, of which one depends on the other one; None if there are none.

    To be used as ``ScheduleError(afterwards=partial(carried_afterwards, loop))``.
    """
    del before
    new = after.loop(loop.loop_var)
    if new is not None:
        try:
            require_independent(FunctionTree(after.name, after.func), new)
        except ScheduleError as error:
            return error.counterexample
    return None
