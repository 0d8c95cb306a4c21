"""Steps that belong together, as people write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.property import likely_arguments as likely
from tests.property.intrinsics import intrinsics_of, register
from tests.property.step_arguments import RefusedError

from tilewright.ir.expr import is_const_int
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.proofs.scope import Scope

if TYPE_CHECKING:
    from tests.property.random_schedules import Steps


MOST_LOOPS = 16
"""Of so many loops a nest is tiled no further: parts larger than what they are parts of add up to
programs that nobody can wait for."""


def tile(steps: Steps) -> None:
    """Split several loops of a nest, with the inner parts inside."""
    loops = steps.loops(steps.block())
    if len(loops) > MOST_LOOPS:
        raise RefusedError
    parts = [steps.apply("split", loop, [None, steps.rng.choice((2, 3, 4))]) for loop in loops]
    steps.apply("reorder", *(part[0] for part in parts), *(part[1] for part in parts))


def compute_windows(steps: Steps) -> None:
    """Compute a producer in a tile of its consumer, and then each element only once."""
    rng = steps.rng
    producer, consumer = _producer_with_window(steps)
    loop = steps.loops(consumer)[0] if rng.random() < 0.8 else steps.loop(consumer)
    if rng.random() < 0.5:
        loop, _ = steps.apply("split", loop, [None, rng.choice((1, 2, 3))])
    steps.apply("compute_at", producer, loop)
    choice = rng.random()
    if choice < 0.45:
        steps.apply("rolling_buffer", producer, 0)
    elif choice < 0.9:
        steps.apply("add_guard", producer, loop)


def _producer_with_window(steps: Steps) -> tuple[str, str]:
    """A producer and a consumer that reads several of its elements, if there are such."""
    names = set(steps.blocks())
    found = []
    for name in sorted(names):
        written = {region.buffer for region in steps.realize(name).block.writes}
        for consumer in steps.scope(name).consumers(steps.realize(name)):
            reads = [r for r in consumer.block.reads if r.buffer in written]
            is_wide = any(not is_const_int(r.region[0].extent, 1) for r in reads)
            sums = any(item.iter_type is IterType.COMM_REDUCE for item in consumer.block.iter_vars)
            if consumer.block.name_hint in names and (is_wide or sums):
                found.append((name, consumer.block.name_hint))
    return steps.rng.choice(found or [likely.related(steps, Scope.consumers)])


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
    block = likely.block_that(steps, likely.is_reduction)
    loop = rng.choice(likely.reduction_loops(steps, block))
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

    def has_even_loops(name: str) -> bool:
        extents = [steps.sch.get(loop).extent for loop in steps.loops(name)]
        return bool(extents) and all(getattr(e, "value", 1) % 2 == 0 for e in extents)

    block = rng.choice([name for name in steps.blocks() if has_even_loops(name)])
    realize = steps.realize(block)
    parts = [steps.apply("split", loop, [None, 2]) for loop in steps.loops(block)]
    if len(parts) > 1:
        steps.apply("reorder", *(part[0] for part in parts), *(part[1] for part in parts))
    dtype = realize.block.writes[0].buffer.dtype
    names = intrinsics_of(str(dtype), len(parts), realize.block.init is not None)
    for name in rng.sample(names, len(names)):
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
    tile, compute_windows, compute_windows, compute_windows, cache_in_tile, stage_and_guard,
    factor_reduction, blockize_tile, use_intrinsic, use_intrinsic, parallel_outermost,
]  # fmt: skip
