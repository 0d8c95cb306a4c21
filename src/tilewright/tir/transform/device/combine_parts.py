"""The threads of a block combine a value of each, in a tree over memory that they share::

    parts[t] = part
    if t < 1: parts[t] = parts[t] + parts[t + 4]        # of five threads
    if t < 2: parts[t] = parts[t] + parts[t + 2]
    if t < 1: parts[t] = parts[t] + parts[t + 1]

Afterwards the result is in ``parts[0]``. Each step reads elements that it does not write, so one
barrier between steps is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tilewright.ir.arithmetic import equal, less, logical_and
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, const_int_value, is_const_int
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import CommReducer
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import For, IfThenElse, Stmt, seq
from tilewright.tir.transform.building.combination import combination, stores
from tilewright.tir.transform.device.thread_axes import THREADS, tag_of


class Parts(NamedTuple):
    """The values that are combined.

    Attributes:
        combiner: the operator.
        own: the values of a thread, one for each component.
        shared: memory for those of all threads; the last dimension counts the threads.
        row: the other indices of a thread.
        loops: the loops over the threads.
        condition: which threads have values.
    """

    combiner: CommReducer
    own: Sequence[BufferLoad]
    shared: Sequence[Buffer]
    row: Sequence[Expr]
    loops: Sequence[For]
    condition: Expr

    @property
    def thread(self) -> Expr:
        """The number of a thread, neighbours along ``threadIdx.x`` next to each other."""
        number: Expr = const(0)
        for loop in sorted(self.loops, key=lambda loop: THREADS.index(tag_of(loop)), reverse=True):
            number = number * loop.extent + (loop.loop_var - loop.min)
        return as_expr(number)

    @property
    def threads(self) -> int:
        """How many threads there are."""
        return const_int_value(self.shared[0].shape[-1]) or 1

    def of(self, thread: Expr) -> list[BufferLoad]:
        """The values of a thread in shared memory."""
        return [BufferLoad(buffer, (*self.row, thread)) for buffer in self.shared]


def combined(
    parts: Parts,
    targets: Sequence[BufferLoad],
    initial: Sequence[Expr] | None,
    start: Sequence[Expr],
    predicate: Expr,
) -> Stmt:
    """The statements that combine parts and store the result.

    Args:
        parts: the parts.
        targets: where it is stored.
        initial: the initial values of the targets; None where they have values.
        start: what the parts started from.
        predicate: when it is stored.
    """
    thread = parts.thread
    filled = stores(parts.of(thread), parts.own)
    steps = [_where(parts.condition, filled)]
    for active, distance in steps_of_tree(parts.threads):
        values = combination(parts.combiner, parts.of(thread), parts.of(as_expr(thread + distance)))
        steps.append(_where(logical_and(parts.condition, less(thread, active)), values))
    results = parts.of(const(0))
    if initial is None:
        last = combination(parts.combiner, targets, results)
    elif all(map(structural_equal, initial, start)):
        last = stores(targets, results)
    else:
        last = seq(stores(targets, initial), combination(parts.combiner, targets, results))
    if owner_of(targets[0].buffer.scope()) is not MemoryOwner.THREAD:
        for loop in parts.loops:
            predicate = logical_and(predicate, equal(loop.loop_var, loop.min))
    return seq(*steps, _where(predicate, last))


def steps_of_tree(count: int) -> Iterator[tuple[int, int]]:
    """How many threads combine their value with that of the thread how far away, step by step."""
    distance = 1 << (count - 1).bit_length()
    while distance > 1:
        distance //= 2
        yield min(distance, count - distance), distance
        count = min(count, distance)


def _where(condition: Expr, stmt: Stmt) -> Stmt:
    return stmt if is_const_int(condition, 1) else IfThenElse(condition, stmt)
