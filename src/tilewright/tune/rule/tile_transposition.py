"""`TileTransposition`: blocks that read along one dimension and write along another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from tilewright.schedule_rules.elementwise import transposed_along
from tilewright.schedule_rules.nest import is_complete, parallelize
from tilewright.tir.schedule import Schedule
from tilewright.tune.rule.decisions import choose
from tilewright.tune.rule.nest_rule import NestRule, Structure
from tilewright.tune.rule.plain_nest import Nest
from tilewright.tune.rule.vector_loops import lanes_for, without
from tilewright.tune.rule.vectorize_elements import may_stream, stream_stores

MOST_LANES: Final = 16
"""The side of a tile that is transposed in registers, at the most."""


class TileTransposition(NestRule):
    """Transposes square tiles of vectors in registers.

    Left to the search: how many tiles follow each other in both directions, and whether large
    results are written past the caches.
    """

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """One, for blocks in which an operand is transposed."""
        vector = nest.neighbours()
        if vector is None or not is_complete(sch, nest.block):
            return []
        if transposed_along(nest.accesses, vector) is None:
            return []
        return [partial(self._tiles, streams=may_stream(sch, nest, self.machine))]

    def _tiles(self, sch: Schedule, nest: Nest, *, streams: bool) -> None:
        accesses = nest.accesses
        vector = nest.neighbours()
        assert vector is not None
        across = transposed_along(accesses, vector)
        assert across is not None
        lanes = min(MOST_LANES, self.machine.lanes(accesses.stores[0].buffer.dtype))
        extents = [accesses.extents[var] for var in (across, vector)]
        side, width = (lanes_for(extent, lanes) for extent in extents)
        high = choose(sch, *_repeats((1, 2, 4, 8), side, extents[0]))
        wide = choose(sch, *_repeats((1, 2, 4, 8, 32), width, extents[1]))
        row_tile, row_part, row = sch.split(nest.loops[across], [None, high, side])
        column_tile, column_part, column = sch.split(nest.loops[vector], [None, wide, width])
        others = nest.of(without(accesses.spatial, vector, across))
        sch.reorder(*others, column_tile, row_tile, row_part, column_part, row, column)
        sch.unroll(row)
        sch.vectorize(column)
        parallelize(sch, [*others, column_tile], self.machine)
        if streams and None not in extents and accesses.extent(vector) >= lanes:
            stream_stores(sch, row_tile, nest, self.machine)


def _repeats(counts: Sequence[int], side: int, extent: int | None) -> tuple[list[int], int]:
    """How many tiles may follow each other, so that one does not stick out; and how many should."""
    fitting = [n for n in counts if n == 1 or extent is None or n * side <= extent]
    return fitting, 2 if 2 in fitting else 1
