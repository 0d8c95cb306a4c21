"""What the primitives that add a buffer and a block which copies to or from it have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.schedule.contents import contents, memory_in
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import unwritten_read
from tilewright.tir.schedule.proofs.domains import initialises_what_it_updates
from tilewright.tir.schedule.proofs.regions import region_of_block
from tilewright.tir.schedule.proofs.scope import Scope, scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    Stmt,
    seq,
)
from tilewright.tir.transform.building.allocations import BUFFER_DIM_ALIGN


def require_no_view(tree: FunctionTree, scope: Scope, buffer: Buffer) -> None:
    """Refuse a buffer that shares its memory with another one that is used in the scope."""
    for above in (scope.realize, *tree.ancestors(scope.realize)):
        if isinstance(above, BlockRealize):
            for match in above.block.match_buffers:
                if match.buffer is buffer:
                    raise ScheduleError(
                        f"`{buffer.name}` is a view of `{match.source.buffer.name}` that {{0}} "
                        "makes by match_buffer",
                        at=[above],
                        hint=f"cache `{match.source.buffer.name}` in the scope around that block",
                    )
    for other in (*scope.writers, *scope.readers):
        if other.data is buffer.data and other is not buffer:
            users = scope.writers.get(other) or scope.readers[other]
            raise ScheduleError(
                f"`{buffer.name}` shares its memory with `{other.name}`, which {{0}} uses",
                at=[users[0]],
            )


def require_no_alignment(blocks: Iterable[BlockRealize], buffer: Buffer) -> None:
    """Refuse a buffer with other dimensions in place of one whose dimensions blocks align."""
    for realize in blocks:
        if BUFFER_DIM_ALIGN in realize.block.annotations and any(
            region.buffer is buffer for region in realize.block.writes
        ):
            raise ScheduleError(
                f"{{0}} aligns dimensions of `{buffer.name}`, which would be others",
                at=[realize],
                hint="use storage_align afterwards",
            )


def require_in_blocks(scope: Scope, buffer: Buffer, *, only_writes: bool) -> None:
    """Refuse accesses of a buffer by what is outside of the blocks of a scope.

    Such as stores that are in no block, bounds of loops, branches, predicates and bindings.

    Args:
        only_writes: whether reads are allowed.
    """
    if next(_accesses_outside_of_blocks(scope, buffer, only_writes), None) is not None:
        raise _not_in_blocks(scope, buffer)


def stores_outside_of_blocks(tree: FunctionTree, scope: Scope, buffer: Buffer) -> list[Stmt]:
    """The statements of a scope that are in no block and may write a buffer, in order.

    Raises:
        ScheduleError: if something else, such as a `let`, uses the pointer of the buffer.
    """
    found = list(_accesses_outside_of_blocks(scope, buffer, only_writes=True))
    stores: list[Stmt] = [stmt for stmt in found if isinstance(stmt, (BufferStore, Evaluate))]
    if tree.checked and len(stores) < len(found):
        raise _not_in_blocks(scope, buffer)
    return stores


def _not_in_blocks(scope: Scope, buffer: Buffer) -> ScheduleError:
    return ScheduleError(
        f"{{0}} has accesses of `{buffer.name}` that are in no block inside of it",
        at=[scope.realize],
        hint="write them as blocks",
    )


def _accesses_outside_of_blocks(scope: Scope, buffer: Buffer, only_writes: bool) -> Iterator[Stmt]:
    body = scope.realize.block.body
    if buffer.data not in memory_in(body).outside:
        return
    for stmt in walk(body, skip=lambda node: isinstance(node, Block)):
        if not isinstance(stmt, Stmt) or isinstance(stmt, Block):
            continue
        for node in _own_nodes(stmt):
            used = getattr(node, "buffer", None)
            accessed = used is not None and used.data is buffer.data
            if node is buffer.data or (
                accessed and not (only_writes and isinstance(node, BufferLoad))
            ):
                yield stmt
                break


def _own_nodes(stmt: Stmt) -> Iterator[Node]:
    """The nodes of a statement, without those of the statements in it."""
    yield stmt
    for child in stmt.children():
        if not isinstance(child, Stmt):
            yield from walk(child)


def blocks_given(
    tree: FunctionTree, scope: Scope, blocks: Sequence[BlockRealize], buffer: Buffer
) -> list[BlockRealize]:
    """The consumers that a user chose, in the order of the text.

    Raises:
        ScheduleError: if one of them is in another scope or does not read the buffer.
    """
    readers = set(scope.readers.get(buffer, ()))
    for block in blocks:
        if block is tree.root or scope_of(tree, block) is not scope:
            raise ScheduleError("{0} is not in the same scope as the others", at=[block])
        if block not in readers:
            raise ScheduleError(f"{{0}} does not read `{buffer.name}`", at=[block])
    return [child for child in scope.children if child in set(blocks)]


def require_not_root(tree: FunctionTree, block: BlockRealize) -> None:
    """Refuse the root block, which is in no scope."""
    if block is tree.root:
        raise ScheduleError("{0} is the root block, which is in no scope", at=[block])


def require_no_blocks_inside(block: BlockRealize) -> None:
    """Refuse a block that contains other blocks, be it in its init."""
    if contents(block.block).has_blocks:
        inner = next(node for node in walk(block.block) if isinstance(node, BlockRealize))
        raise ScheduleError("{0} contains other blocks", at=[block, inner])


def require_own_values(tree: FunctionTree, block: BlockRealize, buffer: Buffer) -> None:
    """Refuse a block that reads elements which it has not written itself."""
    require_own_init(tree, block, buffer)
    if reads_values_of_others(tree, block, buffer):
        raise ScheduleError(
            f"{{0}} reads elements of `{buffer.name}` that it did not write, which the new buffer "
            "does not have",
            at=[block],
            counterexample=partial(unwritten_read, tree, block, buffer, [block]),
            hint="cache_inplace caches a buffer that a block reads and writes",
        )


def require_own_init(tree: FunctionTree, block: BlockRealize, buffer: Buffer) -> None:
    """Refuse a block with an init that leaves some of what it updates to others."""
    has_init = block.block.init is not None
    if tree.checked and has_init and not initialises_what_it_updates(tree, block):
        raise ScheduleError(
            f"it is not proved that {{0}} initialises all elements of `{buffer.name}` that it "
            "updates: the new buffer does not have what others initialised",
            at=[block],
            counterexample=partial(unwritten_read, tree, block, buffer, [block]),
            hint="cache_inplace caches a buffer that a block reads and writes",
        )


def reads_values_of_others(tree: FunctionTree, block: BlockRealize, buffer: Buffer) -> bool:
    """Whether a block says that it reads elements which it does not initialise itself."""
    read = region_of_block(block.block, buffer, written=False)
    if read is None:
        return False
    written = region_of_block(block.block, buffer, written=True)
    assert written is not None
    analyzer = tree.analyzer(block.block.body)
    return block.block.init is None or not all(
        analyzer.can_prove_equal(a.min, b.min) and analyzer.can_prove_equal(a.extent, b.extent)
        for a, b in zip(read.region, written.region, strict=True)
    )


def require_around(tree: FunctionTree, loop: For, block: BlockRealize) -> None:
    """Refuse a loop that is not around the block in its scope."""
    require_not_root(tree, block)
    if loop not in tree.loops_above(block):
        raise ScheduleError("{0} is not around {1} in its scope", at=[loop, block])


def with_stage(
    tree: FunctionTree,
    scope: BlockRealize,
    *,
    edits: Mapping[Stmt, Stmt | None],
    place: Stmt,
    before: Iterable[Stmt] = (),
    after: Iterable[Stmt] = (),
    buffers: Iterable[Buffer],
    results: object,
) -> Edit:
    """The program with edits, and with new statements and buffers.

    Args:
        scope: the block that gets the new buffers.
        edits: see `FunctionTree.edit`.
        place: a statement in the scope.
        before: what is added in front of `place`.
        after: what is added behind `place`.
        buffers: the new buffers.
        results: what the primitive returns.
    """
    around = seq(before, tree.edited(edits, place), after)
    block = tree.edited({**edits, place: around}, scope.block)
    allocated = (*scope.block.alloc_buffers, *buffers)
    return tree.edit({scope.block: block.replace(alloc_buffers=allocated)}, results)
