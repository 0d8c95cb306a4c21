"""Which loops of a kernel become straight code, and how often that stands for an access."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from tilewright.arith.quotients import Digit
from tilewright.tir.stmt import ForKind
from tilewright.tune.feature.nest import LinearAccess, Statement

COPIES: Final = 128
"""Up to how many copies of a statement the compilers of GPUs unroll its innermost loops, though
nobody says so."""


@lru_cache(maxsize=4096)
def divided(statement: Statement) -> tuple[Sequence[int], Sequence[int]]:
    """The positions of the levels that run step by step, and of those that are straight code.

    Loops over threads are neither.
    """
    serial = [n for n, level in enumerate(statement.levels) if not level.source.tag]
    copies = 1
    count = 0
    for position in reversed(serial):
        loop, _, extent = statement.levels[position]
        copies *= extent
        unrolled = loop.kind in (ForKind.UNROLLED, ForKind.VECTORIZED)
        if not unrolled and copies > max(COPIES, loop.unroll_step):
            break
        count += 1
    return serial[: len(serial) - count], serial[len(serial) - count :]


def copies_of(statement: Statement, access: LinearAccess | None = None) -> int:
    """How many copies of a statement stand in straight code, or of one of its accesses.

    What several copies access alike is loaded once.
    """
    _, straight = divided(statement)
    levels: Sequence[Digit] = statement.levels
    return math.prod(levels[n].extent for n in straight if access is None or access.strides[n])


def is_in_registers(statement: Statement, access: LinearAccess) -> bool:
    """Whether it is known at compile time which element of a thread's own memory is accessed.

    Registers have no addresses; what is chosen when the program runs is in memory.
    """
    stepwise, _ = divided(statement)
    return not any(access.strides[n] and statement.levels[n].extent > 1 for n in stepwise)
