"""Elements that stay at one place while a loop runs, and the registers that hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tilewright.ir.expr import Call, Div, Expr, FloorDiv, FloorMod, Mod, Var
from tilewright.ir.rewrite import Rewriter, nodes_of, walk
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import BufferStore, IfThenElse, LetStmt, Stmt, seq
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.accesses import (
    Location,
    LoopSummary,
    MemoryReference,
    MemoryReferences,
    When,
    is_prefetch,
)
from tilewright.tir.transform.building.allocations import allocation, lane_index, local_buffer
from tilewright.tir.transform.building.statements import same_conditions

_HAS_EFFECT: Final = (BufferLoad, Call, Div, Mod, FloorDiv, FloorMod)


class Candidate(NamedTuple):
    """An element (or vector of elements) that can live in a register."""

    location: Location
    access: BufferLoad | BufferStore
    """One of its accesses: how to load and store it."""
    stored: bool
    conditions: tuple[Expr, ...] = ()
    """The element may not exist where one of them fails; the loop does not change them."""

    def guarded(self, stmt: Stmt) -> Stmt:
        """`stmt` where the element exists."""
        for condition in reversed(self.conditions):
            stmt = IfThenElse(condition, stmt)
        return stmt


class RegisterFile:
    """The registers of the promoted elements: memory for what is stored, else variables."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates
        self.memory: dict[Var, Buffer] = {}
        self._values: dict[Location, Var] = {}
        self._slots: dict[Location, tuple[Buffer, Expr]] = {}
        sizes: dict[Var, int] = {}
        for candidate in candidates:
            if candidate.stored:
                data, lanes = candidate.location.data, candidate.location.lanes
                sizes[data] = sizes.get(data, 0) + lanes
        buffers = {data: self._local(data, size) for data, size in sizes.items()}
        used = dict.fromkeys(sizes, 0)
        for candidate in candidates:
            location = candidate.location
            if candidate.stored:
                index = lane_index(used[location.data], location.lanes)
                used[location.data] += location.lanes
                self._slots[location] = (buffers[location.data], index)
            else:
                dtype = candidate.access.buffer.dtype.with_lanes(location.lanes)
                self._values[location] = Var(f"{location.data.name}_local", dtype)

    def _local(self, data: Var, size: int) -> Buffer:
        element = next(c.access.buffer.dtype for c in self._candidates if c.location.data is data)
        buffer = local_buffer(f"{data.name}_local", element, size)
        self.memory[buffer.data] = buffer
        return buffer

    def read(self, location: Location) -> Expr | None:
        """The promoted value, or None if the location is not promoted."""
        stored = self.read_stored(location)
        return self._values.get(location) if stored is None else stored

    def read_stored(self, location: Location) -> Expr | None:
        """The promoted value, or None if the location is not promoted, or only read."""
        slot = self._slots.get(location)
        return None if slot is None else BufferLoad(slot[0], (slot[1],))

    def write(self, location: Location, value: Expr) -> Stmt | None:
        """The store to the register, or None if the location is not promoted."""
        slot = self._slots.get(location)
        return None if slot is None else BufferStore(slot[0], value, (slot[1],))

    def around(self, loop: Stmt, first: Mapping[Location, Expr]) -> Stmt:
        """Loads, the loop, stores, inside of the registers' declarations.

        `first` are the values that registers begin with; the others load the elements.
        """
        before: list[Stmt] = []
        after: list[Stmt] = []
        for candidate in self._candidates:
            if not candidate.stored:
                continue
            location, access = candidate.location, candidate.access
            value = first.get(location)
            if value is None:
                value = BufferLoad(access.buffer, access.indices, access.predicate)
            start, current = self.write(location, value), self.read(location)
            assert start is not None
            assert current is not None
            before.append(start if is_pure(value) else candidate.guarded(start))
            stored = BufferStore(access.buffer, current, access.indices, access.predicate)
            after.append(candidate.guarded(stored))
        body = seq(*before, loop, *after)
        for candidate in reversed(self._candidates):
            if not candidate.stored:
                access = candidate.access
                value = BufferLoad(access.buffer, access.indices)
                body = LetStmt(self._values[candidate.location], value, body)
        for buffer in reversed(self.memory.values()):
            body = allocation(body, buffer)
        return body


def is_pure(value: Expr) -> bool:
    """Whether `value` is only arithmetic, which may run where it need not."""
    return not any(isinstance(node, _HAS_EFFECT) for node in walk(value))


class RegisterAccesses(Rewriter):
    """Puts registers in the place of the promoted elements.

    With `only_stored`, elements that the loop only reads stay in memory.
    """

    def __init__(
        self, registers: RegisterFile, accesses: MemoryReferences, *, only_stored: bool = False
    ) -> None:
        self._registers, self._accesses = registers, accesses
        self._read = registers.read_stored if only_stored else registers.read
        self._done: dict[BufferLoad, Expr] = {}

    def Call(self, call: Call) -> Expr:
        return call if is_prefetch(call) else call.map_children(self)

    def BufferLoad(self, load: BufferLoad) -> Expr:
        found = self._done.get(load)
        if found is None:
            location = self._accesses(load).location
            value = None if location is None else self._read(location)
            found = self._done[load] = load.map_children(self) if value is None else value
        return found

    def BufferStore(self, store: BufferStore) -> Stmt:
        location = self._accesses(store).location
        if location is not None:
            promoted = self._registers.write(location, self(store.value))
            if promoted is not None:
                return promoted
        return store.map_children(self)


def indexed_memory(body: Stmt, accesses: MemoryReferences) -> set[Var]:
    """The local memory with accesses at indices that are not constants, which no register has."""
    return {
        node.buffer.data
        for node in (*nodes_of(body, BufferLoad), *nodes_of(body, BufferStore))
        if node.buffer.scope() == "local" and not _is_constant(accesses(node))
    }


def _is_constant(access: MemoryReference) -> bool:
    return access.location is not None and not access.location.terms


def invariant_elements(
    items: Sequence[tuple[MemoryReference, When]],
    summary: LoopSummary,
    written: bool,
    are_apart: Callable[[Iterable[Location]], bool],
) -> list[Candidate]:
    """The elements of one memory that a loop can keep in registers.

    `items` are all accesses of the memory in the loop, each with when it is made; `written` tells
    whether some are stores.
    """
    by_location: dict[Location, list[tuple[MemoryReference, When]]] = {}
    for access, when in items:
        fixed = access.location is not None and not access.variables & summary.bound
        if not fixed:
            if written:
                return []
            continue
        assert access.location is not None
        by_location.setdefault(access.location, []).append((access, when))
    if written and not are_apart(by_location):
        return []
    if len({access.node.buffer.dtype for access, _ in items}) > 1:
        return []  # views of different types count elements differently
    if not written and any(location.predicate is not None for location in by_location):
        return []
    candidates: list[Candidate] = []
    for location, found in by_location.items():
        stored = written and any(access.is_store for access, _ in found)
        conditions = _conditions([when for _, when in found], summary.bound)
        if conditions is not None and (stored or not conditions):
            candidates.append(Candidate(location, found[0][0].node, stored, conditions))
    return candidates


def _conditions(accesses: Sequence[When], bound: set[Var]) -> When:
    """The conditions under which every iteration makes some of `accesses`, and none is made
    otherwise; None if there are none like that which the loop does not change."""
    if any(when == () for when in accesses):
        return ()
    first = accesses[0]
    if first is None or any(when is None for when in accesses):
        return None
    if any(when is not None and not same_conditions(first, when) for when in accesses[1:]):
        return None
    for condition in first:
        if any(isinstance(node, (BufferLoad, Call)) for node in walk(condition)):
            return None
        if not bound.isdisjoint(variables_of(condition)):
            return None
    return first
