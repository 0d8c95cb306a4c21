"""A circular buffer for what neighbouring iterations have in common."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.ir.expr import Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.buffer import Buffer, BufferRegion, MatchBufferRegion
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.buffer_reference import buffer_written, recorded_index
from tilewright.tir.schedule.contents import nodes_about
from tilewright.tir.schedule.edits.bindings import (
    bindings_of,
    bound_values,
    conjunction,
    mentioned,
    reads_memory,
)
from tilewright.tir.schedule.edits.stage import require_in_blocks, require_no_view, require_not_root
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.counterexamples import conflict, unwritten_read
from tilewright.tir.schedule.proofs.dataflow import flows_inside
from tilewright.tir.schedule.proofs.legality import carried_afterwards
from tilewright.tir.schedule.proofs.rolling import Rolled, Window, windows
from tilewright.tir.schedule.proofs.scope import Scope, scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, Stmt
from tilewright.tir.substitute import substitute, variables_of


@primitive
def rolling_buffer(tree: FunctionTree, block: BlockRealize, write_buffer_index: Any) -> Edit:
    """Keep what neighbouring iterations of a loop both need in a circular buffer.

    Before, after ``compute_at("B", i_0)``::

        B = T.alloc_buffer((10,))
        for i_0 in range(2):
            for ax0 in range(6):
                with T.block("B"):
                    vi = T.axis.spatial(10, i_0 * 4 + ax0)
                    B[vi] = A[vi] * T.float32(2)
            for i_1 in range(4):
                with T.block("C"):
                    vi = T.axis.spatial(8, i_0 * 4 + i_1)
                    C[vi] = B[vi] + B[vi + 1] + B[vi + 2]

    After ``rolling_buffer("B", 0)``::

        B = T.alloc_buffer((6,))
        for i_0 in range(2):
            for ax0 in range(6):
                with T.block("B"):
                    vi = T.axis.opaque(10, i_0 * 4 + ax0)
                    T.where(i_0 < 1 or 2 <= ax0)
                    B[vi % 6] = A[vi] * T.float32(2)
            for i_1 in range(4):
                with T.block("C"):
                    vi = T.axis.opaque(8, i_0 * 4 + i_1)
                    C[vi] = B[vi % 6] + B[(vi + 1) % 6] + B[(vi + 2) % 6]

    The buffer rolls along the dimension of the outermost loop whose iterations overlap. Overlaps
    along other dimensions are not computed again either.

    Requires: the block, and it alone, writes one element of the buffer, which is allocated in its
    scope; all readers of the buffer are in a loop around the block, after it, and read what the
    same iteration computes; what the block computes for an element depends on nothing that these
    loops change; and the loops along which windows overlap are serial.

    Args:
        block: the block that computes the buffer.
        write_buffer_index: the position of the buffer in what the block writes, its name, or
            itself.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(blur)
        i, _ = sch.get_loops("C")
        sch.compute_at("B", i)
        sch.rolling_buffer("B", 0)
    """
    require_not_root(tree, block)
    region = buffer_written(block, write_buffer_index)
    buffer = region.buffer
    scope = scope_of(tree, block)
    readers = _readers(scope, block, region)
    _require_only_elements(tree, scope, buffer)
    above = tree.loops_above(block)
    common = [loop for loop in above if all(tree.is_above(loop, r) for r in readers)]
    found = _windows(tree, block, region, common, above[len(common) :])
    if tree.checked:
        _require_same_value(tree, block, found[0].loop, common)
        _require_one_at_a_time(block, region, common, found)
        for reader in readers:
            if not flows_inside(tree, buffer, block, reader, common[-1]):
                raise ScheduleError(
                    "{0} may read elements of {1} that {2} does not compute before in the same "
                    "iteration of {3}",
                    at=[reader, region, block, common[-1]],
                    counterexample=partial(
                        unwritten_read, tree, reader, buffer, [block], common[-1]
                    ),
                )
    edit = _rolled(tree, scope, block, region, readers, found)
    return edit._replace(recorded=recorded_index("write_buffer_index", block, region))


def _readers(scope: Scope, realize: BlockRealize, region: BufferRegion) -> list[BlockRealize]:
    """The blocks that read the buffer, which nothing else may use."""
    buffer = region.buffer
    if len(realize.block.writes) != 1:
        raise ScheduleError("{0} writes more than one buffer", at=[realize])
    if not any(allocated is buffer for allocated in scope.realize.block.alloc_buffers):
        raise ScheduleError("{0} is not allocated in the scope of {1}", at=[region, realize])
    if any(not is_const_int(item.extent, 1) for item in region.region):
        raise ScheduleError("{0} writes more than one element of {1}", at=[realize, region])
    others = [writer for writer in scope.writers[buffer] if writer is not realize]
    if others:
        raise ScheduleError("{0} writes {1} as well", at=[others[0], region])
    readers = [reader for reader in scope.readers.get(buffer, ()) if reader is not realize]
    if not readers:
        raise ScheduleError("no block reads {0}", at=[region])
    return readers


def _require_only_elements(tree: FunctionTree, scope: Scope, buffer: Buffer) -> None:
    """Refuse uses of the buffer other than of its elements in blocks."""
    require_no_view(tree, scope, buffer)
    require_in_blocks(scope, buffer, only_writes=False)
    for node in nodes_about(scope.realize.block.body, buffer):
        if node is buffer.data or (
            isinstance(node, MatchBufferRegion) and node.source.buffer is buffer
        ):
            raise ScheduleError(
                f"{{0}} uses the memory of `{buffer.name}` by a pointer or a view",
                at=[scope.realize],
            )


def _windows(
    tree: FunctionTree,
    realize: BlockRealize,
    region: BufferRegion,
    common: list[For],
    inner: list[For],
) -> list[Window]:
    """The windows that overlap; there is at least one."""
    analyzer = tree.analyzer(realize)
    values = bindings_of(realize)
    indices = tuple(substitute(item.min, values) for item in region.region)
    found = windows(realize, indices, common, inner, analyzer)
    if not found:
        raise ScheduleError(
            "no loop around {0} and all that read {1} moves a window that overlaps with that of "
            "the iteration before",
            at=[realize, region],
            hint="compute the block at a loop of its consumer first",
        )
    if analyzer.can_prove(region.buffer.shape[found[0].axis] <= found[0].extent):
        raise ScheduleError("{0} is not larger than what one iteration needs", at=[region])
    return found


def _require_same_value(
    tree: FunctionTree, realize: BlockRealize, loop: For, common: list[For]
) -> None:
    """Refuse a block that may compute another value for the same element later in `loop`."""
    if block_kind(realize.block) is BlockKind.OTHER:
        raise ScheduleError(
            "{0} does not compute each element from other buffers alone",
            at=[realize],
            hint="roll the buffer of the last stage first, and before decompose_reduction",
        )
    reducing = mentioned(bound_values(realize, reduction=True))
    for item in common:
        if item.loop_var in reducing:
            raise ScheduleError("{0} carries a part of the reduction of {1}", at=[item, realize])
    if reads_memory(*realize.iter_values, realize.predicate):
        raise ScheduleError("a binding or the predicate of {0} reads memory", at=[realize])
    read = {region.buffer.data for region in realize.block.reads}
    for other in tree.blocks_below(loop):
        for region in other.block.writes:
            if other is not realize and region.buffer.data in read:
                _require_same_input(tree, realize, other, region, loop)


def _require_same_input(
    tree: FunctionTree, realize: BlockRealize, other: BlockRealize, region: BufferRegion, loop: For
) -> None:
    """Refuse an input, written in `loop`, whose elements may not always have the same values."""
    shared = [x for x in tree.loops_above(realize) if tree.is_above(x, other)]
    if not scope_of(tree, realize).is_only_writer(other, region.buffer) or not flows_inside(
        tree, region.buffer, other, realize, shared[-1]
    ):
        raise ScheduleError(
            "{0} changes {1}, which {2} reads, inside of {3}",
            at=[other, region, realize, loop],
            counterexample=partial(conflict, tree, realize, other, region.buffer),
        )
    _require_same_value(tree, other, loop, shared)


def _require_one_at_a_time(
    realize: BlockRealize, region: BufferRegion, common: list[For], found: list[Window]
) -> None:
    """Refuse iterations that run at the same time and share elements of the smaller buffer."""
    moving = {window.loop for window in found}
    values = bindings_of(realize)
    indices = [
        substitute(item.min, values)
        for axis, item in enumerate(region.region)
        if axis != found[0].axis
    ]
    apart = {index for index in indices if isinstance(index, Var)}
    for loop in common:
        shared = loop in moving or loop.loop_var not in apart
        if not loop.kind.is_in_order and shared:
            raise ScheduleError(
                "{0} must be serial: its iterations share elements of {1}",
                at=[loop, region],
                afterwards=partial(carried_afterwards, loop),
            )


def _rolled(
    tree: FunctionTree,
    scope: Scope,
    realize: BlockRealize,
    region: BufferRegion,
    readers: list[BlockRealize],
    found: list[Window],
) -> Edit:
    """The program with the smaller buffer."""
    predicate = conjunction(realize.predicate, *(window.is_new for window in found))
    rolled = Rolled(region.buffer, found[0])
    edits: dict[Stmt, Stmt | None] = {
        realize: realize.replace(
            predicate=predicate, block=_ordered(realize.block, region.buffer, found[0])
        )
    }
    for reader in readers:
        edits[reader.block] = _ordered(reader.block, region.buffer, found[0])
    body = rolled(tree.edited(edits, scope.realize.block.body))
    buffers = tuple(map(rolled.buffer, scope.realize.block.alloc_buffers))
    block = scope.realize.block
    return tree.edit({block: block.replace(body=body, alloc_buffers=buffers)})


def _ordered(block: Block, buffer: Buffer, window: Window) -> Block:
    """The block with the iterators that run along the window marked: their order matters now."""
    along: set[Var] = set()
    for node in walk(block):
        if isinstance(node, BufferRegion) and node.buffer is buffer:
            along.update(variables_of(node.region[window.axis].min))
    return block.replace(
        iter_vars=tuple(
            item.replace(iter_type=IterType.OPAQUE)
            if item.var in along and item.iter_type is IterType.DATA_PAR
            else item
            for item in block.iter_vars
        )
    )
