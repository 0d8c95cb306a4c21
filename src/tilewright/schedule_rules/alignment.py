"""Which iterators of a block are those of the elements that it reads."""

from __future__ import annotations

from tilewright.ir.expr import Expr, Var, is_const_int
from tilewright.schedule_rules.accesses import BlockAccesses
from tilewright.tir.analysis.expressions import same_extent


def is_elementwise(consumer: BlockAccesses, producer: BlockAccesses) -> bool:
    """Whether a block reads each element of another one at its own iterators, all of them."""
    rank = len(consumer.spatial)
    return len(producer.spatial) == rank and aligned(consumer, producer) == rank


def aligned(consumer: BlockAccesses, producer: BlockAccesses) -> int:
    """How many leading iterators of a consumer are those of the elements that it reads."""
    if len(producer.stores) != 1:
        return 0
    (store,) = producer.stores
    loads = [load for load in consumer.loads if load.buffer is store.buffer]
    if not loads:
        return 0
    count = 0
    for n, (mine, its) in enumerate(zip(consumer.spatial, producer.spatial, strict=False)):
        if n >= len(store.indices) or not _is_at(store.indices[n], its, producer):
            break
        if not _same_domain(consumer, mine, producer, its):
            break
        if not all(_is_at(load.indices[n], mine, consumer) for load in loads):
            break
        count += 1
    # Iterators in front of all others only: loops run in the order of the iterators.
    return min(count, _leading(consumer), _leading(producer))


def _is_at(index: Expr, var: Var, accesses: BlockAccesses) -> bool:
    """Whether an index is an iterator, or the only value that it has."""
    return index is var or (accesses.extents[var] == 1 and is_const_int(index, 0))


def _leading(accesses: BlockAccesses) -> int:
    """How many iterators come before the first one that is not data-parallel."""
    spatial = accesses.spatial
    for n, item in enumerate(accesses.block.iter_vars):
        if n >= len(spatial) or item.var is not spatial[n]:
            return n
    return len(spatial)


def _same_domain(one: BlockAccesses, var: Var, other: BlockAccesses, its: Var) -> bool:
    first = next(item.dom for item in one.block.iter_vars if item.var is var)
    second = next(item.dom for item in other.block.iter_vars if item.var is its)
    return first is not None and second is not None and same_extent(first.extent, second.extent)
