"""Arrays that no cache of a core holds: results that go past the caches, and operands that are
asked for early."""

from __future__ import annotations

from typing import Final

from tilewright.ir.expr import IntImm
from tilewright.schedule_rules.decisions import choose
from tilewright.schedule_rules.nest import Nest
from tilewright.tir.schedule import LoopRV, Schedule
from tilewright.tir.transform.branches import is_simple
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH
from tilewright.tir.transform.machine import Machine
from tilewright.tir.transform.stream_stores import NONTEMPORAL_STORES

MUCH: Final = 16
"""Multiple of the cache of a core from which on results are in no cache when they are read."""

SCATTERED: Final = 2
"""The same for each core, for results that are written line by line, far apart: a large cache of a
core makes up for that no longer."""

LARGE_CACHE: Final = 2 << 20
"""Bytes of the cache of a core from which on the shared one behind it is hardly faster than memory:
it is spread over many cores, and gets what the caches of these push out."""

AHEAD: Final = 8
"""Iterations by which operands in a far cache are asked for."""


def has_large_cache(machine: Machine) -> bool:
    """Whether a core's own cache is so large that the shared one is hardly faster than memory."""
    return machine.own_cache >= LARGE_CACHE


def may_stream(sch: Schedule, nest: Nest, machine: Machine) -> bool:
    """Whether what a block writes may be too much to be found in a cache by what reads it."""
    (store,) = nest.accesses.stores
    is_large = nest.outer == 0 and nest.accesses.size(store) > machine.own_cache
    has_vectors = machine.lanes(store.buffer.dtype) > 1
    return is_large and has_vectors and not sch.get_consumers(nest.block)


def stream_stores(
    sch: Schedule, loop: LoopRV, nest: Nest, machine: Machine, *, scattered: bool = False
) -> None:
    """Leave it to the search whether the results of a block are written past the caches.

    Args:
        scattered: whether lines that are written one after the other are far apart.
    """
    (store,) = nest.accesses.stores
    chosen = choose(sch, [0, 1], int(is_far(nest.accesses.size(store), machine, scattered)))
    sch.annotate(loop, NONTEMPORAL_STORES, {store.buffer.name: chosen})


def is_far(size: int, machine: Machine, scattered: bool = False) -> bool:
    """Whether so many bytes are written, and read later, no slower past the caches.

    Args:
        scattered: whether lines that are written one after the other are far apart.
    """
    if scattered and has_large_cache(machine):
        return size >= SCATTERED * machine.own_cache * machine.cores
    return size >= MUCH * machine.own_cache


def ask_ahead(sch: Schedule, loop: LoopRV, nest: Nest, machine: Machine) -> None:
    """Leave it to the search whether operands that no cache of a core holds are asked for early.

    A core that waits for a far cache looks ahead by too few vectors if each is much work.

    Args:
        loop: the loop over the vectors of a long row.
    """
    vector, extent, accesses = nest.neighbours(), sch.get(loop).extent, nest.accesses
    if nest.outer != 0 or vector is None or not has_large_cache(machine):
        return
    if not isinstance(extent, IntImm) or extent.value < 2 * AHEAD:
        return
    far = [
        load.buffer.name
        for load in accesses.loads
        if load.stride(vector) == 1
        and all(map(is_simple, load.indices))
        and accesses.size(load) > machine.own_cache
    ]
    if far:
        ahead = choose(sch, (0, AHEAD), AHEAD)
        sch.annotate(loop, SOFTWARE_PREFETCH, dict.fromkeys(far, ahead))
