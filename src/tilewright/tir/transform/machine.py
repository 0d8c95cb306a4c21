"""What passes want to know about the machine that a program is for."""

from __future__ import annotations

from typing import NamedTuple, Protocol


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
