"""Choosing factors of the extent of a loop of which the inner ones have a given divisor."""

from __future__ import annotations

import math

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
def sample_partitioned_tile(
    tree: FunctionTree,
    random: RandomState,
    loop: For,
    n: int,
    partition_pos: int = 0,
    innerpart_factor: int = 1,
    decision: list[int] | None = None,
) -> Edit:
    """Choose `n` factors of the extent of a loop, the inner ones with a given divisor.

    The product of all factors is the extent; that of those from position `partition_pos` on is a
    multiple of `innerpart_factor`. All choices are alike likely.

    Args:
        loop: the loop, with a constant extent.
        n: how many factors.
        partition_pos: where the inner part starts.
        innerpart_factor: what divides the product of the inner part.
        decision: the factors to take, instead of choosing them, repaired as for
            `sample_perfect_tile`. Where `innerpart_factor` then does not divide the inner part,
            its last factor becomes what is needed for that, and those before the last are repaired
            again.

    Returns:
        The factors, the outermost first, as a list of `ExprRV`.

    Raises:
        ScheduleError: for a loop whose extent is symbolic, or no multiple of `innerpart_factor`.
        ArgumentValueError: for numbers out of range, or a decision that is not a list of `n`
            positive numbers.

    Example::

        sch = tir.Schedule(matmul, seed=1)
        i, j, k = sch.get_loops("C")
        factors = sch.sample_partitioned_tile(j, n=3, partition_pos=1, innerpart_factor=8)
        sch.split(j, factors)
    """
    check_parts("sample_partitioned_tile", n)
    if not 0 <= partition_pos <= n or innerpart_factor < 1:
        raise ArgumentValueError(
            "sample_partitioned_tile: `innerpart_factor` is at least 1 and `partition_pos` is "
            f"from 0 to n; got {innerpart_factor}, {partition_pos} and n={n}"
        )
    extent = constant_extent(loop)
    if extent % innerpart_factor or (partition_pos == n and innerpart_factor > 1):
        raise ScheduleError(
            f"no inner factors of the extent of {{0}}, {extent}, have a product that is a multiple "
            f"of innerpart_factor, {innerpart_factor}",
            at=[loop],
        )
    if decision is not None:
        factors = _decided(extent, n, partition_pos, innerpart_factor, decision)
        return Edit(tree.func, (factors, factors))
    inner_count = n - partition_pos
    products = [d for d in divisors(extent) if d % innerpart_factor == 0]
    weights = [count(extent // d, partition_pos) * count(d, inner_count) for d in products]
    inner = weighted(random, products, weights)
    outer_factors = choose(random, extent // inner, partition_pos)
    factors = outer_factors + choose(random, inner, inner_count)
    return Edit(tree.func, (factors, factors))


def _decided(extent: int, n: int, start: int, divisor: int, decision: list[int]) -> list[int]:
    factors = decided("sample_partitioned_tile", extent, n, decision)
    inner = math.prod(factors[start:])
    missing = divisor // math.gcd(inner, divisor)
    if missing == 1:
        return factors
    factors[-1] *= missing
    return decided("sample_partitioned_tile", extent, n, factors)
