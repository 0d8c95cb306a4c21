"""Steps that belong together, as people write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.property import likely_arguments as likely
from tests.property.intrinsics import NAMES, register
from tests.property.step_arguments import RefusedError

from tilewright.ir.expr import is_const_int
from tilewright.tir.schedule.scope import Scope

if TYPE_CHECKING:
    from tests.property.random_schedules import Steps


def tile(steps: Steps) -> None:
    """Split several loops of a nest, with the inner parts inside."""
    loops = steps.loops(steps.block())
    parts = [steps.apply("split", loop, [None, steps.rng.choice((2, 3, 4))]) for loop in loops]
    steps.apply("reorder", *(part[0] for part in parts), *(part[1] for part in parts))


def compute_windows(steps: Steps) -> None:
    """Compute a producer in a tile of its consumer, and then each element only once."""
    rng = steps.rng
    producer, consumer = likely._related(steps, Scope.consumers)
    loop = steps.loop(consumer)
    if rng.random() < 0.7:
        loop, _ = steps.apply("split", loop, [None, rng.choice((1, 2, 3))])
    steps.apply("compute_at", producer, loop)
    choice = rng.random()
    if choice < 0.45:
        steps.apply("rolling_buffer", producer, 0)
    elif choice < 0.9:
        steps.apply("add_guard", producer, steps.loop(producer))


def cache_in_tile(steps: Steps) -> None:
    """Cache what a block reads or writes, in one of its loops."""
    rng = steps.rng
    block = steps.block()
    scope = rng.choice(("global", "local"))
    if rng.random() < 0.5:
        cache = steps.apply("cache_read", block, 0, scope)
        loop = steps.loop(block)
        steps.apply("compute_at", cache, loop)
        if rng.random() < 0.5:
            steps.apply("add_guard", cache, steps.rng.choice(steps.loops(cache)))
    else:
        cache = steps.apply("cache_write", block, 0, scope)
        steps.apply("reverse_compute_at", cache, steps.loop(block))


def stage_and_guard(steps: Steps) -> None:
    """Stage what an iteration needs, and copy again only what is new."""
    block = steps.block()
    stmt = steps.realize(block).block
    if not stmt.reads:
        return
    region = steps.rng.choice(stmt.reads)
    loop = steps.loop(block)
    found = steps.apply("stage_mem", loop, region.buffer.name)
    first = found[0] if isinstance(found, list) else found
    steps.apply("add_guard", first, steps.rng.choice(steps.loops(first)))


def factor_reduction(steps: Steps) -> None:
    """Split a reduction, compute partial results, and put them elsewhere."""
    rng = steps.rng
    block = likely._block_that(steps, likely._is_reduction)
    loop = rng.choice(likely._reduction_loops(steps, block))
    parts = steps.apply("split", loop, [None, rng.choice((2, 3, 4))])
    factored = steps.apply("rfactor", rng.choice(parts), 0)
    choice = rng.random()
    if choice < 0.3:
        steps.apply("compute_at", factored, steps.loop(block))
    elif choice < 0.6:
        steps.apply("reverse_compute_at", block, rng.choice(steps.loops(factored)))
    elif choice < 0.8:
        steps.apply("parallel", steps.loops(factored)[0])


def blockize_tile(steps: Steps) -> None:
    """Make the inner loops of a tiled nest a block."""
    block = steps.block()
    loops = steps.loops(block)
    parts = [steps.apply("split", loop, [None, 2]) for loop in loops]
    steps.apply("reorder", *(part[0] for part in parts), *(part[1] for part in parts))
    steps.apply("blockize", parts[0][1])


def use_intrinsic(steps: Steps) -> None:
    """Tile a nest by 2 and replace the tile by a tensor intrinsic."""
    register()
    rng = steps.rng
    block = steps.block()
    loops = steps.loops(block)[-3:]
    parts = [steps.apply("split", loop, [None, 2]) for loop in loops]
    if len(parts) > 1:
        steps.apply("reorder", *(part[0] for part in parts), *(part[1] for part in parts))
    for name in rng.sample(NAMES, len(NAMES)):
        try:
            steps.apply("tensorize", parts[0][1], name)
            return
        except RefusedError:
            continue


def parallel_outermost(steps: Steps) -> None:
    """Run the outermost loop of a nest at once, and the innermost one as lanes."""
    loops = steps.loops(steps.block())
    if not is_const_int(steps.sch.get(loops[0]).extent, 1):
        steps.apply("parallel", loops[0])
    if len(loops) > 1:
        steps.apply(steps.rng.choice(("vectorize", "unroll")), loops[-1])


RECIPES: list[Callable[[Steps], None]] = [
    tile, compute_windows, compute_windows, cache_in_tile, stage_and_guard, factor_reduction,
    blockize_tile, use_intrinsic, use_intrinsic, parallel_outermost,
]  # fmt: skip
