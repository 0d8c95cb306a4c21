"""What lowering assumes of machines, and up to which limits it does something by itself.

Default schedules, the tuner's rules and estimates of time use the same numbers."""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.ir.dtype import DType


class Machine(NamedTuple):
    """A CPU, as passes, default schedules and estimates of time know it; by default one with
    AVX-512. `Target.machine` is that of a target.

    Attributes:
        vector_bits: width of a vector register; 0 if there are no vectors.
        vector_registers: number of vector registers.
        has_fma: whether a fused multiply-add is an instruction.
        has_avx512: whether vectors of floats are multiplied by powers of two, and looked up in
            tables of 32, by one instruction each.
        first_cache: bytes of the cache nearest to a core.
        own_cache: bytes of the largest cache that a core has for itself.
        shared_cache: bytes of the cache that cores share.
        cores: number of threads that run at once.
        dot_products: of which dtypes it adds products in groups by an instruction: ``"int8"`` (four
            at once; of two signed or two unsigned numbers), ``"mixed int8"`` (of one each),
            ``"narrow int8"`` (of one each, the signed one from -64 to 64), ``"int16"`` and
            ``"bfloat16"`` (two at once). ``"int8 matrix"`` and the like: also those of two rows and
            two columns by one instruction; mixed ones with unsigned rows. ``"int8 tile"`` and the
            like: also those of blocks in tile registers.
    """

    vector_bits: int = 512
    vector_registers: int = 32
    has_fma: bool = True
    has_avx512: bool = True
    first_cache: int = 32 << 10
    own_cache: int = 1 << 20
    shared_cache: int = 32 << 20
    cores: int = 1
    dot_products: frozenset[str] = frozenset()

    def lanes(self, dtype: DType) -> int:
        """How many elements of `dtype` a vector register holds; at least one."""
        return max(1, self.vector_bits // (dtype.itemsize * 8))


ADD_LATENCY: Final = 4.0
"""Cycles until the result of an addition or multiply-add of vectors can be used."""

RESERVED_REGISTERS: Final = 4
"""Vector registers that are left for operands; all others may hold accumulators."""

VECTORS_PER_ITERATION: Final = 4
"""Vectors per iteration of a loop that is vectorised without being told, which hides the cost of
the loop."""

HEAVY_VECTORS_PER_ITERATION: Final = 2
"""The same for bodies that call functions, which are long chains of operations: two overlap."""

REDUCED_VECTORS_PER_ITERATION: Final = 8
"""The same for long loops that only reduce: two units, whose results take four cycles."""

OVERLAPPING_CHAINS: Final = 4
"""Vectors whose long chains of operations are written side by side. A core looks ahead by a hundred
operations or so: chains of twenty that follow each other would hardly overlap."""

MOST_JAMMED_ROWS: Final = 16
"""Maximum number of rows that are reduced side by side without being told: more hide no more
latency, and only make the code longer."""

LINE_BYTES: Final = 64
"""Bytes that come into a cache together."""


def vectors_per_iteration(extent: int | None, lanes: int, heavy: bool, reductions: int) -> int:
    """How many vectors an iteration of a loop has that is vectorised without being told.

    Args:
        extent: how many elements the loop has; None if that is symbolic.
        lanes: how many elements a vector has.
        heavy: whether the body calls functions.
        reductions: how many results it reduces into.
    """
    vectors = HEAVY_VECTORS_PER_ITERATION if heavy else VECTORS_PER_ITERATION
    if extent is None:
        return vectors
    if reductions and not heavy and extent >= 2 * REDUCED_VECTORS_PER_ITERATION * lanes:
        vectors = max(vectors, REDUCED_VECTORS_PER_ITERATION // reductions)
    while vectors > 1 and vectors * lanes > extent:
        vectors //= 2
    return vectors
