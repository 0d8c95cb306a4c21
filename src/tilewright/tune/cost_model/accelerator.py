"""An estimate of the time that kernels take on a GPU, from what is published about it.

A kernel takes as long as what is busiest: the memory of the device, or the multiprocessor with the
most blocks. A multiprocessor takes as long as the busiest of its units (arithmetic, instructions,
shared memory, cache), or as long as one thread waits for what it loads, if there are too few others
to fill the time. That is the model of Hong and Kim, "An analytical model for a GPU architecture
with memory-level and thread-level parallelism awareness" (ISCA 2009), in a simple form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tilewright.target.gpu import Gpu
from tilewright.tune.cost_model.compact_memory import CompactMemory
from tilewright.tune.cost_model.occupancy import registers_at_most, registers_of, resident_blocks
from tilewright.tune.cost_model.straight_code import copies_of, divided, is_in_registers
from tilewright.tune.cost_model.warps import SECTOR, Threads
from tilewright.tune.feature.footprint import footprint
from tilewright.tune.feature.nest import LinearAccess, Memory, Nest, Part, Program, Statement
from tilewright.tune.feature.operations import DIV_MOD, INTEGERS, MATH

LAUNCH: Final = 4000.0
"""Cycles to start a kernel."""

ISSUED: Final = 4.0
"""Instructions of warps that a multiprocessor begins in a cycle."""

SPECIAL_LANES: Final = 16
"""Mathematical functions that it begins in a cycle."""

DIVISION: Final = 8.0
"""Instructions of a division."""

SECTORS_PER_CYCLE: Final = 4.0
"""Sectors that its cache gives in a cycle."""

CACHE_SPEED: Final = 2.5
"""How much faster the cache that all multiprocessors share is than the memory behind it."""

FITS, OVERFLOWS = 0.6, 1.4
"""Of the size of a cache: what fits surely, and from where on nothing stays."""

MEMORY_LATENCY, ARITHMETIC_LATENCY = 500.0, 4.0
"""Cycles until there is what was asked for."""

LATENCIES: Final = {"shared": 25.0, "local": 0.0, "wmma": 0.0}
"""The same for other memory than that of the device, by scope."""

IN_FLIGHT: Final = 2
"""Loads that a thread has under way, if no more stand side by side in straight code."""

COMBINATION: Final = 40.0
"""Cycles of a step of a reduction across threads."""

OVERHEAD: Final = 2.0
"""Instructions of an iteration of a loop beside its statements."""

SPILLING: Final = 4.0
"""How many times as long a kernel takes whose threads need twice the registers that they have."""

IMPOSSIBLE: Final = 1e15
"""Cycles of a kernel that cannot run."""


def estimate(program: Program, gpu: Gpu, registers: Sequence[int] = ()) -> float:
    """Cycles that a program takes on a GPU.

    Args:
        program: its loop nests; each outermost one is a kernel.
        gpu: the figures of the GPU.
        registers: of a thread of each kernel, if a compiler has told them.
    """
    kernels = [Kernel(part, gpu) for part in program.body]
    known = registers if len(registers) == len(kernels) else [None] * len(kernels)
    return sum(kernel.cycles(count) for kernel, count in zip(kernels, known, strict=True))


@dataclass
class Work:
    """What the threads of a block do: cycles of each unit of a multiprocessor, and traffic.

    Attributes:
        arithmetic: cycles of the lanes.
        special: cycles of the units for mathematical functions.
        issue: cycles to begin all instructions.
        shared: cycles of shared memory.
        cache: cycles of the cache of the multiprocessor.
        waiting: cycles that one thread waits for results.
        sectors: what each access of the memory of the device moves, if nothing stays in a cache.
    """

    arithmetic: float = 0.0
    special: float = 0.0
    issue: float = 0.0
    shared: float = 0.0
    cache: float = 0.0
    waiting: float = 0.0
    sectors: dict[tuple[Statement, LinearAccess], float] = field(default_factory=dict)

    @property
    def busiest(self) -> float:
        """Cycles of the busiest unit."""
        return max(self.arithmetic, self.special, self.issue, self.shared, self.cache)


class Kernel:
    """A kernel, as a GPU runs it.

    Args:
        part: its outermost loop.
        gpu: the figures of the GPU.
    """

    def __init__(self, part: Part, gpu: Gpu) -> None:
        self._gpu = gpu
        self.statements = [*_statements(part)]
        extents: dict[str, int] = {}
        for statement in self.statements:
            for loop in statement.loops:
                if loop.tag:
                    extents[loop.tag] = max(extents.get(loop.tag, 1), loop.extent)
        self.blocks, self.threads, self.virtual = (
            math.prod(extent for tag, extent in extents.items() if tag.startswith(name))
            for name in ("blockIdx", "threadIdx", "vthread")
        )
        self._memories = {
            access.memory: CompactMemory(access.memory, self.statements)
            for statement in self.statements
            for access in statement.accesses
            if access.memory.allocated
        }
        self.shared_bytes = self._bytes("shared")
        self.work = Work()
        for statement in self.statements:
            self._add(statement)

    def cycles(self, registers: int | None = None) -> float:
        """Cycles that it takes; see `estimate`."""
        gpu = self._gpu
        if registers is None:
            registers = registers_of(self.statements, self.virtual * self._bytes("local"))
        most_registers = registers_at_most(gpu, self.threads)
        resident = resident_blocks(
            gpu, self.threads, self.shared_bytes, min(registers, most_registers)
        )
        if not resident:
            return IMPOSSIBLE
        most = -(-self.blocks // gpu.multiprocessors)
        at_once = min(resident, most)
        turns = most / at_once
        computing = turns * max(at_once * self.work.busiest, self.work.waiting)
        spilled = max(0.0, registers / most_registers - 1.0)
        return LAUNCH + max(
            computing * (1.0 + (SPILLING - 1.0) * spilled),
            self._memory_cycles(min(self.blocks, gpu.multiprocessors * resident)),
        )

    # --- memory of the device -----------------------------------------------------------------

    def traffic(self) -> tuple[float, float]:
        """Bytes that come from the cache that all multiprocessors share, and from behind it."""
        gpu = self._gpu
        touched: dict[Memory, float] = {}
        asked: dict[Memory, float] = {}
        per_block: dict[Memory, float] = {}
        for (statement, access), sectors in self.work.sectors.items():
            memory = access.memory
            touched[memory] = max(touched.get(memory, 0.0), _lines(access, statement, False))
            per_block[memory] = max(per_block.get(memory, 0.0), _lines(access, statement, True))
            asked[memory] = asked.get(memory, 0.0) + sectors
        lost = _lost(SECTOR * sum(per_block.values()), gpu.l1_cache - self.shared_bytes)
        coming = 0.0
        for memory, sectors in asked.items():
            once = min(per_block[memory], sectors)
            coming += SECTOR * self.blocks * (once + lost * (sectors - once))
        whole = min(SECTOR * sum(touched.values()), coming)
        return coming, whole + _lost(whole, gpu.l2_cache) * (coming - whole)

    def _memory_cycles(self, resident: int) -> float:
        """Cycles until the memory of the device has given what the kernel needs.

        Args:
            resident: number of blocks that run at a time on the whole device.
        """
        gpu = self._gpu
        near, far = self.traffic()
        per_cycle = gpu.bandwidth / gpu.clock
        under_way = resident * self.threads * 4 * IN_FLIGHT
        reached = min(1.0, under_way / (MEMORY_LATENCY * per_cycle))
        return max(far, near / CACHE_SPEED) / (per_cycle * reached)

    def _bytes(self, scope: str) -> int:
        """Bytes of all memory of a scope."""
        return sum(
            compact.bytes
            for memory, compact in self._memories.items()
            if memory.buffer.scope().startswith(scope)
        )

    # --- work of a block ----------------------------------------------------------------------

    def _add(self, statement: Statement) -> None:
        """Add what a statement does to the work of a block."""
        gpu, work = self._gpu, self.work
        threads = Threads(statement)
        warps = -(-threads.count // gpu.warp)
        serial = math.prod(loop.extent for loop in statement.loops if not loop.tag)
        entries = statement.share * serial / copies_of(statement)
        virtual = _virtual_threads(statement)
        self._wait(statement, threads, entries)
        entries *= virtual
        times = statement.share * serial * virtual
        counts = statement.operations.counts
        dtype = statement.accesses[0].memory.buffer.dtype
        lanes = gpu.double_lanes if dtype.is_float and dtype.itemsize == 8 else gpu.lanes
        divisions = counts[DIV_MOD] + counts[INTEGERS + DIV_MOD]
        instructions = sum(counts) + (DIVISION - 1.0) * divisions
        work.arithmetic += times * warps * instructions * gpu.warp / lanes
        work.special += times * warps * counts[MATH] * gpu.warp / SPECIAL_LANES
        issued = times * instructions + entries * OVERHEAD
        for access in statement.accesses:
            moved = entries * copies_of(statement, access)
            issued += self._access(statement, access, threads, moved, warps)
        work.issue += warps * issued / ISSUED

    def _wait(self, statement: Statement, threads: Threads, entries: float) -> None:
        """Add how long one thread waits for what a statement loads, and for its own results.

        Args:
            statement: the statement.
            threads: that execute it.
            entries: how often straight code with it begins.
        """
        scopes = {a.memory.buffer.scope().split(".")[0] for a in statement.accesses[1:]}
        latency = max((LATENCIES.get(scope, MEMORY_LATENCY) for scope in scopes), default=0.0)
        store = statement.accesses[0]
        chain = 1.0
        if any(loop.reduces for loop in statement.loops) and not statement.initialises:
            chain = copies_of(statement) / copies_of(statement, store)  # each sum waits for itself
        self.work.waiting += entries * (latency + ARITHMETIC_LATENCY * chain)
        if any(loop.reduces for loop in threads.loops):
            results = math.prod(
                level.extent
                for level, stride in zip(statement.levels, store.strides, strict=True)
                if stride and not level.source.tag
            )
            self.work.waiting += results * COMBINATION * math.log2(max(threads.count, 2))

    def _access(
        self, statement: Statement, access: LinearAccess, threads: Threads, times: float, warps: int
    ) -> float:
        """Add what an access moves; gives the instructions of a warp for it."""
        scope = access.memory.buffer.scope()
        if scope.startswith(("local", "wmma")):
            if is_in_registers(statement, access):
                return 0.0
            self.work.cache += times * warps * self._gpu.warp * 4 / SECTOR / SECTORS_PER_CYCLE
            return times
        compact = self._memories.get(access.memory)
        strides = access.strides if compact is None else compact.strides(access)
        is_merged = scope.startswith("shared") and not access.is_store
        merged = divided(statement)[1] if is_merged else ()
        moved = threads.traffic(statement, access, strides, merged, self._gpu.warp)
        times /= moved.elements
        if scope.startswith("shared"):
            self.work.shared += times * warps * moved.rounds
        else:
            self.work.cache += times * warps * moved.sectors / SECTORS_PER_CYCLE
            self.work.sectors[statement, access] = times * warps * moved.sectors
        return times


def _virtual_threads(statement: Statement) -> int:
    """Number of virtual threads for each of which a statement is executed.

    What all of them would do alike, such as a copy into shared memory, is done once.
    """
    return math.prod(
        level.extent
        for n, level in enumerate(statement.levels)
        if level.source.tag.startswith("vthread") and any(a.strides[n] for a in statement.accesses)
    )


def _statements(part: Part) -> Iterator[Statement]:
    if isinstance(part, Nest):
        for inner in part.body:
            yield from _statements(inner)
    else:
        yield part


def _lines(access: LinearAccess, statement: Statement, of_block: bool) -> float:
    """Different sectors that an access touches, of the whole kernel or of one block."""
    if access.scattered:
        return float(statement.iterations)
    steps = tuple(
        (stride, level.extent)
        for level, stride in zip(statement.levels, access.strides, strict=True)
        if stride
        and level.extent > 1
        and not (of_block and level.source.tag.startswith("blockIdx"))
    )
    return footprint(steps, access.memory.itemsize, SECTOR).lines


def _lost(size: float, cache: int) -> float:
    """Which part of what is used again is no longer in a cache."""
    filled = size / max(cache, 1)
    return min(1.0, max(0.0, (filled - FITS) / (OVERFLOWS - FITS)))
