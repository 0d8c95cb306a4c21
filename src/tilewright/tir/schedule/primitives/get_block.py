"""Looking up a block by its name."""

from __future__ import annotations

import difflib

from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree


@primitive
def get_block(tree: FunctionTree, name: str, func_name: str | None = None) -> Edit:
    """The block called `name`.

    Args:
        name: its name, which no other block of the function has.
        func_name: the function to look in; by default the one that `work_on` chose, or the only
            one.

    Raises:
        ScheduleError: if no block, or more than one, has that name.

    Example::

        sch = tir.Schedule(chain)
        block = sch.get_block("D")
        print(sch.get(block).name_hint)
    """
    del func_name
    found = [realize for realize in tree.blocks() if realize.block.name_hint == name]
    if len(found) == 1:
        return Edit(tree.func, found[0])
    if found:
        raise ScheduleError(
            f"{len(found)} blocks of `{tree.name}` are called `{name}`",
            at=found,
            hint="reach the one you mean by get_child_blocks of the block around it",
        )
    names = [realize.block.name_hint for realize in tree.blocks()]
    close = difflib.get_close_matches(str(name), names, n=1)
    raise ScheduleError(
        f"Cannot find a block with the name: {name}; `{tree.name}` has {', '.join(names)}",
        hint=f"did you mean {close[0]!r}?" if close else "",
    )
