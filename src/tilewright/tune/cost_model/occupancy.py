"""How many blocks of threads a multiprocessor has at a time: what their memory leaves room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.target.gpu import Gpu
from tilewright.tune.cost_model.straight_code import copies_of
from tilewright.tune.feature.nest import Statement

MOST_REGISTERS: Final = 255
"""Registers of a thread; what it needs beyond them is in memory."""

OWN_REGISTERS: Final = 24
"""For addresses, loop variables and the like."""

MOST_OPERANDS: Final = 64
"""Registers for operands that were loaded; compilers load no more of them in advance."""

REGISTER_UNIT: Final = 8
"""The number of registers of a thread is a multiple of this."""

SCHEDULERS: Final = 4
"""Parts of a multiprocessor, which have equally many warps."""

SHARED_UNIT: Final = 1024
"""Bytes of shared memory that every block takes beside its own."""


def registers_of(statements: Sequence[Statement], own_bytes: int) -> int:
    """An estimate of the registers of a thread.

    Args:
        statements: of the kernel.
        own_bytes: of the memory of a thread that is in registers.
    """
    operands = max((_operands(statement) for statement in statements), default=0)
    return own_bytes // 4 + min(operands, MOST_OPERANDS) + OWN_REGISTERS


def _operands(statement: Statement) -> int:
    """Registers for what a statement loads, in all copies of it in straight code."""
    return sum(
        copies_of(statement, access) * access.memory.itemsize // 4 + 1
        for access in statement.accesses[1:]
        if not access.memory.buffer.scope().startswith("local")
    )


def registers_at_most(gpu: Gpu, threads: int) -> int:
    """The registers that a compiler gives a thread at most, so that a block of threads can run."""
    warps = -(-threads // gpu.warp)
    each = gpu.registers // (warps * gpu.warp) // REGISTER_UNIT * REGISTER_UNIT
    return max(REGISTER_UNIT, min(MOST_REGISTERS, each))


def resident_blocks(gpu: Gpu, threads: int, shared: int, registers: int) -> int:
    """Number of blocks that a multiprocessor has at a time; 0 if not a single one fits.

    Args:
        gpu: the GPU.
        threads: of a block.
        shared: bytes of shared memory of a block.
        registers: of a thread.
    """
    warps = -(-threads // gpu.warp)
    each = -(-registers // REGISTER_UNIT) * REGISTER_UNIT
    fitting = gpu.registers // (each * gpu.warp) // SCHEDULERS * SCHEDULERS
    return min(
        gpu.blocks,
        gpu.threads // (warps * gpu.warp),
        fitting // warps,
        gpu.shared_memory // (shared + SHARED_UNIT) if shared else gpu.blocks,
    )
