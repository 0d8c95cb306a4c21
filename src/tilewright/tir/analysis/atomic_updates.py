"""Blocks that may update the same element at the same time, as an annotation says::

    sch.annotate("C_update", "atomic", 1)

Each of their updates becomes one `atomic_add`. So blocks of threads, and threads of a CPU, share a
sum without waiting for each other. Floats are rounded in the order in which they come.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.ir.expr import Add, Expr
from tilewright.tir.analysis.reduction import match_reduction
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.op.memory import ATOMIC_DTYPES
from tilewright.tir.stmt import Block

ATOMIC: Final = "atomic"
"""The annotation of a block."""


class AtomicUpdate(NamedTuple):
    """What an instance of a block adds.

    Attributes:
        target: the element.
        value: what is added to it.
        condition: when; None for always.
    """

    target: BufferLoad
    value: Expr
    condition: Expr | None


def is_atomic(stmt: object) -> bool:
    """Whether a statement is a block whose updates may happen at the same time."""
    return isinstance(stmt, Block) and bool(stmt.annotations.get(ATOMIC, False))


def atomic_update(block: Block) -> AtomicUpdate | str:
    """What an annotated block adds; why it cannot, if it does something else."""
    if block.init is not None:
        return "it initialises elements, too; use decompose_reduction first"
    found = match_reduction(block)
    if found is None or len(found.targets) != 1:
        return "it does not add to an element, as in C[i] = C[i] + A[i, k]"
    (result,) = found.combiner.result
    operands = {found.combiner.lhs[0], found.combiner.rhs[0]}
    if not isinstance(result, Add) or {result.a, result.b} != operands:
        return "it does not add to an element, as in C[i] = C[i] + A[i, k]"
    (target,), (value,) = found.targets, found.values
    if str(target.dtype) not in ATOMIC_DTYPES:
        return f"elements are {', '.join(ATOMIC_DTYPES)}, not {target.dtype}"
    return AtomicUpdate(target, value, found.condition)
