"""Whether a producer may be computed at another place, perhaps several times."""

from __future__ import annotations

from functools import partial

from tilewright.tir.analysis.block_kind import BlockKind, classify_block
from tilewright.tir.analysis.dependence import Violation, analyze, check_order, check_written
from tilewright.tir.analysis.reduction import match_reduction
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import (
    conflict,
    missing_afterwards,
    overwritten_input,
    read_too_early,
)
from tilewright.tir.schedule.proofs.dataflow import (
    find_flow,
    flows_inside,
    memory_read,
    require_only_blocks,
)
from tilewright.tir.schedule.proofs.legality import is_in_row_major_order, starts_first
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written, is_intermediate
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For


def require_same_values(tree: FunctionTree, edit: Edit, block: BlockRealize, loop: For) -> None:
    """Refuse a move of a producer under a loop after which something has another value.

    First by the rule for producers that may run again: they are computed where they are read, from
    inputs that have not changed. Else each instance must still run once, in an order that respects
    all dependences.

    Args:
        tree: the program before.
        edit: the program after.
        block: the producer, in the program before.
        loop: the loop, in the program before.
    """
    if not tree.checked:
        return
    after = FunctionTree(tree.name, edit.func, tree.checked, tree)
    assert block.block.key is not None
    new_block, new_loop = after.block(block.block.key), after.loop(loop.loop_var)
    assert new_block is not None
    assert new_loop is not None
    try:
        _require_values_kept(tree, after, block, new_block, new_loop)
    except ScheduleError as error:
        found = check_order(analyze(tree.func), edit.func)
        if found is not None:
            if isinstance(found, Violation) and found.kind == "order":
                error = ScheduleError(
                    error.requirement,
                    at=error.at,
                    hint=error.hint,
                    counterexample=lambda: str(found),
                )
            raise error from None


def _require_values_kept(
    tree: FunctionTree,
    after: FunctionTree,
    block: BlockRealize,
    new_block: BlockRealize,
    loop: For,
) -> None:
    require_only_blocks(tree)
    kind = classify_block(block.block)
    if kind.kind is BlockKind.OTHER:
        raise ScheduleError(
            f"{{0}} must run exactly once, in the order that it has: {kind.reason}", at=[block]
        )
    _require_updates_in_order(tree, block)
    written = {buffer.data for buffer in buffers_written(block.block)}
    for leaf in _leaves(tree):
        if leaf is not block and any(b.data in written for b in buffers_written(leaf.block)):
            buffer = next(b for b in buffers_written(leaf.block) if b.data in written)
            raise ScheduleError(
                "{1} writes what {0} writes, too: moving {0} may change which of them is last",
                at=[block, leaf],
                counterexample=partial(conflict, tree, block, leaf, buffer, ordered=False),
            )
        for buffer in memory_read(leaf):
            if buffer.data in written and leaf is not block:
                _require_read_in_time(tree, after, block, new_block, loop, leaf, buffer)
    for buffer in buffers_written(block.block):
        if not is_intermediate(tree, buffer):
            _require_still_written(tree, after, block, buffer)


def _require_updates_in_order(tree: FunctionTree, block: BlockRealize) -> None:
    """Refuse a reduction for which it matters that the new loops are in the order of iterators."""
    if is_in_row_major_order(tree, block):
        return
    found = match_reduction(block.block)
    if found is not None and found.is_order_free and starts_first(tree, block):
        return
    raise ScheduleError(
        "{0} updates elements in another order than its new loops would",
        at=[block],
        hint="" if found is None else found.order_hint,
    )


def _leaves(tree: FunctionTree) -> list[BlockRealize]:
    return tree.leaf_blocks_below(tree.root)


def _require_read_in_time(
    tree: FunctionTree,
    after: FunctionTree,
    block: BlockRealize,
    new_block: BlockRealize,
    loop: For,
    reader: BlockRealize,
    buffer: Buffer,
) -> None:
    """Refuse a reader that would not find the value that it found before."""
    assert reader.block.key is not None
    new_reader = after.block(reader.block.key)
    assert new_reader is not None
    if not after.is_above(loop, new_reader):
        raise ScheduleError(
            f"{{1}} reads `{buffer.name}` outside of {{2}}",
            at=[block, reader, loop],
            counterexample=partial(missing_afterwards, after, new_reader, buffer, [new_block]),
        )
    if not flows_inside(after, buffer, new_block, new_reader, loop):
        raise ScheduleError(
            f"{{1}} may read elements of `{buffer.name}` that {{0}} would not compute in the same "
            "iteration of {2}",
            at=[block, reader, loop],
            counterexample=partial(
                missing_afterwards, after, new_reader, buffer, [new_block], loop
            ),
        )
    flow = find_flow(tree, buffer, block, reader)
    if flow is None:
        raise ScheduleError(
            f"{{1}} may read elements of `{buffer.name}` that {{0}} does not write before",
            at=[block, reader],
            counterexample=partial(read_too_early, tree, reader, buffer, block),
        )
    inputs = {read.data for read in buffers_read(block.block)} - {buffer.data}
    for other in flow.between:
        for item in buffers_written(other.block):
            if item.data in inputs:
                raise ScheduleError(
                    f"{{1}} may overwrite `{item.name}`, which {{0}} reads, before {{0}} runs at "
                    "its new place",
                    at=[block, other],
                    counterexample=partial(
                        overwritten_input, tree, block, other, reader, buffer, item
                    ),
                )


def _require_still_written(
    tree: FunctionTree, after: FunctionTree, block: BlockRealize, buffer: Buffer
) -> None:
    inputs = {item.data for item in buffers_read(block.block)}
    assert block.block.key is not None
    new_block = after.block(block.block.key)
    assert new_block is not None
    loops = set(after.all_loops_above(new_block))
    for leaf in _leaves(after):
        changed = [item for item in buffers_written(leaf.block) if item.data in inputs]
        if changed and not loops.isdisjoint(after.all_loops_above(leaf)):
            raise ScheduleError(
                f"{{0}} may write an element of `{buffer.name}`, which is an output, again after "
                "{1} has changed its inputs",
                at=[block, leaf],
                counterexample=partial(
                    overwritten_input, after, new_block, leaf, new_block, buffer, changed[0]
                ),
            )
    found = check_written(analyze(tree.func), analyze(after.func), buffer)
    if found is not None:
        is_certain = isinstance(found, Violation)
        raise ScheduleError(
            f"{{0}} would not write all elements of `{buffer.name}`, which is an output"
            if is_certain
            else f"it is not known whether {{0}} would write all elements of `{buffer.name}`",
            at=[block],
            counterexample=(lambda: str(found)) if is_certain else None,
        )
