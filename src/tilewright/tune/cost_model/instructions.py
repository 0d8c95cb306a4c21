"""How long a core computes a statement, if memory never delays it.

What is in the innermost loop that runs step by step is straight code: the lanes of a vector, and
unrolled loops. Its time is that of its arithmetic, its loads, its stores, or the wait of each sum
for the one before, whichever is the longest. Sums stay in registers as far as there are some.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tilewright.arith.quotients import Digit
from tilewright.tir.stmt import ForKind
from tilewright.tir.tile_registers import COLUMNS, ROW_BYTES, TILE_SCOPE
from tilewright.tir.transform.machine import (
    ADD_LATENCY,
    MOST_JAMMED_ROWS,
    RESERVED_REGISTERS,
    Machine,
    vectors_per_iteration,
)
from tilewright.tune.cost_model import processor as cpu
from tilewright.tune.feature.nest import LinearAccess, Loop, Statement
from tilewright.tune.feature.operations import (
    BOOL,
    COMPARE,
    DIV_MOD,
    INTEGERS,
    MATH,
    Operations,
)

_STRAIGHT: Final = frozenset({ForKind.UNROLLED, ForKind.VECTORIZED})


class Body(NamedTuple):
    """A statement as straight code in a loop.

    Attributes:
        outer: the levels that run step by step, the outermost first.
        inner: the levels that are straight code, but the lanes.
        lane: position of the level whose iterations are lanes; None if there is none.
        lanes: elements of a vector.
        vectors: instructions for all lanes of the lane level.
        trips: iterations of all outer levels together.
    """

    outer: Sequence[int]
    inner: Sequence[int]
    lane: int | None
    lanes: int
    vectors: int
    trips: float


def cycles(statement: Statement, machine: Machine, reassociates: bool) -> float:
    """Cycles of all executions of `statement` on one core."""
    if any(access.memory.buffer.scope() == TILE_SCOPE for access in statement.accesses):
        return _cycles_in_tiles(statement)
    body = _body(statement, machine, reassociates)
    lanes = None if body.lane is None else statement.levels[body.lane].source
    share = 1.0
    for guard in statement.guards:
        if lanes not in guard.loops:
            share *= guard.share  # a masked vector takes the whole time
    step = _Step(statement, body, machine)
    if _asks_in_each_step(statement, body):
        share *= cpu.ASKED
    return share * (body.trips * step.cycles + step.entries * step.entry_cycles)


def _cycles_in_tiles(statement: Statement) -> float:
    """Cycles of what tile registers do at once: for a row of sums all products with the steps of a
    tile, or one that is loaded or stored."""
    narrowest = min(access.memory.buffer.dtype.itemsize for access in statement.accesses)
    steps = ROW_BYTES // narrowest if narrowest < ROW_BYTES // COLUMNS else 1
    return statement.iterations * statement.share / (COLUMNS * steps)


def _body(statement: Statement, machine: Machine, reassociates: bool) -> Body:
    """What of a statement's loops lowering makes straight code of."""
    levels = statement.levels
    store = statement.accesses[0]
    lanes = machine.lanes(store.memory.buffer.dtype.element)
    inner: list[int] = []
    lane: int | None = None
    position = len(levels) - 1
    copies = 1
    while position >= 0:
        loop, _, extent = levels[position]
        if extent > 1:
            if loop.kind is ForKind.VECTORIZED and lane is None and lanes > 1:
                lane = position
            elif loop.kind in _STRAIGHT or _is_unrolled(loop, copies * extent):
                inner.append(position)
                copies *= extent
            else:
                break
        position -= 1
    outer = [number for number in range(position + 1) if levels[number].extent > 1]
    for number in reversed(outer):
        if lane is None and lanes > 1 and levels[number].source.kind is ForKind.VECTORIZED:
            lane = number
            outer.remove(number)
    trips = 1.0
    for number in outer:
        trips *= levels[number].extent
    if lane is not None:
        extent = levels[lane].extent
        return Body(outer, inner, lane, lanes, _pieces(extent, lanes), trips)
    if outer and _is_vectorized(statement, levels[outer[-1]], outer[-1], lanes, reassociates):
        lane = outer.pop()
        extent = levels[lane].extent
        heavy = bool(statement.operations.functions)
        group = vectors_per_iteration(extent, lanes, heavy, int(levels[lane].source.reduces))
        trips *= -(-extent // (lanes * group)) / extent
        return Body([*outer, lane], inner, lane, lanes, group, trips)
    return Body(outer, inner, None, 1, 1, trips)


def _asks_in_each_step(statement: Statement, body: Body) -> bool:
    """Whether a reduction asks in each step whether it goes on.

    Lowering cuts the loop around the steps in two, unless it begins elsewhere each time.
    """
    straight = {statement.levels[position].source for position in body.inner}
    around = {statement.levels[position].source for position in body.outer}
    return any(
        any(loop.reduces for loop in guard.loops & straight) and len(guard.loops & around) > 1
        for guard in statement.guards
    )


def _is_unrolled(loop: Loop, copies: int) -> bool:
    """Whether lowering unrolls a loop without being told, if `copies` statements come of it."""
    return loop.kind is ForKind.SERIAL and copies <= loop.unroll_step


def _pieces(extent: int, lanes: int) -> int:
    """Instructions for a vector of `extent` elements: whole ones, and powers of two."""
    return extent // lanes + (extent % lanes).bit_count()


def _is_vectorized(
    statement: Statement, level: Digit, position: int, lanes: int, reassociates: bool
) -> bool:
    """Whether lowering runs the innermost loop as lanes without being told."""
    if level.source.kind not in (ForKind.SERIAL, ForKind.PARALLEL) or lanes == 1:
        return False
    if level.extent < min(lanes, 4):
        return False
    store, *loads = statement.accesses
    stride = store.strides[position]
    if stride == 0:
        dtype = store.memory.buffer.dtype
        counts = statement.operations.counts
        if level.extent < lanes or level.source.kind is ForKind.PARALLEL:
            return False
        if not (reassociates or not dtype.is_float or counts[COMPARE]):
            return False
    elif stride != 1:
        return False
    apart = sum(load.strides[position] not in (0, 1) or load.scattered for load in loads)
    return apart <= (1 if statement.operations.functions else 0)


class _Step:
    """One iteration of the innermost loop that runs step by step.

    Attributes:
        cycles: of an iteration.
        entries: how often the loop is entered.
        entry_cycles: what entering and leaving it costs beside its iterations.
    """

    def __init__(self, statement: Statement, body: Body, machine: Machine) -> None:
        self._statement, self._body = statement, body
        levels = statement.levels
        copies = body.vectors
        for position in body.inner:
            copies *= levels[position].extent
        self._loads = self._stores = self._slow = self._sums = 0.0
        self._count_accesses()
        sums = self._sums
        rows = self._rows_side_by_side() if sums else 1.0
        waits = 0.0
        if sums and self._overlap():
            self._slow += copies * cpu.MASKED
        elif sums:
            spilled = max(0.0, sums - (machine.vector_registers - RESERVED_REGISTERS)) / sums
            self._loads += spilled * copies
            self._stores += spilled * copies
            self._slow += spilled * copies * cpu.SPILLED
            waits = ADD_LATENCY * copies / (self._chains() * rows)
        arithmetic = copies * _arithmetic(statement.operations, body.lanes)
        overhead = 2.0 / rows
        instructions = arithmetic * cpu.ARITHMETIC + self._loads + self._stores + overhead
        issue = cpu.ISSUE if instructions <= cpu.DECODED else cpu.ISSUE / 2
        self.cycles = self._slow + max(
            arithmetic, self._loads / cpu.LOADS, self._stores / cpu.STORES, waits,
            instructions / issue, cpu.LOOP / rows,
        )  # fmt: skip
        inner = levels[body.outer[-1]].extent if body.outer else 1
        if body.outer and body.outer[-1] == body.lane:
            inner = -(-inner // (body.lanes * body.vectors))
        self.entries = body.trips / inner / rows
        self.entry_cycles = 0.0
        if inner > 1:
            self.entry_cycles += cpu.LEAVING if inner > cpu.REMEMBERED else cpu.LEAVING / 4
        if sums:
            self.entry_cycles += rows * sums * (1.5 + (10.0 if self._combines_lanes() else 0.0))

    def _count_accesses(self) -> None:
        """Count the instructions that access memory, and the sums that stay in registers."""
        statement, body = self._statement, self._body
        store = statement.accesses[0]
        along = body.outer[-1] if body.outer else None
        steps = along is not None and (along != body.lane or self._combines_lanes())
        for access in statement.accesses:
            count, time = self._count(access)
            same = access.memory is store.memory and access.strides == store.strides
            if same and steps and along is not None and store.strides[along] == 0:
                self._sums = count
                continue
            if access.is_store:
                self._stores += count
            else:
                self._loads += count
                if same and along is not None and _aliases(access, along):
                    self._slow += count * cpu.ALIASED
            self._slow += time + count * access.conditions * cpu.CONDITION

    def _count(self, access: LinearAccess) -> tuple[float, float]:
        """How many instructions an access takes in an iteration, and cycles beside them."""
        body, levels, strides = self._body, self._statement.levels, access.strides
        count = 1.0
        for position in body.inner:
            if strides[position]:
                count *= levels[position].extent
        if body.lane is None:
            return count, 0.0
        stride = strides[body.lane]
        if stride == 0:
            return count, 0.0
        if stride == 1 and not access.scattered:
            return count * body.vectors, 0.0
        elements = count * min(levels[body.lane].extent, body.lanes * body.vectors)
        neighbours = any(
            strides[position] == 1 and levels[position].extent >= 4 for position in body.inner
        )
        return 0.0, elements * (cpu.TRANSPOSED if neighbours else cpu.SCATTERED)

    def _combines_lanes(self) -> bool:
        """Whether the lanes are parts of one sum."""
        lane = self._body.lane
        return lane is not None and self._statement.accesses[0].strides[lane] == 0

    def _overlap(self) -> bool:
        """Whether masked vectors of neighbouring rows overlap, so that none stays in a register."""
        body, statement = self._body, self._statement
        if body.lane is None:
            return False
        loop, _, extent = statement.levels[body.lane]
        if not any(loop in guard.loops for guard in statement.guards):
            return False
        strides = statement.accesses[0].strides
        return any(0 < abs(strides[position]) < extent for position in body.inner)

    def _chains(self) -> float:
        """Sums that do not wait for each other."""
        return self._sums * (self._body.vectors if self._combines_lanes() else 1)

    def _rows_side_by_side(self) -> float:
        """Rows of a short reduction that lowering computes together."""
        body = self._body
        if self._sums >= MOST_JAMMED_ROWS or len(body.outer) < 2 or body.inner:
            return 1.0
        around = body.outer[-2]
        if not self._statement.accesses[0].strides[around]:
            return 1.0
        return max(1.0, min(self._statement.levels[around].extent, MOST_JAMMED_ROWS // self._sums))


def _aliases(access: LinearAccess, along: int) -> bool:
    """Whether what is loaded soon after a store looks like it, in the lowest bits of addresses."""
    distance = abs(access.strides[along]) * access.memory.itemsize
    if distance < cpu.PAGE:
        return distance >= cpu.PAGE // 8 and cpu.PAGE % distance == 0
    return distance % cpu.PAGE == 0


def _arithmetic(operations: Operations, lanes: int) -> float:
    """Cycles of the arithmetic of a value, as vectors of `lanes` elements."""
    counts = operations.counts
    plain = sum(counts) - operations.comparisons - counts[BOOL]
    plain -= counts[MATH] + counts[INTEGERS + MATH]
    plain -= counts[DIV_MOD] + counts[INTEGERS + DIV_MOD]
    cycles = plain / cpu.ARITHMETIC
    if counts[DIV_MOD]:
        cycles += counts[DIV_MOD] * (cpu.DIVISION if lanes > 1 else cpu.DIVISION / 4)
    if counts[INTEGERS + DIV_MOD]:
        cycles += counts[INTEGERS + DIV_MOD] * cpu.INTEGER_DIVISION * lanes
    for name, number in operations.functions.items():
        cycles += number * cpu.FUNCTIONS.get(name, cpu.OTHER_FUNCTION)
    return cycles
