"""Whether a cache keeps columns of a matrix as they are.

Lines whose distance is a multiple of a large power of two share a few of its sets.
"""

from __future__ import annotations

import math
from typing import Final

from tilewright.schedule_rules.operands import Contraction
from tilewright.tir.transform.machine import LINE_BYTES

WAYS: Final = 8
"""Minimum number of lines that a set of a cache holds; the number of sets is a power of two."""


def keeps_columns(found: Contraction, steps: int, width: int, itemsize: int, cache: int) -> bool:
    """Whether a cache keeps the columns of a tile for some steps of the sum.

    Args:
        found: the contraction.
        steps: the number of steps.
        width: the number of columns.
        itemsize: bytes of an element, or of a group of steps of a column.
        cache: bytes of the cache, of which other data needs a half.
    """
    accesses = found.accesses
    moving = [var for var in accesses.reduction if accesses.extents[var] != 1]
    lines = -(-width * itemsize // LINE_BYTES)
    for load in found.moving:
        strides = [load.stride(var) for var in moving]
        if None in strides or steps * width * itemsize > cache // 2:
            return False
        distance = max((abs(stride or 0) for stride in strides), default=0) * itemsize
        sets = 1 << max(1, cache // (WAYS * LINE_BYTES)).bit_length() - 1
        ways = cache // (sets * LINE_BYTES)
        if distance % LINE_BYTES == 0 and distance >= LINE_BYTES:
            common = math.gcd(sets, distance // LINE_BYTES)
            sets = sets // common * min(common, lines)
        if steps * lines > ways * sets:
            return False
    return True
