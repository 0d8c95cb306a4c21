"""Memory that is allocated for a part of a buffer has the size of that part.

Before::                                     After::

    for i in range(64):                          for i in range(64):
        allocate B[1024]                             allocate B[16]
        for j in range(16): B[i * 16 + j] = ...      for j in range(16): B[j] = ...
        for j in range(16): ... = B[i * 16 + j]      for j in range(16): ... = B[j]

The part is the smallest box around all accesses, in terms of the variables outside of the
allocation; a dimension in which it has no constant size stays whole. A row-major layout with
padding, which the annotation ``buffer_dim_align`` of an allocation asks for, is laid out anew.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.interval import EVERYTHING, IntervalSet, interval_of
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Broadcast, Expr, IntImm, Ramp, Var, is_const_int
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import Buffer, BufferLoad, storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import Allocate, BufferStore, For, Stmt
from tilewright.tir.substitute import BufferRewriter
from tilewright.tir.transform.analysis.exact_boxes import bounds_by_condition
from tilewright.tir.transform.analysis.memory_uses import MemoryUses, allocates
from tilewright.tir.transform.analysis.ranges import Ranges
from tilewright.tir.transform.analysis.symbolic_min_max import at_most, upper_bound
from tilewright.tir.transform.building.allocations import (
    aligned_strides,
    alignments_of,
    allocation,
    with_alignments,
)
from tilewright.tir.transform.building.scoped_visitor import (
    Loop,
    ScopedVisitor,
    is_fixed,
    is_thread_of_block,
)

Sides = tuple[IntervalSet, ...]
"""The values of each index."""


class AccessedBoxes(ScopedVisitor):
    """Finds for each allocation, as it is left, what is accessed.

    Subclasses say in `leave` what to do with it.
    """

    def __init__(self) -> None:
        ScopedVisitor.__init__(self, Analyzer())
        self._scopes: dict[Var, _Scope] = {}

    def leave(self, stmt: Allocate, sides: Sides | None) -> None:
        """All accesses of the memory of `stmt` are within `sides`; None if there is none."""
        raise NotImplementedError

    def Allocate(self, stmt: Allocate) -> None:
        # A block of threads has one piece of shared memory, for all accesses of all its threads.
        owner, threads = owner_of(storage_scope(stmt.buffer_var)), []
        if owner is MemoryOwner.BLOCK:
            threads = [loop for loop in self.loops if is_thread_of_block(loop.axis)]
        elif owner is MemoryOwner.WARP:
            threads = [loop for loop in self.loops if loop.axis == "threadIdx.x"]
        scope = _Scope(threads, len(self.loops), len(self.unknown))
        self._scopes[stmt.buffer_var] = scope
        self.visit_children(stmt)
        del self._scopes[stmt.buffer_var]
        self.leave(stmt, scope.sides)

    def BufferLoad(self, access: BufferLoad | BufferStore) -> None:
        self.visit_children(access)
        scope = self._scopes.get(access.buffer.data)
        if scope is None:
            return
        domains = self._domains(scope)
        sides = tuple(self._sides_of(self.resolved(index), domains) for index in access.indices)
        if scope.sides is not None:
            sides = tuple(map(self._hull, scope.sides, sides))
        scope.sides = sides

    BufferStore = BufferLoad

    def _domains(self, scope: _Scope) -> dict[Var, IntervalSet]:
        """The values of what runs inside of the allocation."""
        domains = dict.fromkeys(self.unknown[scope.unknown :], EVERYTHING)
        for loop in (*scope.threads, *self.loops[scope.loops :]):
            values = EVERYTHING
            if isinstance(loop.minimum, IntImm) and isinstance(loop.last, IntImm):
                values = IntervalSet(loop.minimum, loop.last)
            elif is_fixed(loop.minimum) and is_fixed(loop.extent):
                low = interval_of(loop.minimum, domains, self.analyzer)
                high = interval_of(loop.last, domains, self.analyzer)
                values = IntervalSet(low.min_value, high.max_value)
            domains[loop.var] = values
        return domains

    def _sides_of(self, index: Expr, domains: dict[Var, IntervalSet]) -> IntervalSet:
        if not is_fixed(index):
            return EVERYTHING
        low, high = interval_of(index, domains, self.analyzer)
        inside = list(domains)
        for condition in filter(is_fixed, self.conditions):
            lows, highs = bounds_by_condition(index, condition, inside)
            for bound in lows:
                low = bound if low is None or self._at_most(low, bound) else low
            for bound in highs:
                high = bound if high is None or self._at_most(bound, high) else high
        return IntervalSet(low, high)

    def _hull(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        """The smallest interval around both, unbounded where the ends cannot be ordered."""
        return IntervalSet(
            self._first(a.min_value, b.min_value), self._first(a.max_value, b.max_value, last=True)
        )

    def _first(self, a: Expr | None, b: Expr | None, *, last: bool = False) -> Expr | None:
        """The least of two ends, or the greatest."""
        if a is None or b is None or structural_equal(a, b):
            return None if b is None else a
        for one, other in ((a, b), (b, a)):
            if self._at_most(other, one) if last else self._at_most(one, other):
                return one
        return None

    def _at_most(self, small: Expr, large: Expr) -> bool:
        return at_most(small, large, self.analyzer)


class _Scope:
    """An allocation that the visitor is in."""

    def __init__(self, threads: list[Loop], loops: int, unknown: int) -> None:
        self.threads = threads
        """The loops outside whose iterations share the memory."""
        self.loops = loops
        """How many loops are outside."""
        self.unknown = unknown
        """How many variables of `let` with unknown values are outside."""
        self.sides: Sides | None = None


def compact_buffers(func: PrimFunc) -> PrimFunc:
    """`func`, without blocks, with smaller memory where only a part of a buffer is used."""
    if not allocates(func.body):
        return func
    finder = _UsedBoxes(func)
    finder.visit(func.body)
    if not finder.parts and not finder.padded:
        return func
    return func.with_body(_Compaction(finder.parts)(func.body))


class _UsedBox(NamedTuple):
    """The part of a buffer that is used."""

    start: tuple[Expr, ...]
    """Its first element."""
    buffer: Buffer
    """The buffer that takes the place of the whole one."""


class _UsedBoxes(AccessedBoxes):
    """Finds what can be made smaller."""

    def __init__(self, func: PrimFunc) -> None:
        AccessedBoxes.__init__(self)
        self._uses = MemoryUses(func.body)
        self.parts: dict[Buffer, _UsedBox] = {}
        self.padded = False
        """Whether there is an annotation, which means nothing after this pass."""

    def leave(self, stmt: Allocate, sides: Sides | None) -> None:
        self.padded = self.padded or bool(alignments_of(stmt))
        buffer = self._uses.only_buffer(stmt)
        if buffer is None or sides is None or not _is_whole(stmt, buffer):
            return
        spans = [self._span(s, n) for s, n in zip(sides, buffer.shape, strict=True)]
        start = tuple(low for low, _ in spans)
        shape = tuple(extent for _, extent in spans)
        if all(new is old for new, old in zip(shape, buffer.shape, strict=True)):
            return
        strides = aligned_strides(shape, alignments_of(stmt)) if buffer.strides else ()
        self.parts[buffer] = _UsedBox(start, buffer.replace(shape=shape, strides=strides))

    def _span(self, values: IntervalSet, whole: Expr) -> tuple[Expr, Expr]:
        """The first value and how many there are, a constant; or all values of the dimension."""
        low, high = values
        everything = const(0, whole.dtype), whole
        if low is None or high is None:
            return everything
        extent = upper_bound(as_expr(high - low + 1), self.analyzer)
        if math.isinf(extent) or (isinstance(whole, IntImm) and extent >= whole.value):
            return everything
        return low, const(max(int(extent), 1), whole.dtype)


def _is_whole(stmt: Allocate, buffer: Buffer) -> bool:
    """Whether `stmt` allocates what `buffer` describes, in a row-major layout."""
    if buffer.buffer_type or buffer.axis_separators or not is_const_int(buffer.elem_offset, 0):
        return False
    if stmt.dtype is not buffer.dtype or not is_const_int(stmt.condition, 1):
        return False
    wishes = alignments_of(stmt)
    if wishes or buffer.strides:
        return _all_equal(aligned_strides(buffer.shape, wishes), buffer.strides)
    return _all_equal(stmt.extents, buffer.shape)


def _all_equal(some: tuple[Expr, ...], others: tuple[Expr, ...]) -> bool:
    return len(some) == len(others) and all(map(structural_equal, some, others))


class _Compaction(BufferRewriter):
    def __init__(self, parts: dict[Buffer, _UsedBox]) -> None:
        BufferRewriter.__init__(self)
        self._parts = parts
        self._of_memory = {buffer.data: part for buffer, part in parts.items()}
        self._ranges = Ranges()

    def map_buffer(self, buffer: Buffer) -> Buffer:
        part = self._parts.get(buffer)
        return buffer if part is None else part.buffer

    def For(self, loop: For) -> Stmt:
        self._ranges.bind(loop.loop_var, loop.min, loop.extent)
        return loop.map_children(self)

    def Allocate(self, stmt: Allocate) -> Stmt:
        part, annotations = self._of_memory.get(stmt.buffer_var), stmt.annotations
        stmt = stmt.map_children(self)
        if part is not None:
            stmt = allocation(stmt.body, part.buffer).replace(annotations=annotations)
        if alignments_of(stmt):
            stmt = stmt.replace(annotations=with_alignments(annotations, ()))
        return stmt

    def BufferLoad(self, load: BufferLoad) -> Expr:
        return self._access(load)

    def BufferStore(self, store: BufferStore) -> Stmt:
        return self._access(store)

    def _access(self, access: Any) -> Any:
        changed = access.map_children(self)
        part = self._parts.get(access.buffer)
        if part is None:
            return changed
        indices = tuple(map(self._moved, changed.indices, part.start))
        return changed.replace(buffer=part.buffer, indices=indices)

    def _moved(self, index: Expr, start: Expr) -> Expr:
        """`index` counted from `start`."""
        if is_const_int(start, 0):
            return index
        if isinstance(index, Ramp):
            return index.replace(base=self._moved(index.base, start))
        if index.dtype.is_vector:
            return as_expr(index - Broadcast(start, index.dtype.lanes))
        return self._ranges.simplify_index(as_expr(index - start))
