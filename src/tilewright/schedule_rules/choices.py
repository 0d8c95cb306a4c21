"""Blocks in which each value of an iterator has a formula of its own."""

from __future__ import annotations

from tilewright.ir.expr import EQ, IntImm, Select
from tilewright.tir.stmt import Block, BufferStore


def is_choice(block: Block) -> bool:
    """Whether a formula is chosen by the value of an iterator, as for a row of a constant matrix.

    Where that is unrolled, only one formula is left of each copy.
    """
    value = block.body.value if isinstance(block.body, BufferStore) else None
    if not isinstance(value, Select) or not isinstance(value.condition, EQ):
        return False
    iterators = [item.var for item in block.iter_vars]
    condition = value.condition
    return isinstance(condition.b, IntImm) and any(condition.a is var for var in iterators)
