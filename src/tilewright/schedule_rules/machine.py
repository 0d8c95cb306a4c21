"""What the rules want to know about the machine that a program is scheduled for."""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.ir.dtype import DType
from tilewright.target import Target

ADD_LATENCY: Final = 4.0
"""Cycles until the result of an addition or multiply-add of vectors can be used."""


class Machine(NamedTuple):
    """Vectors, caches and cores.

    Attributes:
        vector_bits: width of a vector register.
        vector_registers: how many there are.
        first_cache: bytes of the cache nearest to a core.
        own_cache: bytes of the largest cache that a core has for itself.
        cores: how many threads run at once.
    """

    vector_bits: int = 512
    vector_registers: int = 32
    first_cache: int = 32 << 10
    own_cache: int = 1 << 20
    cores: int = 1

    def lanes(self, dtype: DType) -> int:
        """How many elements of `dtype` a vector register holds; at least one."""
        return max(1, self.vector_bits // (dtype.itemsize * 8))


def machine_of(target: Target) -> Machine:
    """The machine of a target for CPUs."""
    first, own, _ = target.cache_sizes
    return Machine(target.vector_bits, target.vector_registers, first, own, target.num_cores)
