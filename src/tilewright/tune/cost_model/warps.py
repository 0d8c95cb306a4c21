"""What an access of the threads of a warp moves: sectors of memory, and rounds of shared memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import gcd
from typing import Final, NamedTuple

from tilewright.tir.stmt import ForKind
from tilewright.tune.feature.nest import LinearAccess, Loop, Statement

SECTOR: Final = 32
"""Bytes of memory that move together."""

BANKS: Final = 32
WORD: Final = 4
"""Number of banks of shared memory, and bytes of a word; each bank gives one word in a round."""

WIDEST: Final = 16
"""Bytes that a thread loads or stores in one instruction at most."""

AXES: Final = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


class Threads:
    """The threads of a block that execute a statement together.

    Where loops of one axis are inside of each other, the inner one says who does what.

    Args:
        statement: the statement.

    Attributes:
        loops: the loop of each axis.
        count: number of threads.
    """

    def __init__(self, statement: Statement) -> None:
        found: Mapping[str, Loop] = {loop.tag: loop for loop in statement.loops}
        self.loops = [found[axis] for axis in AXES if axis in found]
        self.count = 1
        self._units: dict[Loop, int] = {}
        for loop in self.loops:
            self._units[loop] = self.count
            self.count *= loop.extent

    def traffic(
        self,
        statement: Statement,
        access: LinearAccess,
        strides: Sequence[int],
        merged: Collection[int],
        warp: int,
    ) -> Traffic:
        """What an access of one warp moves, if it is made once by each thread.

        Args:
            statement: the statement.
            access: one of its accesses.
            strides: elements between neighbours along each level.
            merged: positions of levels that are straight code, whose accesses compilers make at
                once where they are side by side; those of vectorised loops are in any case.
            warp: number of threads of a warp.
        """
        size, lanes = access.memory.itemsize, min(self.count, warp)
        if access.scattered:
            return Traffic(lanes, lanes // 4 + 1, 1)
        digits = []
        width, elsewhere = 1, 0
        for position, (level, stride) in enumerate(zip(statement.levels, strides, strict=True)):
            loop, unit, extent = level
            if loop in self._units and stride and extent > 1:
                digits.append((self._units[loop] * unit, extent, stride))
            is_vector = loop.kind is ForKind.VECTORIZED
            if stride == 1 and (is_vector or position in merged):
                width *= extent
            elif extent > 1:
                elsewhere = gcd(elsewhere, stride)
        most = max(1, WIDEST // size)
        width = gcd(gcd(width, most), elsewhere)  # neighbours that begin at a multiple of it
        return _traffic(tuple(digits), lanes, size, width * size)


class Traffic(NamedTuple):
    """What one warp moves.

    Attributes:
        sectors: different sectors that are touched.
        rounds: rounds until all banks of shared memory have given what was asked of them.
        elements: elements of each thread.
    """

    sectors: int
    rounds: int
    elements: int


@lru_cache(maxsize=1 << 16)
def _traffic(
    digits: tuple[tuple[int, int, int], ...], lanes: int, itemsize: int, width: int
) -> Traffic:
    """See `Threads.traffic`.

    Args:
        digits: of the number of a thread (``thread // unit % extent``) with their strides.
        lanes: threads of the warp.
        itemsize: bytes of an element.
        width: bytes of each thread.
    """
    starts = {
        sum(thread // unit % extent * stride for unit, extent, stride in digits) * itemsize
        for thread in range(lanes)
    }
    sectors = {
        sector
        for start in starts
        for sector in range(start // SECTOR, (start + width - 1) // SECTOR + 1)
    }
    words = {
        word for start in starts for word in range(start // WORD, (start + width - 1) // WORD + 1)
    }
    asked = [0] * BANKS
    for word in words:
        asked[word % BANKS] += 1
    return Traffic(len(sectors), max(asked), max(1, width // itemsize))
