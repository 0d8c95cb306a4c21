"""Counterexamples of requirements that are decided by regions: looked for when they are shown.

Each function is one of `ScheduleError(counterexample=...)` or `ScheduleError(afterwards=...)`, with
its arguments bound by `functools.partial`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.ir.expr import Expr, Var
from tilewright.tir.analysis.dependence import (
    Violation,
    analyze,
    carried_by,
    collisions,
    witnesses,
)
from tilewright.tir.analysis.dependence.violation import Answer
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.expr import IterVar
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize, For

Found = Violation | None


def _if_found(answer: Answer) -> Found:
    return answer if isinstance(answer, Violation) else None


# --- in the program before ----------------------------------------------------------------------


def unwritten_read(
    tree: FunctionTree,
    reader: BlockRealize,
    buffer: Buffer,
    writers: Sequence[BlockRealize],
    within: For | None = None,
) -> Found:
    """An element that a block reads and that none of `writers` has written before.

    With `within`, a loop around all of them: in the same iteration of it.
    """
    same = 0 if within is None else len(tree.all_loops_above(within)) + 1
    blocks = [writer.block for writer in writers]
    return _if_found(
        witnesses.find_unwritten_read(analyze(tree.func), reader.block, buffer, blocks, same)
    )


def read_too_early(
    tree: FunctionTree, reader: BlockRealize, buffer: Buffer, writer: BlockRealize
) -> Found:
    """An element that a block reads before `writer` has written it, or reduced all into it."""
    found = unwritten_read(tree, reader, buffer, [writer])
    if found is None and writer.block.init is not None:
        return conflict(tree, reader, writer, buffer)
    return found


def overwritten_input(
    tree: FunctionTree,
    producer: BlockRealize,
    other: BlockRealize,
    consumer: BlockRealize,
    buffer: Buffer,
    changed: Buffer,
) -> Found:
    """What `producer` reads and `other` overwrites before `consumer` reads its result `buffer`."""
    blocks = producer.block, other.block, consumer.block
    program = analyze(tree.func)
    return _if_found(witnesses.find_overwritten_input(program, blocks, buffer, changed.data))


def disturbance(
    tree: FunctionTree,
    producer: BlockRealize,
    other: BlockRealize,
    consumer: BlockRealize,
    buffer: Buffer,
    accessed: Buffer,
) -> Found:
    """What `other` accesses after `producer` has written `buffer`, and before `consumer` does."""
    blocks = producer.block, other.block, consumer.block
    program = analyze(tree.func)
    return _if_found(witnesses.find_disturbance(program, blocks, buffer, accessed.data))


def conflict(
    tree: FunctionTree,
    first: BlockRealize,
    second: BlockRealize,
    buffer: Buffer,
    *,
    ordered: bool = True,
) -> Found:
    """An element that two blocks access and one writes; in that order if `ordered`."""
    found = witnesses.find_conflict(
        analyze(tree.func), first.block, second.block, buffer.data, ordered=ordered
    )
    return _if_found(found)


def self_conflict(tree: FunctionTree, block: BlockRealize) -> Found:
    """An element that two instances of a block access and one of them writes."""
    for buffer in buffers_written(block.block):
        found = conflict(tree, block, block, buffer)
        if found is not None:
            return found
    return None


def flow(tree: FunctionTree, writer: BlockRealize, reader: BlockRealize) -> Found:
    """An element that a block writes and another one reads later."""
    read = set(buffers_read(reader.block))
    for buffer in buffers_written(writer.block):
        found = conflict(tree, writer, reader, buffer) if buffer in read else None
        if found is not None:
            return found
    return None


def carried(tree: FunctionTree, loop: For) -> Found:
    """Two iterations of a loop, of which one depends on the other one."""
    return _if_found(carried_by(analyze(tree.func), loop))


def collision(iterators: Sequence[IterVar] | Mapping[Var, Range], indices: Sequence[Expr]) -> Found:
    """Values of iterators for which all indices are the same."""
    return _if_found(collisions.find_collision(_domains(iterators), indices))


def _domains(iterators: Sequence[IterVar] | Mapping[Var, Range]) -> list[tuple[Var, Range]]:
    if isinstance(iterators, Mapping):
        return list(iterators.items())
    return [(item.var, item.dom) for item in iterators if item.dom is not None]


def no_inverse(
    iterators: Mapping[Var, Range], forward: Sequence[Expr], again: Sequence[Expr]
) -> Found:
    """Values of iterators that a map and its inverse do not lead back to."""
    return _if_found(collisions.find_difference(list(iterators.items()), forward, again))


def hole(iterators: Mapping[Var, Range], indices: Sequence[Expr], shape: Sequence[Expr]) -> Found:
    """A place in a shape that no values of iterators give."""
    return _if_found(collisions.find_hole(list(iterators.items()), indices, shape))


def negative(iterators: Sequence[IterVar] | Mapping[Var, Range], index: Expr) -> Found:
    """Values of iterators for which an index is negative."""
    return _if_found(collisions.find_negative(_domains(iterators), index))


def outside(iterators: Sequence[IterVar], region: Sequence[Range], buffer: Buffer) -> Found:
    """Values of iterators for which a region of a buffer sticks out of it."""
    return _if_found(collisions.find_outside(_domains(iterators), region, buffer))


def repetition(tree: FunctionTree, block: BlockRealize) -> Found:
    """Two iterations that run the same instance of a block."""
    return _if_found(collisions.find_repetition(analyze(tree.func), block.block))


def foreign_read(tree: FunctionTree, block: BlockRealize, buffer: Buffer) -> Found:
    """An element that one instance of a block reads and another one writes."""
    return _if_found(witnesses.find_foreign_read(analyze(tree.func), block.block, buffer))


def uninitialised(tree: FunctionTree, block: BlockRealize) -> Found:
    """An element that a reduction updates and does not initialise."""
    for buffer in buffers_written(block.block):
        found = unwritten_read(tree, block, buffer, [block])
        if found is not None:
            return found
    return None


def late_init(tree: FunctionTree, block: BlockRealize) -> Found:
    """An element that a reduction updates before it initialises the element."""
    return _if_found(witnesses.find_late_init(analyze(tree.func), block.block))


def idle_instance(tree: FunctionTree, block: BlockRealize) -> Found:
    """An instance that the loops around a block do not run."""
    return _if_found(collisions.find_idle_instance(analyze(tree.func), block.block))


def detached_instance(
    tree: FunctionTree, reader: BlockRealize, buffer: Buffer, writer: BlockRealize
) -> Found:
    """An instance of `reader` that reads nothing of `buffer` that `writer` writes."""
    found = collisions.find_detached_instance(
        analyze(tree.func), reader.block, buffer, writer.block
    )
    return _if_found(found)


# --- in the program after -----------------------------------------------------------------------


def missing_afterwards(
    after: FunctionTree,
    reader: BlockRealize,
    buffer: Buffer,
    writers: Sequence[BlockRealize],
    within: For | None = None,
) -> Found:
    """`unwritten_read` in the program after."""
    found = unwritten_read(after, reader, buffer, writers, within)
    if found is None:
        return None
    return Violation(found.kind, lambda: found.example, lambda _: f"afterwards, {found}")


def read_before_copied(before: FunctionTree, after: FunctionTree) -> Found:
    """An element of a new buffer that is read before, or without that, it is written."""
    old = {buffer for realize in before.blocks() for buffer in realize.block.alloc_buffers}
    blocks = [r for r in after.blocks() if not after.blocks_below(r)]
    for realize in after.blocks():
        for buffer in realize.block.alloc_buffers:
            if buffer in old:
                continue
            writers = [b for b in blocks if buffer in buffers_written(b.block)]
            for reader in blocks:
                if buffer in buffers_read(reader.block):
                    found = missing_afterwards(after, reader, buffer, writers)
                    if found is not None:
                        return found
    return None
