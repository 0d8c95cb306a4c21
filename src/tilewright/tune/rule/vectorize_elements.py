"""`VectorizeElements`: blocks that compute each element on its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.elementwise import joined_with, transposed_along
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import block_of, is_complete, parallelize
from tilewright.schedule_rules.operands import find_contraction
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tune.rule.decisions import choose
from tilewright.tune.rule.nest_rule import NestRule, Structure
from tilewright.tune.rule.plain_nest import Nest, is_plain
from tilewright.tune.rule.vector_loops import MOST_VECTORS, vectorized, without

PIECES: Final = 4
"""Pieces of the work for each core from which on they come out even."""

MUCH: Final = 16
"""So many times the cache of a core that results will not be found in a cache later."""


class VectorizeElements(NestRule):
    """Runs along what is contiguous, in vectors.

    Iterators that continue each other in memory become one loop. Left to the search: how many
    vectors an iteration works on, in how many pieces the work is cut for several cores, and whether
    large results are written past the caches.
    """

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """One, for blocks that are no transpositions.

        What reads a product of matrices that no rule has taken is left to the rule that takes it.
        """
        vector = nest.neighbours()
        if vector is None or not is_complete(sch, nest.block):
            return []
        if transposed_along(nest.accesses, vector) is not None:
            return []
        if any(is_free_product(sch, producer) for producer in sch.get_producers(nest.block)):
            return []
        return [partial(self._vectors, streams=self._may_stream(sch, nest, vector))]

    def _may_stream(self, sch: Schedule, nest: Nest, vector: Var) -> bool:
        """Rows must be so long that some vectors are whole, whatever is decided."""
        accesses = nest.accesses
        lanes = self.machine.lanes(accesses.stores[0].buffer.dtype)
        joined = joined_with(vector, accesses, accesses.spatial)
        is_long = accesses.count(joined) >= PIECES * MOST_VECTORS * self.machine.cores * lanes
        return is_long and may_stream(sch, nest, self.machine)

    def _vectors(self, sch: Schedule, nest: Nest, *, streams: bool) -> None:
        accesses, machine = nest.accesses, self.machine
        vector = nest.neighbours()
        assert vector is not None
        lanes = machine.lanes(accesses.stores[0].buffer.dtype)
        joined = joined_with(vector, accesses, accesses.spatial)
        others = nest.of(without(accesses.spatial, *joined))
        sch.reorder(*others, *nest.of(joined))
        loop = sch.fuse(*nest.of(joined)) if len(joined) > 1 else nest.loops[vector]
        extent = None if None in map(accesses.extents.get, joined) else accesses.count(joined)
        if extent is None:
            outer, _ = vectorized(sch, loop, None, lanes)
            parallelize(sch, [*others, outer], machine)
            return
        if machine.cores > 1:
            rows = accesses.count(without(accesses.spatial, *joined))
            piece, loop = pieces(sch, loop, extent, rows, machine)
            parallelize(sch, [*others, piece], machine)
        outer, _ = vectorized(sch, loop, extent, lanes)
        if streams:
            stream_stores(sch, outer, nest, machine)


def is_free_product(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block is a product of matrices without a schedule."""
    found = find_contraction(accesses_of(block_of(sch, block)))
    return found is not None and is_plain(sch, block)


def pieces(sch: Schedule, loop: LoopRV, extent: int, rows: int, machine: Machine) -> list[LoopRV]:
    """Cut each of some rows into pieces for the cores."""
    counts = [n for n in (1, machine.cores, PIECES * machine.cores) if n <= extent]
    preferred = 1 if rows >= PIECES * machine.cores else counts[min(1, len(counts) - 1)]
    return sch.split(loop, [choose(sch, counts, preferred), None])


def may_stream(sch: Schedule, nest: Nest, machine: Machine) -> bool:
    """Whether what a block writes may be too much to be found in a cache by what reads it."""
    (store,) = nest.accesses.stores
    is_large = nest.accesses.size(store) > machine.own_cache
    has_vectors = machine.lanes(store.buffer.dtype) > 1
    return is_large and has_vectors and not sch.get_consumers(nest.block)


def stream_stores(sch: Schedule, loop: LoopRV, nest: Nest, machine: Machine) -> None:
    """Leave it to the search whether the results of a block are written past the caches."""
    (store,) = nest.accesses.stores
    is_much = nest.accesses.size(store) >= MUCH * machine.own_cache
    chosen = choose(sch, [0, 1], int(is_much))
    sch.annotate(loop, "nontemporal_stores", {store.buffer.name: chosen})
