"""Which producers are computed where they are read, instead of in loops of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.ir.dtype import FLOAT32
from tilewright.ir.expr import Add, Call, Cast, Expr, Max, Min, Mul, Select, Sub
from tilewright.ir.node import Node
from tilewright.ir.op import Op
from tilewright.ir.rewrite import count_nodes, walk
from tilewright.schedule_rules.accesses import BlockAccesses, accesses_of
from tilewright.schedule_rules.alignment import is_elementwise
from tilewright.schedule_rules.choices import is_choice
from tilewright.schedule_rules.nest import attempt, block_of, is_complete
from tilewright.schedule_rules.operands import find_contraction
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.numerics import KERNELS
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.stmt import Block, BufferStore

LONG: Final = frozenset(Op.get(f"tir.{name}") for name in KERNELS)
"""Operators that are long chains of arithmetic. One that needs another one is not computed in the
same loop: a processor would wait there, and does not see the next vectors soon enough."""

LARGEST_VALUE: Final = 256
"""Maximum number of nodes of a value after inlining. Larger ones need more registers than there
are, and a chain of thousands of producers would be copied from each to the next."""

CONDITIONAL: Final = ("tir.if_then_else", "tir.likely")
CHEAP: Final = (Add, Sub, Mul, Min, Max, Cast, Select)


def inline_producers(sch: Schedule, blocks: Sequence[BlockRV]) -> tuple[Schedule, list[BlockRV]]:
    """Inline the producers for which that pays.

    Args:
        blocks: all blocks of a function, in order.

    Returns:
        The schedule, and the blocks that are left.
    """
    left = []
    for block in blocks:
        without = inlined(sch, block)
        if without is None:
            left.append(block)
        else:
            sch = without
    return sch, left


def inlined(sch: Schedule, block: BlockRV) -> Schedule | None:
    """The schedule with a producer inlined; None if that does not pay."""
    stmt = block_of(sch, block)
    body = stmt.body
    if not is_complete(sch, block) or not isinstance(body, BufferStore):
        return None
    if is_choice(stmt):
        return None  # it is short where it is unrolled, and nowhere else
    view = sch.copy()  # looking at it leaves no instructions in the trace
    consumers = [accesses_of(block_of(view, c)) for c in view.get_consumers(block)]
    if not consumers or not _pays(accesses_of(block_of(view, block)), body.value, consumers):
        return None
    if _ends_product(view, block):
        own = accesses_of(stmt)
        joins = len(view.get_producers(block)) > 1
        if any(is_long(c.block) or (joins and not is_elementwise(c, own)) for c in consumers):
            return None
    return attempt(sch, lambda s: s.compute_inline(block))


def is_long(block: Block) -> bool:
    """Whether a block has a long calculation.

    Its coefficients take so many registers that it is not computed in the loops of a product, whose
    tile needs all of them: compilers keep coefficients in registers around all loops.
    """
    return _calls_in_a_row(block.body) > 0


def bytes_of_long(block: Block) -> int:
    """Bytes of an element in the widest long calculation of a block, 0 if there is none.

    Half precision is computed in single precision.
    """
    calls = (node for node in walk(block.body) if isinstance(node, Call) and node.op in LONG)
    return max((max(call.dtype.itemsize, FLOAT32.itemsize) for call in calls), default=0)


def _ends_product(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block reads a sum of products, so that it may be computed for each tile."""
    return any(
        find_contraction(accesses_of(block_of(sch, producer))) is not None
        for producer in sch.get_producers(block)
    )


def _pays(producer: BlockAccesses, value: Expr, consumers: Sequence[BlockAccesses]) -> bool:
    """Whether reading the result takes longer than computing it again."""
    if any(find_contraction(c) is not None for c in consumers):
        return _is_same_element(producer, value)
    if is_conditional(value) and any(consumer.reduction for consumer in consumers):
        return False
    size = count_nodes(value, LARGEST_VALUE)
    sizes = (size + count_nodes(consumer.block.body, LARGEST_VALUE) for consumer in consumers)
    if any(total > LARGEST_VALUE for total in sizes):
        return False
    if _is_copy(producer, value):
        return True
    buffer = producer.stores[0].buffer
    if _calls_in_a_row(value) and any(_is_called_on(c.block, buffer) for c in consumers):
        return False
    times = sum(_times_read(consumer, producer, buffer) for consumer in consumers)
    return times <= (2 if _is_cheap(producer, value) else 1)


def _calls_in_a_row(value: Node) -> int:
    """How many long calculations wait for each other."""
    inside = max(map(_calls_in_a_row, value.children()), default=0)
    return inside + (isinstance(value, Call) and value.op in LONG)


def _is_called_on(consumer: Block, buffer: object) -> bool:
    """Whether a long calculation of a block waits for elements of `buffer`."""
    return any(
        isinstance(load, BufferLoad) and load.buffer is buffer
        for node in walk(consumer.body)
        if isinstance(node, Call) and node.op in LONG
        for load in walk(node)
    )


def _times_read(consumer: BlockAccesses, producer: BlockAccesses, buffer: object) -> float:
    """How often each element is read, on average."""
    places = sum(load.buffer is buffer for load in consumer.loads)
    return places * consumer.count(consumer.extents) / max(1, producer.count(producer.spatial))


def _is_same_element(producer: BlockAccesses, value: Expr) -> bool:
    """Whether the value is an element of another buffer at the same place, perhaps converted."""
    while isinstance(value, Cast):
        value = value.value
    store = producer.stores[0]
    return (
        isinstance(value, BufferLoad)
        and len(value.indices) == len(store.indices)
        and all(a is b for a, b in zip(value.indices, store.indices, strict=True))
    )


def _is_copy(producer: BlockAccesses, value: Expr) -> bool:
    """Whether a producer copies elements that are as near to each other as their copies."""
    if not isinstance(value, BufferLoad) or len(producer.loads) != 1:
        return False
    (store,), (load,) = producer.stores, producer.loads
    inner = [var for var in producer.spatial if store.stride(var) == 1]
    return all(load.stride(var) in (0, 1) for var in inner)


def is_conditional(value: Node) -> bool:
    """Whether some of what is mentioned is computed under a condition only."""
    return any(
        isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in CONDITIONAL
        for node in walk(value)
    )


def _is_cheap(producer: BlockAccesses, value: Expr) -> bool:
    """Whether the value takes a few additions and one load to compute."""
    return len(producer.loads) <= 1 and not any(
        isinstance(node, Call) or (isinstance(node, Expr) and _is_costly(node))
        for node in walk(value)
    )


def _is_costly(node: Expr) -> bool:
    return hasattr(node, "a") and not isinstance(node, CHEAP)
