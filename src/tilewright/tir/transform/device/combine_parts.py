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
        start: what they started from.
        shared: memory for those of several threads; the last dimension counts these.
        row: the other indices of a thread.
        loops: the loops over the threads.
        condition: which threads have values.
        row_condition: which rows have any; an axis may be longer than the loop over rows.
    """

    combiner: CommReducer
    own: Sequence[BufferLoad]
    start: Sequence[Expr]
    shared: Sequence[Buffer]
    row: Sequence[Expr]
    loops: Sequence[For]
    condition: Expr
    row_condition: Expr

    @property
    def thread(self) -> Expr:
        """The number of a thread, neighbours along ``threadIdx.x`` next to each other."""
        number: Expr = const(0)
        for loop in sorted(self.loops, key=lambda loop: THREADS.index(tag_of(loop)), reverse=True):
            number = number * loop.extent + (loop.loop_var - loop.min)
        return as_expr(number)

    def of(self, number: Expr) -> list[BufferLoad]:
        """The values in shared memory with that number."""
        return [BufferLoad(buffer, (*self.row, number)) for buffer in self.shared]


class Result(NamedTuple):
    """Where the result goes.

    Attributes:
        targets: the elements in which it is stored.
        initial: their initial values; None where they have values.
        predicate: when it is stored.
    """

    targets: Sequence[BufferLoad]
    initial: Sequence[Expr] | None
    predicate: Expr

    @property
    def is_of_thread(self) -> bool:
        """Whether each thread stores it, in memory of its own."""
        return owner_of(self.targets[0].buffer.scope()) is MemoryOwner.THREAD


def combined(parts: Parts, result: Result) -> Stmt:
    """The statements that combine parts and store the result."""
    thread = parts.thread
    steps = [where(parts.condition, stores(parts.of(thread), parts.own))]
    for active, distance in steps_of_tree(const_int_value(parts.shared[0].shape[-1]) or 1):
        values = combination(parts.combiner, parts.of(thread), parts.of(as_expr(thread + distance)))
        steps.append(where(logical_and(parts.condition, less(thread, active)), values))
    return seq(*steps, stored(parts, result, parts.of(const(0))))


def stored(parts: Parts, result: Result, values: Sequence[Expr]) -> Stmt:
    """The statements that store `values`, the result of all parts."""
    if result.initial is None:
        last = combination(parts.combiner, result.targets, values)
    elif all(map(structural_equal, result.initial, parts.start)):
        last = stores(result.targets, values)
    else:
        update = combination(parts.combiner, result.targets, values)
        last = seq(stores(result.targets, result.initial), update)
    predicate = logical_and(parts.row_condition, result.predicate)
    if not result.is_of_thread:
        for loop in parts.loops:
            predicate = logical_and(predicate, equal(loop.loop_var, loop.min))
    return where(predicate, last)


def steps_of_tree(count: int) -> Iterator[tuple[int, int]]:
    """How many threads combine their value with that of the thread how far away, step by step."""
    distance = 1 << (count - 1).bit_length()
    while distance > 1:
        distance //= 2
        yield min(distance, count - distance), distance
        count = min(count, distance)


def where(condition: Expr, stmt: Stmt) -> Stmt:
    """`stmt` under a condition, which may be true."""
    return stmt if is_const_int(condition, 1) else IfThenElse(condition, stmt)
