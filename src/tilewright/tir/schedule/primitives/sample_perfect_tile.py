"""Choosing factors of the extent of a loop."""

from __future__ import annotations

from tilewright.error import ArgumentValueError
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import sampling
from tilewright.tir.schedule.traces.factorization import (
    check_parts,
    choose,
    constant_extent,
    count,
    decided,
    divisors,
    weighted,
)
from tilewright.tir.schedule.traces.random_state import RandomState
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import For


@sampling
def sample_perfect_tile(
    tree: FunctionTree,
    random: RandomState,
    loop: For,
    n: int,
    max_innermost_factor: int = 16,
    decision: list[int] | None = None,
) -> Edit:
    """Choose `n` factors whose product is the extent of a loop, all choices alike likely.

    Args:
        loop: the loop, with a constant extent.
        n: how many factors.
        max_innermost_factor: the largest value of the last factor; -1 for no limit.
        decision: the factors to take, instead of choosing them. One that does not divide what
            those after it leave of the extent is replaced by its greatest common divisor with it;
            the first factor is what remains.

    Returns:
        The factors, the outermost first, as a list of `ExprRV`.

    Raises:
        ScheduleError: for a loop whose extent is symbolic, or that has no such factors.
        ArgumentValueError: for `n` less than 1 or more than 1000, or a decision that is not a list
            of `n` positive numbers.

    Example::

        sch = tir.Schedule(matmul, seed=1)
        i, j, k = sch.get_loops("C")
        factors = sch.sample_perfect_tile(j, n=3, max_innermost_factor=8)
        sch.split(j, factors)
    """
    check_parts("sample_perfect_tile", n)
    if max_innermost_factor < 1 and max_innermost_factor != -1:
        raise ArgumentValueError(
            "sample_perfect_tile: `max_innermost_factor` is at least 1, or -1 for no limit; "
            f"got {max_innermost_factor}"
        )
    extent = constant_extent(loop)
    if decision is not None:
        factors = decided("sample_perfect_tile", extent, n, decision)
        return Edit(tree.func, (factors, factors))
    limit = extent if max_innermost_factor == -1 else max_innermost_factor
    innermost = [d for d in divisors(extent) if d <= limit and count(extent // d, n - 1)]
    if not innermost:
        raise ScheduleError(
            f"the only factor of {{0}} is its extent, {extent}, which is more than "
            f"max_innermost_factor, {limit}",
            at=[loop],
        )
    last = weighted(random, innermost, [count(extent // d, n - 1) for d in innermost])
    factors = [*choose(random, extent // last, n - 1), last]
    return Edit(tree.func, (factors, factors))
