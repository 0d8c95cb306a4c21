"""Which operand of a product of tiles passes through the first cache without being used again.

Around the loop that sums a block up, another one goes to the next block. One operand is the same
there, and would be in the first cache still, had the other one not taken its place meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from tilewright.ir.expr import Expr, const_int_value
from tilewright.tir.stmt import For
from tilewright.tir.substitute import variables_of

MOST_PARTS: Final = 2
"""How many times the size of the first cache an operand may have that is to stay there. Half of it
is found again then; of a larger one next to nothing is, as measured on a Xeon."""


def streamed_operand(
    indices: Sequence[Expr],
    sizes: Sequence[int],
    around: Sequence[For],
    within: Sequence[For],
    first_cache: int,
) -> int | None:
    """Which of two operands is to leave its place in the first cache to the other one, if any.

    Args:
        indices: where the operands' elements are in memory.
        sizes: bytes of each operand that one step of the sum reads.
        around: the loops over blocks of results, from the outermost one.
        within: the loops that sum a block up.
        first_cache: bytes of the cache nearest to a core.

    Returns:
        0 or 1; None if both find their place, or none does.
    """
    variables = [set(variables_of(index)) for index in indices]
    repeated = [loop for loop in around if const_int_value(loop.extent) != 1]
    if not repeated:
        return None
    changes = [repeated[-1].loop_var in names for names in variables]
    extents = {loop.loop_var: const_int_value(loop.extent) for loop in within}
    if changes[0] == changes[1] or None in extents.values():
        return None
    totals = [
        size * prod(n for var, n in extents.items() if var in names and n is not None)
        for size, names in zip(sizes, variables, strict=True)
    ]
    streamed = changes.index(True)
    is_crowded = sum(totals) > first_cache
    return streamed if is_crowded and totals[1 - streamed] <= MOST_PARTS * first_cache else None
