"""Finding blocks and loops: by name, and by their relations."""

from __future__ import annotations

import difflib

from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.scope import buffers_written, child_scope, scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For


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


@primitive
def get_child_blocks(tree: FunctionTree, block_or_loop: For | BlockRealize) -> Edit:
    """The blocks inside of a block or a loop, without those inside of these blocks.

    Args:
        block_or_loop: where to look.

    Example::

        sch = tir.Schedule(chain)
        blocks = sch.get_child_blocks("root")
        print([sch.get(block).name_hint for block in blocks])
    """
    return Edit(tree.func, tree.blocks_below(block_or_loop))


@primitive
def get_producers(tree: FunctionTree, block: BlockRealize) -> Edit:
    """The blocks of the same scope that write what a block reads, in the order of the text.

    Args:
        block: the block.

    Example::

        sch = tir.Schedule(softmax)
        producers = sch.get_producers("D")
        print([sch.get(block).name_hint for block in producers])
    """
    return Edit(tree.func, scope_of(tree, block).producers(block))


@primitive
def get_consumers(tree: FunctionTree, block: BlockRealize) -> Edit:
    """The blocks of the same scope that read what a block writes, in the order of the text.

    Args:
        block: the block.

    Example::

        sch = tir.Schedule(softmax)
        consumers = sch.get_consumers("E")
        print([sch.get(block).name_hint for block in consumers])
    """
    return Edit(tree.func, scope_of(tree, block).consumers(block))


@primitive
def get_output_blocks(tree: FunctionTree, scope_block: BlockRealize) -> Edit:
    """The child blocks of a block that write a buffer which outlives the block.

    Args:
        scope_block: the block whose children are looked at, such as the root block.

    Example::

        sch = tir.Schedule(softmax)
        outputs = sch.get_output_blocks("root")
        print([sch.get(block).name_hint for block in outputs])
    """
    allocated = set(scope_block.block.alloc_buffers)
    found = [
        child
        for child in child_scope(tree, scope_block).children
        if any(buffer not in allocated for buffer in buffers_written(child.block))
    ]
    return Edit(tree.func, found)
