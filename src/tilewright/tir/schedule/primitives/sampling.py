"""Random choices, which the trace records as decisions."""

from __future__ import annotations

import math
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.convert import as_integer
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, sampling
from tilewright.tir.schedule.primitives.compute_at import compute_at
from tilewright.tir.schedule.proofs.scope import scope_of
from tilewright.tir.schedule.symbols import ComputeLocation
from tilewright.tir.schedule.traces.random_choices import (
    RandomState,
    check_parts,
    choose,
    constant_extent,
    count,
    decided,
    divisors,
    weighted,
)
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For


@sampling
def sample_categorical(
    tree: FunctionTree,
    random: RandomState,
    candidates: list[Number],
    probs: list[float],
    decision: int | None = None,
) -> Edit:
    """Choose one of several numbers at random.

    Args:
        candidates: the numbers.
        probs: how likely each one is; only their ratios count.
        decision: the position of the candidate to take, instead of choosing one.

    Returns:
        The number, as an `ExprRV`.

    Raises:
        ArgumentError: for probabilities that are not numbers.
        ArgumentValueError: for lists of different lengths, probabilities that are negative or all
            zero, or a decision that is not a position in the list.

    Example::

        sch = tir.Schedule(scale, seed=1)
        i, j = sch.get_loops("B")
        lanes = sch.sample_categorical([4, 8, 16], probs=[0.25, 0.5, 0.25])
        sch.split(j, [None, lanes])
    """
    weights = _weights(probs)
    if len(candidates) != len(weights):
        raise ArgumentValueError(
            f"sample_categorical: there are {len(candidates)} candidates, "
            f"but {len(weights)} probabilities"
        )
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise ArgumentValueError(
            f"sample_categorical: probabilities are not negative, and not all zero; got {probs}"
        )
    position = random.choice(weights) if decision is None else _position(decision, len(candidates))
    return Edit(tree.func, (candidates[position], position))


def _weights(probs: Any) -> list[float]:
    try:
        return [float(prob) for prob in probs]
    except (TypeError, ValueError):
        raise ArgumentError(
            f"sample_categorical: `probs` is a list of numbers, got {probs!r}"
        ) from None


def _position(decision: Any, size: int) -> int:
    position = as_integer(decision)
    if position is None:
        raise ArgumentValueError(
            f"sample_categorical: a decision is the position of a candidate, got {decision!r}"
        )
    if not 0 <= position < size:
        raise ArgumentValueError(
            f"sample_categorical: the decision {position} is not a position among {size} candidates"
        )
    return position


@sampling
def sample_perfect_tile(
    tree: FunctionTree,
    random: RandomState,
    loop: For | Number,
    n: int,
    max_innermost_factor: int = 16,
    decision: list[int] | None = None,
) -> Edit:
    """Choose `n` factors whose product is the extent of a loop, all choices equally likely.

    Args:
        loop: the loop, with a constant extent; or a number to take for the extent, from 1 to
            2147483647.
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


@sampling
def sample_partitioned_tile(
    tree: FunctionTree,
    random: RandomState,
    loop: For | Number,
    n: int,
    partition_pos: int = 0,
    innerpart_factor: int = 1,
    decision: list[int] | None = None,
) -> Edit:
    """Choose `n` factors of the extent of a loop, the inner ones with a given divisor.

    The product of all factors is the extent; that of those from position `partition_pos` on is a
    multiple of `innerpart_factor`. All choices are equally likely.

    Args:
        loop: the loop, with a constant extent; or a number to take for the extent, from 1 to
            2147483647.
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


ROOT: Final = -1
INLINE: Final = -2


@sampling
def sample_compute_location(
    tree: FunctionTree, random: RandomState, block: BlockRealize, decision: int | None = None
) -> Edit:
    """Choose at random a place at which `compute_at` can compute a block.

    The places are: where it is; inlined into its consumers, if `compute_inline` applies; and the
    loops around its first consumer, if `compute_at` applies to them. All are equally likely.

    Args:
        block: the block.
        decision: the place to take instead of choosing one: -1 for where the block is, -2 for
            inlining it, otherwise the position of the loop around the first consumer, the
            outermost being 0.

    Returns:
        The loop; for -1 and -2, a `LoopRV` that stands for no loop. `compute_at` takes any of them.

    Raises:
        ArgumentValueError: for a decision that is none of these.

    Example::

        sch = tir.Schedule(blur, seed=1)
        loop = sch.sample_compute_location("B")
        sch.compute_at("B", loop)
    """
    loops = _loops_around_consumer(tree, block)
    if decision is not None:
        position = _checked(decision, len(loops))
        return Edit(tree.func, (_location(position, loops), position))
    candidates = [ROOT, INLINE, *range(len(loops))]
    while True:
        position = candidates.pop(random.integer(0, len(candidates)))
        place = _location(position, loops)
        if _applies(tree, block, place):
            return Edit(tree.func, (place, position))


def compute_locations(tree: FunctionTree, block: BlockRealize) -> list[int]:
    """All decisions from which `sample_compute_location` chooses for a block."""
    loops = _loops_around_consumer(tree, block)
    candidates = [ROOT, INLINE, *range(len(loops))]
    return [n for n in candidates if _applies(tree, block, _location(n, loops))]


def _loops_around_consumer(tree: FunctionTree, block: BlockRealize) -> list[For]:
    consumers = [] if block is tree.root else scope_of(tree, block).consumers(block)
    return tree.loops_above(consumers[0]) if consumers else []


def _checked(decision: Any, count: int) -> int:
    position = as_integer(decision)
    if position is None:
        raise ArgumentValueError(
            f"sample_compute_location: a decision is an integer, got {decision!r}"
        )
    if not INLINE <= position < count:
        raise ArgumentValueError(
            f"sample_compute_location: the decision {position} is neither -1, -2, nor one of the "
            f"{count} loops around the first consumer"
        )
    return position


def _location(position: int, loops: list[For]) -> For | ComputeLocation:
    special = {ROOT: ComputeLocation.ROOT, INLINE: ComputeLocation.INLINE}
    return special.get(position) or loops[position]


def _applies(tree: FunctionTree, block: BlockRealize, place: For | ComputeLocation) -> bool:
    if place is ComputeLocation.ROOT:
        return True
    try:
        compute_at(tree, block, place)
    except ScheduleError:
        return False
    return True
