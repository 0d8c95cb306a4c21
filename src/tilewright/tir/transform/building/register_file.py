"""The registers that promoted elements live in, and the accesses that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tilewright.ir.expr import Call, Div, Expr, FloorDiv, FloorMod, Mod, Var
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import BufferStore, IfThenElse, LetStmt, Stmt, seq
from tilewright.tir.transform.analysis.locations import Location, Touches, is_prefetch
from tilewright.tir.transform.building.local_memory import allocated, lane_index, local_buffer

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

        Args:
            loop: the loop, which uses the registers.
            first: the values that registers begin with; the others load the elements.
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
            body = allocated(buffer, body)
        return body


def is_pure(value: Expr) -> bool:
    """Whether `value` is only arithmetic, which may run where it need not."""
    return not any(isinstance(node, _HAS_EFFECT) for node in walk(value))


class RegisterAccesses(Rewriter):
    """Puts registers in the place of the promoted elements.

    Args:
        registers: where the elements are.
        touches: what loads and stores touch.
        only_stored: whether elements that the loop only reads stay in memory.
    """

    def __init__(
        self, registers: RegisterFile, touches: Touches, *, only_stored: bool = False
    ) -> None:
        self._registers, self._touches = registers, touches
        self._read = registers.read_stored if only_stored else registers.read
        self._done: dict[BufferLoad, Expr] = {}

    def Call(self, call: Call) -> Expr:
        return call if is_prefetch(call) else call.map_children(self)

    def BufferLoad(self, load: BufferLoad) -> Expr:
        found = self._done.get(load)
        if found is None:
            location = self._touches(load).location
            value = None if location is None else self._read(location)
            found = self._done[load] = load.map_children(self) if value is None else value
        return found

    def BufferStore(self, store: BufferStore) -> Stmt:
        location = self._touches(store).location
        if location is not None:
            promoted = self._registers.write(location, self(store.value))
            if promoted is not None:
                return promoted
        return store.map_children(self)
