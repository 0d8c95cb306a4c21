"""Whether each instance of a block may run together with the one that computes its operand."""

from __future__ import annotations

from functools import partial

from tilewright.arith.interval import interval_of
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.schedule.edits.inlining import invert
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import (
    conflict,
    detached_instance,
    disturbance,
    idle_instance,
    unwritten_read,
)
from tilewright.tir.schedule.proofs.coverage import writes_all
from tilewright.tir.schedule.proofs.dataflow import find_flow, memory_read
from tilewright.tir.schedule.proofs.domains import runs_whole_domain
from tilewright.tir.schedule.proofs.regions import is_inside
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, BufferStore


def require_each_once(tree: FunctionTree, block: BlockRealize, store: BufferStore) -> None:
    """Refuse unless all instances run and none depends on another one."""
    if not runs_whole_domain(tree, block):
        raise ScheduleError(
            "the loops around {0} may not run all of its instances",
            at=[block],
            counterexample=partial(idle_instance, tree, block),
        )
    if invert(block.block, store.indices) is None or any(
        node.buffer.data is store.buffer.data and not _same_place(node, store)
        for node in walk(store)
        if isinstance(node, BufferLoad)
    ):
        raise ScheduleError(
            f"instances of {{0}} depend on each other: several access one element of "
            f"`{store.buffer.name}`",
            at=[block],
            counterexample=partial(conflict, tree, block, block, store.buffer),
        )


def require_all_read(
    tree: FunctionTree, producer: BlockRealize, block: BlockRealize, read: BufferLoad
) -> None:
    """Refuse if an instance would be lost that reads, under a condition, no element at all."""
    scope = tree.scope(block)
    analyzer = tree.analyzer_inside(scope)
    domains = {item.var: item.dom for item in block.block.iter_vars if item.dom is not None}
    box = tuple(interval_of(index, domains, analyzer) for index in read.indices)
    if not is_inside(read.buffer, box, analyzer) or not writes_all(
        tree, producer, read.buffer, scope, [box], analyzer
    ):
        raise ScheduleError(
            f"it is not proved that each instance of {{0}} reads an element of "
            f"`{read.buffer.name}` that {{1}} writes: the others would not run any more",
            at=[block, producer],
            counterexample=partial(detached_instance, tree, block, read.buffer, producer),
        )


def _same_place(load: BufferLoad, store: BufferStore) -> bool:
    return load.buffer is store.buffer and all(
        structural_equal(a, b) for a, b in zip(load.indices, store.indices, strict=True)
    )


def require_undisturbed(
    tree: FunctionTree, producer: BlockRealize, block: BlockRealize, buffer: Buffer
) -> None:
    """Refuse if the block would have another effect where its producer runs."""
    order = {item: position for position, item in enumerate(tree.blocks())}
    if order[block] < order[producer]:
        raise ScheduleError(
            f"{{1}} reads `{buffer.name}` before {{0}} writes it",
            at=[producer, block],
            counterexample=partial(unwritten_read, tree, block, buffer, [producer]),
        )
    flow = find_flow(tree, buffer, producer, block)
    if flow is None:
        raise ScheduleError(
            f"{{1}} may read elements of `{buffer.name}` that {{0}} does not write",
            at=[producer, block],
            counterexample=partial(unwritten_read, tree, block, buffer, [producer]),
        )
    for other in flow.between:
        if other is not block:
            _require_not_touched(tree, producer, block, other, buffer)


def _require_not_touched(
    tree: FunctionTree,
    producer: BlockRealize,
    block: BlockRealize,
    other: BlockRealize,
    buffer: Buffer,
) -> None:
    """Refuse if `other`, which runs in between, changes what the block uses or uses its result."""
    written = {item.data for item in buffers_written(block.block)}
    inputs = {item.data for item in buffers_read(block.block)} - {buffer.data}
    for item in buffers_written(other.block):
        if item.data in written or item.data in inputs:
            raise ScheduleError(
                f"{{2}} writes `{item.name}` and may run between {{0}} and {{1}}, which would come "
                "earlier",
                at=[producer, block, other],
                counterexample=partial(disturbance, tree, producer, other, block, buffer, item),
            )
    for item in memory_read(other):
        if item.data in written:
            raise ScheduleError(
                f"{{2}} reads `{item.name}` and may run between {{0}} and {{1}}, which would come "
                "earlier",
                at=[producer, block, other],
                counterexample=partial(disturbance, tree, producer, other, block, buffer, item),
            )
