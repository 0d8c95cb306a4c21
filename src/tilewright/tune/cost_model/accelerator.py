"""A coarse estimate of time on GPUs."""

from __future__ import annotations

from typing import Final

from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tune.feature.nest import Access, Program, Statement
from tilewright.tune.feature.operations import MATH

THREADS: Final = 1 << 16
"""Threads that run at once on a device."""

WARP: Final = 32
MOST_THREADS: Final = 1024
"""Threads of a block."""

GLOBAL, SHARED, LOCAL = 8.0, 1.0, 0.1
"""Cycles of an access of a thread, of memory of the device, of a block, and of a thread."""

UNCOALESCED: Final = 8.0
"""How many times as long an access takes whose neighbours are other threads' far away ones."""

FUNCTION: Final = 8.0
"""Cycles of a mathematical function."""


def estimate(program: Program) -> float:
    """Cycles that a program takes on a GPU: enough to tell bad schedules from reasonable ones."""
    return sum(_statement(statement) for statement in program.statements())


def _statement(statement: Statement) -> float:
    threads = blocks = 1
    for loop in statement.loops:
        if loop.tag.startswith("threadIdx"):
            threads *= loop.extent
        elif loop.tag.startswith("blockIdx"):
            blocks *= loop.extent
    counts = statement.operations.counts
    work = sum(counts) + (FUNCTION - 1.0) * counts[MATH] + 1.0
    work += sum(_access(access, statement) for access in statement.accesses)
    at_once = min(blocks * -(-threads // WARP) * WARP, THREADS)
    if threads > MOST_THREADS:
        at_once = 1  # no device can run it
    return statement.iterations * statement.share * work / at_once


def _access(access: Access, statement: Statement) -> float:
    owner = owner_of(access.memory.buffer.scope())
    if owner in (MemoryOwner.THREAD, MemoryOwner.WARP):
        return LOCAL
    if owner is MemoryOwner.BLOCK:
        return SHARED
    for level, stride in zip(statement.levels, access.strides, strict=True):
        if level.loop.tag == "threadIdx.x" and level.extent > 1 and abs(stride) > 1:
            return GLOBAL * UNCOALESCED
    return GLOBAL
