"""Lanes that a loop combines again and again are combined once, after it.

`vectorize` leaves updates of one element by all lanes of a vector. While a loop makes them, each
lane has a sum (or product, minimum, maximum) of its own, in a vector register::

    for k in range(64):                       C_lanes[0:16] = 0
        C[i] += reduce_lanes(A[k, 0:16])  ->  for k in range(64):
                                                  C_lanes[0:16] += A[k, 0:16]
                                              C[i] += reduce_lanes(C_lanes[0:16])

The same holds for several updates in a row. Each update has accumulators of its own, so that their
chains of operations overlap, as far as there are registers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tilewright.ir.expr import BinaryExpr, Broadcast, Call, Expr, Var
from tilewright.ir.op import Op
from tilewright.ir.rewrite import Rewriter, nodes_of
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BufferStore, For, SeqStmt, Stmt, seq
from tilewright.tir.transform.analysis.accesses import (
    Location,
    LoopSummary,
    MemoryReferences,
    all_disjoint,
    summarize,
)
from tilewright.tir.transform.analysis.memory_uses import Aliases
from tilewright.tir.transform.building.accumulators import (
    Reduction,
    as_reduction,
    neutral,
    reduced_vector,
    updated,
)
from tilewright.tir.transform.building.allocations import allocation, lane_index, local_buffer
from tilewright.tir.transform.building.statements import StatementRewriter, resequenced
from tilewright.tir.transform.machine import RESERVED_REGISTERS


def accumulate_lanes(
    func: PrimFunc, *, vector_bits: int = 512, vector_registers: int = 32
) -> PrimFunc:
    """`func` with lanes combined after loops instead of in them.

    Args:
        func: a function over flat buffers, without vectorised or unrolled loops.
        vector_bits: width of a vector register; wider vectors take several.
        vector_registers: how many there are.
    """
    op = Op.get("tir.reduce_lanes")
    if not any(call.op is op for call in nodes_of(func.body, Call)):
        return func
    free = vector_registers - RESERVED_REGISTERS
    return func.with_body(_Accumulation(Aliases(func), vector_bits, free)(func.body))


class Update(NamedTuple):
    """A store that combines a vector, or a scalar, with one element."""

    reduction: Reduction
    values: Expr
    location: Location
    repeated: bool
    """Whether it is in a loop."""

    @property
    def lanes(self) -> int:
        """How many lanes are combined."""
        return self.values.dtype.lanes


class _Accumulation(StatementRewriter):
    def __init__(self, aliases: Aliases, vector_bits: int, free: int) -> None:
        self._aliases, self._vector_bits, self._free = aliases, vector_bits, free
        self._accesses = MemoryReferences()

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        return resequenced(stmt, self._sequence(stmt.seq))

    def For(self, loop: For) -> Stmt:
        return seq(*self._sequence((loop,)))

    def _sequence(self, parts: Sequence[Stmt]) -> list[Stmt]:
        """`parts`, which run one after the other, with accumulators around some of them."""
        summaries = [summarize(part, self._accesses) for part in parts]
        updates = [self._updates(*pair) for pair in zip(parts, summaries, strict=True)]
        memories = dict.fromkeys(u.location.data for found in updates for u in found)
        for data in memories:
            for start, end in self._runs(data, summaries, updates):
                run = [u for found in updates[start:end] for u in found if u.location.data is data]
                certain = self._certain(parts[:start], summaries[start:end])
                chosen = self._worthwhile(run, certain)
                if chosen:
                    around = self._accumulated(seq(*parts[start:end]), chosen)
                    before, after = parts[:start], parts[end:]
                    return [*self._sequence(before), around, *self._sequence(after)]
        return [part.map_children(self) for part in parts]

    def _updates(self, part: Stmt, summary: LoopSummary) -> list[Update]:
        """The updates in `part` of elements that are the same all the time."""
        found: list[Update] = []

        def visit(stmt: Stmt, repeated: bool) -> bool:
            if isinstance(stmt, For):
                repeated = True
                if not stmt.kind.is_in_order:
                    return False
            elif isinstance(stmt, BufferStore) and stmt.value.dtype.lanes == 1:
                reduction, access = as_reduction(stmt), self._accesses(stmt)
                place = access.location
                if reduction and place is not None and not access.variables & summary.bound:
                    values = reduced_vector(reduction)
                    values = reduction.operand if values is None else values
                    found.append(Update(reduction, values, place, repeated))
            return all(visit(c, repeated) for c in stmt.children() if isinstance(c, Stmt))

        return found if visit(part, False) and not summary.opaque else []

    def _runs(
        self, data: Var, summaries: Sequence[LoopSummary], updates: Sequence[Sequence[Update]]
    ) -> Iterator[tuple[int, int]]:
        """Where parts in a row only update `data`, or leave it alone."""
        start, end = 0, 0
        for position, (summary, found) in enumerate(zip(summaries, updates, strict=True)):
            accesses = 2 * sum(update.location.data is data for update in found)
            if not self._only_updates(data, summary, accesses):
                if start < end:
                    yield start, end
                start = end = position + 1
            elif accesses:
                start = position if start == end else start
                end = position + 1
        if start < end:
            yield start, end

    def _only_updates(self, data: Var, summary: LoopSummary, accesses: int) -> bool:
        """Whether a part has `accesses` accesses of `data`, and none of what may overlap it."""
        accessed = [access.node.buffer.data for access, _ in summary.accesses]
        if summary.opaque or data in summary.allocated:
            return False
        if sum(other is data for other in accessed) != accesses:
            return False
        return not any(o is not data and self._aliases.may_overlap(data, o) for o in accessed)

    def _certain(self, before: Sequence[Stmt], run: Sequence[LoopSummary]) -> set[Location | None]:
        """The places that are accessed for certain, so that they may be accessed after the run."""
        places = {self._accesses(stmt).location for stmt in before if isinstance(stmt, BufferStore)}
        return places | {
            access.location for summary in run for access, when in summary.accesses if when == ()
        }

    def _worthwhile(
        self, run: Sequence[Update], certain: set[Location | None]
    ) -> list[list[Update]]:
        """The updates of each element for which it pays to have accumulators."""
        by_location: dict[Location, list[Update]] = {}
        for update in run:
            by_location.setdefault(update.location, []).append(update)
        if not all_disjoint(by_location) or len({u.reduction.store.buffer.dtype for u in run}) > 1:
            return []
        free, chosen = self._free, []
        for location, updates in by_location.items():
            cost = sum(self._cost(widest) for widest in {u.lanes: u for u in updates}.values())
            repeated = len(updates) > 1 or updates[0].repeated
            vectors = any(update.lanes > 1 for update in updates)
            one_kind = len({update.reduction.kind for update in updates}) == 1
            if repeated and vectors and one_kind and location in certain and cost <= free:
                chosen.append(updates)
                free -= cost
        return chosen

    def _cost(self, update: Update) -> int:
        return -(-update.lanes * update.reduction.store.buffer.dtype.bits // self._vector_bits)

    def _accumulated(self, run: Stmt, elements: Sequence[Sequence[Update]]) -> Stmt:
        """`run` with the updates of `elements` going to accumulators."""
        cost = sum(self._cost(u) for updates in elements for u in updates if u.repeated)
        accumulators = _Accumulators(elements, separate=cost <= self._free)
        self._aliases.add_allocated(accumulators.memory.data)
        spent = -(-accumulators.size * accumulators.memory.dtype.bits // self._vector_bits)
        self._free -= spent
        around = accumulators.around(run).map_children(self)
        self._free += spent
        return around


class _Accumulators(Rewriter):
    """Memory with lanes for each element, which takes the place of the element in a statement.

    Args:
        elements: the updates of each element.
        separate: whether each update in a loop has lanes of its own, or only those of different
            width.
    """

    def __init__(self, elements: Sequence[Sequence[Update]], *, separate: bool) -> None:
        self._elements = elements
        self._starts: dict[BufferStore, tuple[int, Update]] = {}
        size = 0
        for updates in elements:
            shared: dict[int, int] = {}
            # What is not in a loop uses lanes that are there already.
            for update in sorted(updates, key=lambda update: not update.repeated):
                start = shared.get(update.lanes, size)
                if start == size or (separate and update.repeated):
                    start = shared[update.lanes] = size
                    size += update.lanes
                self._starts[update.reduction.store] = start, update
        self.size = size
        buffer = elements[0][0].reduction.store.buffer
        self.memory = local_buffer(f"{buffer.name}_lanes", buffer.dtype, size)

    def around(self, run: Stmt) -> Stmt:
        """`run` between the start of the accumulators and their combination."""
        start, end = [], []
        for updates in self._elements:
            slots = {self._starts[u.reduction.store][0]: u for u in updates}
            kind = updates[0].reduction.kind
            for first, update in slots.items():
                nothing: Expr = neutral(kind, self.memory.dtype)
                if update.lanes > 1:
                    nothing = Broadcast(nothing, update.lanes)
                start.append(BufferStore(self.memory, nothing, (lane_index(first, update.lanes),)))
            by_lanes: dict[int, list[Expr]] = {}
            for first, update in slots.items():
                by_lanes.setdefault(update.lanes, []).append(self._load(first, update.lanes))
            last = updates[0].reduction
            end += [updated(last, _combined(kind, vectors)) for vectors in by_lanes.values()]
        return allocation(seq(*start, self(run), *end), self.memory)

    def BufferStore(self, store: BufferStore) -> Stmt:
        start, update = self._starts.get(store, (0, None))
        if update is None:
            return store
        lanes = self._load(start, update.lanes)
        value = update.reduction.kind(lanes, update.values)
        return BufferStore(self.memory, value, lanes.indices)

    def _load(self, start: int, lanes: int) -> BufferLoad:
        return BufferLoad(self.memory, (lane_index(start, lanes),))


def _combined(kind: type[BinaryExpr], values: list[Expr]) -> Expr:
    """All `values` combined in pairs, and these again."""
    while len(values) > 1:
        pairs = itertools.zip_longest(values[::2], values[1::2])
        values = [a if b is None else kind(a, b) for a, b in pairs]
    return values[0]
