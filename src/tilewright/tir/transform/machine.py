"""What lowering assumes of machines, and up to which limits it does something by itself.

Default schedules, the tuner's rules and estimates of time use the same numbers."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol


class Machine(Protocol):
    """A description of a machine; a `Target` is one."""

    @property
    def vector_bits(self) -> int:
        """Width of a vector register; 0 if there are no vectors."""
        ...

    @property
    def vector_registers(self) -> int:
        """How many there are."""
        ...

    @property
    def has_fma(self) -> bool:
        """Whether a fused multiply-add is an instruction."""
        ...

    @property
    def scales_natively(self) -> bool:
        """Whether a vector of floats is multiplied by powers of two in one instruction."""
        ...


class GenericMachine(NamedTuple):
    """A machine that is described by numbers; by default one with AVX-512."""

    vector_bits: int = 512
    vector_registers: int = 32
    has_fma: bool = True
    scales_natively: bool = True


RESERVED_REGISTERS: Final = 4
"""Vector registers that are left for operands; all others may hold accumulators."""

VECTORS_PER_ITERATION: Final = 4
"""Vectors per iteration of a loop that is vectorised without being told, which hides the cost of
the loop."""

HEAVY_VECTORS_PER_ITERATION: Final = 2
"""The same for bodies that call functions, which are long chains of operations: two overlap."""

MOST_JAMMED_ROWS: Final = 16
"""Maximum number of rows that are reduced side by side without being told: more hide no more
latency, and only make the code longer."""

LINE_BYTES: Final = 64
"""Bytes that come into a cache together."""
