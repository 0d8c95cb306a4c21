"""Elements that a loop updates again and again live in registers while it runs.

Scalar replacement (Callahan, Carr, Kennedy 1990), for scalars and for vectors: a buffer element
whose index does not change in a loop is loaded before it, kept in memory of scope ``local`` (which
every backend keeps in registers, its indices being constants), and stored after it::

    for k: C[i] = C[i] + A[k] * B[k]     ->     C_local[0] = C[i]
                                                for k: C_local[0] = C_local[0] + A[k] * B[k]
                                                C[i] = C_local[0]

It is done for the outermost loop for which it is possible. A store right before the loop gives the
first value without a detour through memory. Elements that are only read are held in variables.

It is possible where nothing else in the loop can touch the element: all accesses of its memory in
the loop are at known distances from it, and other memory is other memory (it is allocated by the
function, or the function promises `tir.noalias`); and where the loop certainly accesses the element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tilewright.ir.arithmetic import as_expr, const
from tilewright.ir.dtype import BOOL, HANDLE, INT32
from tilewright.ir.expr import Expr, IntImm, Ramp, Var, is_const_int
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.types import PointerType, PrimType
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    Allocate,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from tilewright.tir.transform.locations import (
    Location,
    LoopSummary,
    Touch,
    Touches,
    all_disjoint,
    summarize,
)

RESERVED_REGISTERS = 4
"""Vector registers that are left for operands."""


def promote_registers(
    func: PrimFunc, *, vector_bits: int = 512, vector_registers: int = 32
) -> PrimFunc:
    """`func` with loop-invariant elements in registers.

    Args:
        func: a function over flat buffers, without vectorised or unrolled loops.
        vector_bits: width of a vector register; wider vectors take several.
        vector_registers: how many there are. Where an update needs more, only the first are used.
    """
    noalias = func.attrs.get("tir.noalias")
    promotion = _Promotion(
        bool(noalias is not None and int(noalias)), vector_bits, vector_registers
    )
    body = promotion(func.body)
    return func if body is func.body else func.with_body(body)


class Candidate(NamedTuple):
    """An element (or vector of elements) that can live in a register."""

    location: Location
    access: BufferLoad | BufferStore
    """One of its accesses: how to load and store it."""
    stored: bool


class _Promotion(Rewriter):
    def __init__(self, noalias: bool, vector_bits: int, vector_registers: int) -> None:
        self._noalias = noalias
        self._vector_bits = vector_bits
        self._free = vector_registers - RESERVED_REGISTERS
        self._touches = Touches()
        self._allocated: set[Var] = set()
        self._registers: set[Var] = set()

    def Allocate(self, stmt: Allocate) -> Stmt:
        self._allocated.add(stmt.buffer_var)
        return stmt.map_children(self)

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        done: list[Stmt] = []
        for part in stmt.seq:
            if isinstance(part, For):
                done.append(self._loop(part, done))
            else:
                done.append(self(part))
        return seq(*done)

    def For(self, loop: For) -> Stmt:
        return self._loop(loop, [])

    def _loop(self, loop: For, before: list[Stmt]) -> Stmt:
        """`loop` with promoted elements; takes the stores that give their first values out of
        the end of `before`."""
        candidates = self._candidates(loop) if loop.kind is ForKind.SERIAL else []
        if not candidates:
            return loop.map_children(self)
        stored = [c for c in candidates if c.stored]
        first = _first_values(before, stored, self._touches)
        certain = isinstance(loop.extent, IntImm)
        if not certain and len(first) < len(stored):
            first = {}
        registers = _Registers(candidates)
        self._registers.update(registers.memory())
        self._free -= (needed := sum(map(self._cost, candidates)))
        body = registers.replace(loop.replace(body=_Replace(registers, self._touches)(loop.body)))
        inner = body.map_children(self)
        self._free += needed
        result = registers.around(inner, first)
        for store in first.values():
            _remove(before, store)
        if certain or (stored and len(first) == len(stored)):
            return result
        return IfThenElse(as_expr(loop.extent > 0), result)

    def _cost(self, candidate: Candidate) -> int:
        bits = candidate.location.lanes * candidate.access.buffer.dtype.bits
        return -(-bits // self._vector_bits)

    def _candidates(self, loop: For) -> list[Candidate]:
        if is_const_int(loop.extent) and loop.extent.value <= 1:  # type: ignore[attr-defined]
            return []
        summary = summarize(loop.body, self._touches)
        if summary.opaque:
            return []
        summary.bound.add(loop.loop_var)
        by_memory: dict[Var, list[tuple[Touch, bool]]] = {}
        for item in summary.touches:
            by_memory.setdefault(item[0].node.buffer.data, []).append(item)
        written = {data for data, items in by_memory.items() if any(t.is_store for t, _ in items)}
        found: list[Candidate] = []
        for data, items in by_memory.items():
            if data in summary.allocated or data in self._registers:
                continue
            if self._may_alias(data, written, set(by_memory)):
                continue
            found.extend(_invariant(items, summary, data in written))
        return self._within_budget(found)

    def _may_alias(self, data: Var, written: set[Var], touched: set[Var]) -> bool:
        """Whether another memory of the loop may be the same, with one of the two written."""
        if self._noalias or data in self._allocated:
            return False
        others = touched - self._allocated - self._registers - {data}
        return bool(others) if data in written else bool(others & written)

    def _within_budget(self, candidates: list[Candidate]) -> list[Candidate]:
        """As many as there are registers for, those that are stored first."""
        chosen: list[Candidate] = []
        free = self._free
        for candidate in sorted(candidates, key=lambda c: not c.stored):
            cost = self._cost(candidate)
            if cost <= free:
                chosen.append(candidate)
                free -= cost
        return chosen


def _invariant(
    items: Sequence[tuple[Touch, bool]], summary: LoopSummary, written: bool
) -> list[Candidate]:
    """The elements of one memory that can be promoted."""
    by_location: dict[Location, list[tuple[Touch, bool]]] = {}
    for touch, always in items:
        fixed = touch.location is not None and not touch.variables & summary.bound
        if not fixed:
            if written:
                return []
            continue
        assert touch.location is not None
        by_location.setdefault(touch.location, []).append((touch, always))
    if written and not all_disjoint(by_location):
        return []
    if not written and any(location.predicate is not None for location in by_location):
        return []
    return [
        Candidate(location, found[0][0].node, written and any(t.is_store for t, _ in found))
        for location, found in by_location.items()
        if any(always for _, always in found)
    ]


def _first_values(
    before: Sequence[Stmt], candidates: Sequence[Candidate], touches: Touches
) -> dict[Location, BufferStore]:
    """The stores at the end of `before` that set candidates."""
    wanted = {candidate.location for candidate in candidates}
    memories = {location.data for location in wanted}
    found: dict[Location, BufferStore] = {}
    for stmt in reversed(before):
        if not isinstance(stmt, BufferStore) or _loads(stmt, memories):
            break
        location = touches(stmt).location
        if stmt.buffer.data not in memories:
            break
        if location in wanted and location not in found:
            found[location] = stmt
        elif location is None or any(_clash(location, other) for other in wanted):
            break
    return found


def _clash(location: Location, other: Location) -> bool:
    if location.data is not other.data:
        return False
    return location.terms != other.terms or location.overlaps(other)


def _loads(stmt: Stmt, memories: set[Var]) -> bool:
    stack: list[Any] = [stmt]
    while stack:
        node = stack.pop()
        if isinstance(node, BufferLoad) and node.buffer.data in memories:
            return True
        stack.extend(node.children())
    return False


def _remove(statements: list[Stmt], store: BufferStore) -> None:
    for position, stmt in enumerate(statements):
        if stmt is store:
            del statements[position]
            return
