"""Element-wise consumers of a product, which are computed for each tile of it."""

from __future__ import annotations

from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.groups import aligned
from tilewright.schedule_rules.nest import attempt, block_of, is_complete
from tilewright.schedule_rules.tiles import RegisterTile
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.claim import is_claimed
from tilewright.tune.rule.product.form import Form
from tilewright.tune.rule.product.tiles import Tiled


def consumer_of(sch: Schedule, block: BlockRV) -> BlockRV | None:
    """The only block that reads the result, if it does so element by element."""
    consumers = sch.get_consumers(block)
    if len(consumers) != 1 or is_claimed(sch, consumers[0]):
        return None
    (consumer,) = consumers
    producer, reader = accesses_of(block_of(sch, block)), accesses_of(block_of(sch, consumer))
    rank = len(producer.spatial)
    fits = (
        is_complete(sch, consumer)
        and len(reader.spatial) == rank
        and aligned(reader, producer) == rank
        and len(sch.get_loops(consumer)) == rank
    )
    return consumer if fits else None


def join_epilogue(sch: Schedule, block: BlockRV) -> BlockRV | None:
    """Make one block of those that read the result element by element, one after the other.

    Returns:
        That block, if there is one.
    """
    last = consumer_of(sch, block)
    while last is not None:
        following = consumer_of(sch, last)
        if following is None or attempt(sch, lambda s, b=last: s.compute_inline(b)) is None:
            break
        sch.compute_inline(last)
        last = following
    return last


def append_epilogue(
    sch: Schedule, form: Form, tile: RegisterTile, tiled: Tiled, consumer: BlockRV
) -> None:
    """Compute a consumer for each tile, or for each block of columns, while that is near.

    Args:
        sch: the schedule.
        form: the product.
        tile: its tile of registers.
        tiled: its loops.
        consumer: the consumer, with the spatial iterators of the product in the same order.
    """
    spatial = accesses_of(block_of(sch, form.block)).spatial
    column = next(n for n, var in enumerate(spatial) if var is form.column)
    row = next(n for n, var in enumerate(spatial) if var is form.row)
    place = tiled.tile if tiled.sums is None else tiled.outermost[-1]
    sch.reverse_compute_at(consumer, place, preserve_unit_loops=True)
    loops = sch.get_loops(consumer)[-len(spatial) :]
    panel, vector, lane = sch.split(loops[column], [None, tile.vectors, tile.lanes])
    others = [loop for n, loop in enumerate(loops) if n not in (row, column)]
    if tiled.sums is None:
        sch.reorder(*others, panel, loops[row], vector, lane)
        sch.unroll(loops[row])
    else:
        sch.reorder(*others, loops[row], panel, vector, lane)
    sch.unroll(vector)
    sch.vectorize(lane)
