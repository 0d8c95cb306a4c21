"""Choosing where to compute a block."""

from __future__ import annotations

from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.ir.convert import as_integer
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import sampling
from tilewright.tir.schedule.primitives.compute_at import compute_at
from tilewright.tir.schedule.proofs.scope import scope_of
from tilewright.tir.schedule.references import Place
from tilewright.tir.schedule.traces.random_state import RandomState
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For

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
        return Edit(tree.func, (_place(position, loops), position))
    candidates = [ROOT, INLINE, *range(len(loops))]
    while True:
        position = candidates.pop(random.integer(0, len(candidates)))
        place = _place(position, loops)
        if _applies(tree, block, place):
            return Edit(tree.func, (place, position))


def compute_locations(tree: FunctionTree, block: BlockRealize) -> list[int]:
    """All decisions from which `sample_compute_location` chooses for a block."""
    loops = _loops_around_consumer(tree, block)
    candidates = [ROOT, INLINE, *range(len(loops))]
    return [n for n in candidates if _applies(tree, block, _place(n, loops))]


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


def _place(position: int, loops: list[For]) -> For | Place:
    return {ROOT: Place.ROOT, INLINE: Place.INLINE}.get(position) or loops[position]


def _applies(tree: FunctionTree, block: BlockRealize, place: For | Place) -> bool:
    if place is Place.ROOT:
        return True
    try:
        compute_at(tree, block, place)
    except ScheduleError:
        return False
    return True
