"""Operands of a narrower type than the sums, such as float16: they are converted before the loops
that multiply them, where each element would be converted again and again."""

from __future__ import annotations

from contextlib import suppress

from tilewright.ir.dtype import DType
from tilewright.schedule_rules.accesses import StridedAccess
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.nest import DoesNotFitError, block_of, is_complete, loops_around
from tilewright.schedule_rules.operands import function_of
from tilewright.schedule_rules.structures import apply_rule
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.transform.machine import Machine


def convert_producer(sch: Schedule, block: BlockRV, load: StridedAccess, dtype: DType) -> bool:
    """Let the block that computes an operand for a block alone store it in another type.

    Returns:
        Whether there is such a block.
    """
    producer = _own_producer(sch, block, load)
    if producer is not None:
        sch.unsafe_set_dtype(producer, load.buffer.name, dtype)
    return producer is not None


def convert_copy(
    sch: Schedule,
    block: BlockRV,
    load: StridedAccess,
    dtype: DType,
    machine: Machine,
    place: LoopRV | None = None,
) -> None:
    """Let a block read a copy of an operand in another type.

    Args:
        place: the loop in each iteration of which what it needs is copied; None for all at once.
    """
    copy = sch.cache_read(block, load.buffer.name, "global", [block])
    sch.unsafe_set_dtype(copy, 0, dtype)
    if place is not None:
        sch.compute_at(copy, place)
        around = loops_around(sch, copy, place)
    else:
        around = len(sch.get_loops(copy)) - len(load.indices)
    with suppress(DoesNotFitError):
        apply_rule(vectorize_elements, sch, copy, machine, around)


def _own_producer(sch: Schedule, block: BlockRV, load: StridedAccess) -> BlockRV | None:
    """The block that computes each element of an operand, for one other block alone."""
    func = function_of(sch)
    if func is None or load.buffer in func.buffer_map.values():
        return None
    view = sch.copy()  # looking at it leaves no instructions in the trace
    writes = [
        any(part.buffer is load.buffer for part in block_of(view, producer).writes)
        for producer in view.get_producers(block)
    ]
    if writes.count(True) != 1:
        return None
    position = writes.index(True)
    producer = view.get_producers(block)[position]
    if not is_complete(view, producer) or len(view.get_consumers(producer)) != 1:
        return None
    return sch.get_producers(block)[position]
