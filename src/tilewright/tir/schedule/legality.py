"""Whether a new order of execution respects all dependences."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import For, Stmt


def require_order_kept(
    tree: FunctionTree, edit: Edit, around: Stmt, moved: Sequence[For] = ()
) -> None:
    """Refuse an edit that swaps two instances of blocks of which one depends on the other.

    Args:
        tree: the program before.
        edit: the program after; the same instances of the same blocks in another order.
        around: the statement of the program before in which the order changed.
        moved: the loops to underline in the refusal.
    """
    if not tree.checked:
        return
    raise ScheduleError("not proved", at=moved or [around])
