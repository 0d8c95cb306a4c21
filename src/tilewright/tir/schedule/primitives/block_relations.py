"""Questions about how blocks are related."""

from __future__ import annotations

from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.scope import buffers_written, child_scope, scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For


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
