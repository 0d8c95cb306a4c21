"""Staging a buffer in a loop, and moving its allocation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import DiagnosticError
from tilewright.ir.convert import const
from tilewright.ir.expr import Var
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import Buffer, BufferRegion, Range
from tilewright.tir.schedule.buffer_reference import known_storage_scope
from tilewright.tir.schedule.edits.caches import cache_of, copy_nest, redirect_blocks
from tilewright.tir.schedule.edits.stage import require_in_blocks, require_no_view, with_stage
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.coverage import accessed_box, writes_all
from tilewright.tir.schedule.proofs.domains import initialises_what_it_updates
from tilewright.tir.schedule.proofs.images import box_of_ranges
from tilewright.tir.schedule.proofs.legality import carried_afterwards
from tilewright.tir.schedule.proofs.regions import accesses, clipped, covers, hull, whole
from tilewright.tir.schedule.proofs.scope import (
    Scope,
    buffers_read,
    buffers_written,
    child_scope,
    is_intermediate,
)
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For, ForKind, Stmt
from tilewright.tir.substitute import variables_of


@primitive
def stage_mem(tree: FunctionTree, loop: For, buffer: Any, storage_scope: str = "global") -> Edit:
    """Let each iteration of a loop work on a copy of the part of a buffer that it accesses.

    The part is copied at the start of the iteration, and back at its end if it is written. The
    new buffer is allocated outside of the loop; lowering moves the allocation in as far as no
    iteration needs what another one left there, and makes it as small as the part. To fill the
    copy once and use it in later iterations, `add_guard` to the block that copies.

    Before::

        for i, j, k in T.grid(4, 32, 64):
            with T.block("C"):
                ... A[vi, vk] * B[vk, vj] ...

    After ``stage_mem(i, "A")``::

        for i in range(4):
            for ax0, ax1 in T.grid(1, 64):
                with T.block("A_global"):
                    A_global[v0, v1] = A[v0, v1]
            for j, k in T.grid(32, 64):
                with T.block("C"):
                    ... A_global[vi, vk] * B[vk, vj] ...

    Requires: accesses of the buffer are in blocks. For a buffer that the loop body writes: all
    elements of the part that is copied back have been written, or were copied in before and no
    other thread changes them.

    Args:
        loop: the loop.
        buffer: the name of a buffer that blocks inside of the loop access, or the buffer.
        storage_scope: where the copy lives.

    Returns:
        The blocks that copy: one, or for a buffer that is written those of the two (the copy in,
        if there is one, and the copy back) that are needed.

    Raises:
        ScheduleError: if no block inside of the loop accesses such a buffer, for a view, or if
            copying back would overwrite elements with something else.

    Example::

        sch = tir.Schedule(matmul)
        i, j, k = sch.get_loops("C")
        sch.stage_mem(i, "A")
    """
    storage_scope = known_storage_scope(storage_scope)
    scope = child_scope(tree, tree.scope(loop))
    inside = tree.blocks_below(loop)
    staged = _buffer(loop, inside, buffer)
    require_no_view(tree, scope, staged)
    analyzer = tree.analyzer_inside(loop)
    part = _Part(tree, loop, scope, staged, inside, analyzer)
    require_in_blocks(scope, staged, only_writes=not part.writers)
    cache = cache_of(staged, storage_scope)
    before: list[Stmt] = []
    after: list[Stmt] = []
    blocks: list[BlockRealize] = []
    if part.is_copied_in():
        nest, copy = copy_nest(cache.name, staged, cache, part.accessed)
        before.append(nest)
        blocks.append(copy)
    if part.writers:
        name = f"{cache.name}_back" if blocks else cache.name
        nest, copy = copy_nest(name, cache, staged, part.copied_back())
        after.append(nest)
        blocks.append(copy)
    users = [child for child in inside if child in {*part.readers, *part.writers}]
    return with_stage(
        tree, scope.realize, edits=redirect_blocks(users, staged, cache), place=loop.body,
        before=before, after=after, buffers=[cache], results=blocks,
    )  # fmt: skip


def _buffer(loop: For, inside: Sequence[BlockRealize], reference: Any) -> Buffer:
    """The buffer that a user means."""
    known: dict[Buffer, None] = {}
    for realize in inside:
        known.update(dict.fromkeys(buffers_read(realize.block) + buffers_written(realize.block)))
    found = [b for b in known if b is reference or b.name == reference]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"`{item.name}`" for item in known) or "nothing"
    raise ScheduleError(
        f"no one buffer {getattr(reference, 'name', reference)!r} is accessed inside of {{0}}",
        at=[loop],
        hint=f"blocks inside of it access {names}",
    )


class _Part:
    """The part of a buffer that one iteration accesses.

    Attributes:
        readers: the blocks that read it (and do not only update what they wrote).
        writers: the blocks that write it.
        accessed: what all of them access.
    """

    def __init__(
        self,
        tree: FunctionTree,
        loop: For,
        scope: Scope,
        buffer: Buffer,
        inside: Sequence[BlockRealize],
        analyzer: Analyzer,
    ) -> None:
        self.tree, self.loop, self.scope, self.buffer = tree, loop, scope, buffer
        self.analyzer = analyzer
        self.readers = [b for b in inside if buffer in set(buffers_read(b.block))]
        self.writers = [b for b in inside if buffer in set(buffers_written(b.block))]
        self.accessed = self._region([*accesses(self.readers, buffer, written=False),
                                      *accesses(self.writers, buffer, written=True)])  # fmt: skip

    def _region(self, found: Sequence[Any]) -> tuple[Range, ...]:
        boxes = [accessed_box(self.tree, access, self.loop, self.analyzer) for access in found]
        return clipped(self.buffer, hull(boxes, self.analyzer), self.analyzer)

    def is_copied_in(self) -> bool:
        """Whether elements may be read, or copied back, that the iteration did not write."""
        if not self.writers:
            return True
        if self._is_written_first():
            return False
        self._require_defined()
        return True

    def _is_written_first(self) -> bool:
        """Whether the first block to access the part writes all of it, and reads none."""
        first = next(b for b in self.tree.blocks_below(self.loop) if b in self._users())
        if first in set(self.readers) or first not in set(self.writers):
            return False
        if first.block.init is not None and not initialises_what_it_updates(self.tree, first):
            return False
        box = box_of_ranges(self.accessed)
        return writes_all(self.tree, first, self.buffer, self.loop, [box], self.analyzer)

    def _users(self) -> set[BlockRealize]:
        return {*self.readers, *self.writers}

    def _require_defined(self) -> None:
        """Refuse to copy in what nothing has written yet."""
        if not is_intermediate(self.tree, self.buffer):
            return
        order = self.scope.children
        first = min(order.index(user) for user in self._users())
        earlier = [w for w in self.scope.writers[self.buffer] if order.index(w) < first]
        analyzer = self.tree.analyzer_inside(self.scope.realize)
        everything = whole(self.buffer)
        filled = any(
            writes_all(self.tree, w, self.buffer, self.scope.realize, [everything], analyzer)
            for w in earlier
        )
        if not filled:
            raise ScheduleError(
                f"it is not proved that {{0}} writes all elements of `{self.buffer.name}` between "
                "the smallest and the largest index that one iteration of {1} accesses",
                at=[self.writers[0], self.loop],
            )

    def copied_back(self) -> tuple[Range, ...]:
        """What is copied back: all that may have been written."""
        region = self._region(accesses(self.writers, self.buffer, written=True))
        box = box_of_ranges(region)
        exact = any(
            writes_all(self.tree, writer, self.buffer, self.loop, [box], self.analyzer)
            for writer in self.writers
        )
        threads = [loop for loop in self._loops_around() if loop.kind is not ForKind.SERIAL]
        if not exact and threads and self.tree.checked:
            raise ScheduleError(
                f"copying `{self.buffer.name}` back would overwrite elements that an iteration of "
                "{0} does not write, and another iteration may",
                at=[threads[0]],
                afterwards=partial(carried_afterwards, threads[0]),
                hint="stage the memory first, and run the loop in parallel afterwards",
            )
        if not covers(self.buffer, box_of_ranges(self.accessed), box, self.analyzer):
            return self.accessed
        return region

    def _loops_around(self) -> list[For]:
        return [*self.tree.all_loops_above(self.loop), self.loop]


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

    Requires: no loop in between runs its iterations concurrently, since they would share the
    memory; the shape does not depend on iterators of the block.

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
