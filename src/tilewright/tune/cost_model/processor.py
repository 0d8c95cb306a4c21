"""What an estimate of time assumes of every CPU, beside the facts of a `Machine`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from tilewright.tir.transform.machine import LINE_BYTES, Machine


class Cache(NamedTuple):
    """A cache, or the table of translated addresses, which works like one with large lines.

    Attributes:
        size: bytes that it holds.
        line: bytes of a line.
        cycles: until a line that is not in it has arrived, where many are on their way at once.
        period: bytes after which addresses share a set again; 0 where they are scattered.
    """

    size: int
    line: int
    cycles: float
    period: int = 0

    @property
    def ways(self) -> int:
        """Lines of a set."""
        return max(1, self.size // self.period)


PAGE: Final = 4096
"""The lowest bits of addresses say where a line is in the nearest cache."""

WAYS: Final = 16
"""Lines of a set of the second cache."""

ADDRESSES: Final = Cache(64 * PAGE, PAGE, 8.0)
"""The first-level table of translated addresses."""

EXPOSED: Final = 7.0
"""Cycles more for a line from further away that nothing can be done before it arrives."""

ISSUE: Final = 5.0
"""Instructions that begin in a cycle."""

ARITHMETIC, LOADS, STORES = 2.0, 2.0, 1.0
"""Instructions of a kind that begin in a cycle."""

SPILLED: Final = 2.5
"""Cycles that a sum costs, beside its arithmetic, that finds no register."""

ALIASED: Final = 5.0
"""Cycles that a load waits for a store at a distance of a page, which looks like the same place."""

CONDITION: Final = 1.0
"""Cycles to find out whether an element is to be loaded, per comparison of indices."""

MASKED: Final = 7.0
"""Cycles of a masked update of a vector in memory."""

ASKED: Final = 3.5
"""How many times as long a reduction takes that asks in each step whether it goes on."""

REMEMBERED: Final = 24
"""Iterations after which a core no longer knows when a loop ends."""

SCATTERED: Final = 1.5
"""Cycles to load or store an element of a vector that has no neighbours in memory."""

TRANSPOSED: Final = 0.4
"""The same where neighbours are loaded by the other iterations of an unrolled loop."""

DIVISION: Final = 16.0
"""Cycles of a division of vectors of floats."""

INTEGER_DIVISION: Final = 12.0
"""Cycles of an integer division, which no processor does in vectors."""

FUNCTIONS: Final[Mapping[str, float]] = {
    "exp": 13.5, "exp2": 12.0, "exp10": 15.0, "exp_nonpositive": 11.0,
    "log": 20.0, "log2": 20.0, "log10": 20.0, "pow": 60.0,
    "tanh": 25.0, "sigmoid": 28.0, "erf": 25.0, "sqrt": 19.0, "rsqrt": 34.0,
    "sin": 25.0, "cos": 25.0, "tan": 40.0,
}  # fmt: skip
"""Cycles of a mathematical function of a vector."""

OTHER_FUNCTION: Final = 30.0

LOOP: Final = 1.0
"""Cycles that an iteration costs beside its statements."""

LEAVING: Final = 14.0
"""Cycles after the last iteration of a loop: the branch is predicted wrongly."""

DECODED: Final = 4096
"""Instructions that a core keeps decoded."""

STARTING_THREADS: Final = 5000.0
"""Cycles to start a loop on several cores."""


def caches_of(machine: Machine) -> tuple[Cache, ...]:
    """The caches of a machine, from the nearest to the furthest, the table of addresses last."""
    return (
        Cache(machine.first_cache, LINE_BYTES, 1.4, PAGE),
        Cache(machine.own_cache, LINE_BYTES, 8.0, machine.own_cache // WAYS),
        Cache(machine.shared_cache, LINE_BYTES, 8.0),
        ADDRESSES,
    )
