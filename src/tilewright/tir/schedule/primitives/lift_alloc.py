"""Moving an allocation out of a block."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.error import DiagnosticError
from tilewright.ir.convert import const
from tilewright.ir.expr import Var
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import Buffer, BufferRegion, Range
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.legality import carried_afterwards
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For
from tilewright.tir.substitute import variables_of


@primitive
def lift_alloc(tree: FunctionTree, block: BlockRealize, buffer: Any, levels: int = 1) -> Edit:
    """Move the allocation of a buffer from a block to the block around it.

    The buffer then lives longer: what one instance of the block leaves in it can be used by later
    ones.

    Before::

        for i in range(4):
            with T.block("outer"):
                B = T.alloc_buffer((16,))
                ...

    After ``lift_alloc("outer", "B")``::

        B = T.alloc_buffer((16,))
        for i in range(4):
            with T.block("outer"):
                ...

    Requires: no loop in between runs its iterations at once, which would share the memory; the
    shape does not depend on iterators of the block.

    Args:
        block: the block that allocates the buffer.
        buffer: its name, or the buffer.
        levels: how many blocks further out the allocation goes.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(rows)
        sch.lift_alloc("row", "B")
    """
    allocated = block.block.alloc_buffers
    found = next((b for b in allocated if b is buffer or b.name == buffer), None)
    if found is None:
        names = ", ".join(f"`{item.name}`" for item in allocated) or "nothing"
        raise ScheduleError(
            f"{{0}} does not allocate {getattr(buffer, 'name', buffer)!r}",
            at=[block],
            hint=f"it allocates {names}",
        )
    if levels < 1:
        raise ScheduleError(f"`levels` must be at least 1, got {levels}", at=[block])
    target = block
    for _ in range(levels):
        target = _next_block(tree, target, found)
    return tree.edit(_moved(tree, block, target, found))


def _next_block(tree: FunctionTree, block: BlockRealize, buffer: Buffer) -> BlockRealize:
    """The block around `block`, if the allocation may be moved there."""
    if block is tree.root:
        raise ScheduleError("{0} is the outermost block of the function", at=[block])
    own: set[Var] = {iterator.var for iterator in block.block.iter_vars}
    if any(var in own for extent in buffer.shape for var in variables_of(extent)):
        raise ScheduleError(
            f"the shape of `{buffer.name}` depends on iterators of {{0}}", at=[block]
        )
    outer = tree.scope(block)
    for above in tree.ancestors(block):
        if above is outer.block:
            break
        if isinstance(above, For) and not above.kind.is_in_order and tree.checked:
            raise ScheduleError(
                f"the iterations of {{0}} run at once, each with its own `{buffer.name}`: outside "
                "of the loop they would share one",
                at=[above],
                afterwards=partial(carried_afterwards, above),
            )
    return outer


def _moved(
    tree: FunctionTree, block: BlockRealize, target: BlockRealize, buffer: Buffer
) -> dict[Any, Any]:
    """The edit that moves an allocation, which the blocks that lose it access from then on."""
    kept = tuple(item for item in block.block.alloc_buffers if item is not buffer)
    old, new = block, _accessing(block.block.replace(alloc_buffers=kept), buffer)
    while tree.scope(old) is not target:
        outer = tree.scope(old)
        new = _accessing(tree.edited({old.block: new}, outer.block), buffer)
        old = outer
    body = tree.edited({old.block: new}, target.block)
    return {target.block: body.replace(alloc_buffers=(*target.block.alloc_buffers, buffer))}


def _accessing(block: Any, buffer: Buffer) -> Any:
    """A block that declares its accesses of `buffer`; all of it, if they are not known."""
    try:
        reads, writes = infer_block_regions(block)
    except DiagnosticError:
        everything = tuple(
            Range.from_min_extent(const(0, extent.dtype), extent) for extent in buffer.shape
        )
        reads = writes = (BufferRegion(buffer, everything),)
    return block.replace(
        reads=(*block.reads, *(region for region in reads if region.buffer is buffer)),
        writes=(*block.writes, *(region for region in writes if region.buffer is buffer)),
    )
