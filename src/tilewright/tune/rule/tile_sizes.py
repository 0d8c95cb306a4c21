"""Initial tile sizes of sketches, from which the search starts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from tilewright.ir.expr import Var
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.accesses import BlockAccesses, accesses_of
from tilewright.schedule_rules.operands import find_contraction
from tilewright.schedule_rules.tiles import register_tile
from tilewright.target import Target
from tilewright.target.accelerator import accelerator_of
from tilewright.tir.schedule.traces.random_choices import divisors
from tilewright.tir.stmt import Block, BlockRealize
from tilewright.tir.transform.machine import Machine

MOST_COLUMNS: Final = 1024
MOST_ROWS: Final = 48
"""What is computed between two parts of a reduction: parts of the result that stay in a cache."""

UNIT_TILE: Final = (4, 4)
"""Vectors of results that stay in registers where an intrinsic computes each of them."""

THREADS: Final = (16, 8)
"""Threads of a block along the innermost dimension of the result, and the one before it."""

THREAD_TILE: Final = (4, 4)
"""Results of each thread along these dimensions."""

THREAD_STEPS: Final = 8
"""Steps of a reduction for each part of it that is fetched into shared memory."""


def divisor_near(extent: int, most: int) -> int:
    """The largest divisor that is at most `most` (or 1)."""
    return max(n for n in divisors(extent) if n <= max(1, most))


def divisor_of_lanes(extent: int, most: int, lanes: int) -> int:
    """The largest divisor up to `most`, one that fills vectors of `lanes` if there is any."""
    whole = [n for n in divisors(extent) if n <= most and n % lanes == 0]
    return max(whole) if whole else divisor_near(extent, most)


class TileSizes:
    """Sizes of tiles for the loops of one block.

    Args:
        block: the block.
        target: what it is scheduled for.
        most: the largest innermost tile.
    """

    def __init__(self, block: Block, target: Target, most: int) -> None:
        self._accesses = accesses_of(block)
        self._machine = target.machine
        self._most = most
        self._registers = _register_tiles(self._accesses, self._machine, most)
        by_stride = [var for var in _by_stride(self._accesses) if self._accesses.extents[var] != 1]
        self._inner = by_stride[:2]
        self._of_threads = _thread_tiles(
            {var: self._accesses.extent(var) for var in by_stride}, accelerator_of(target).threads
        )

    def spatial(self, var: Var, extent: int, parts: int) -> list[int]:
        """Sizes for a loop on a CPU: the rest, ones, a part that stays in a cache, registers."""
        registers = divisor_near(extent, self._registers.get(var, 1))
        sizes = [1] * parts
        sizes[-1] = registers
        if parts > 2 and any(var is item for item in self._inner):
            most = MOST_COLUMNS if var is self._inner[0] else MOST_ROWS
            sizes[-2] = divisor_near(extent // registers, most // registers)
        return with_rest(extent, sizes)

    def reduction(self, extent: int, parts: int) -> list[int]:
        """Sizes for a loop of a reduction on a CPU: the rest, and as much as fits inside."""
        return with_rest(extent, [1] * (parts - 1) + [divisor_near(extent, self._most)])

    def spatial_of_threads(self, var: Var, extent: int, parts: int, threads: int) -> list[int]:
        """Sizes for a loop on a GPU: blocks, ones, threads, ones, results of each thread.

        Args:
            extent: how many values it has.
            parts: how many tiles.
            threads: which of them the threads of a block compute.
        """
        sizes = [1] * parts
        wanted, results = self._of_threads.get(var, (1, 1))
        if threads < parts - 1:
            sizes[-1] = divisor_near(extent, results)  # a loop over tiles is shorter
        sizes[threads] = divisor_near(extent // sizes[-1], wanted)
        return with_rest(extent, sizes)

    def reduction_of_threads(self, extent: int, parts: int) -> list[int]:
        """Sizes for a loop of a reduction on a GPU."""
        sizes = [1] * parts
        sizes[min(1, parts - 1)] = divisor_near(extent, min(self._most, THREAD_STEPS))
        return with_rest(extent, sizes)


def _thread_tiles(extents: Mapping[Var, int], most: int) -> dict[Var, tuple[int, int]]:
    """How many threads each iterator has, and how many results each of them.

    Where the innermost dimensions are short, others have the threads that are left.

    Args:
        extents: of the spatial iterators, the innermost first.
        most: maximum number of threads.
    """
    found: dict[Var, tuple[int, int]] = {}
    left, tiles = min(math.prod(THREADS), most), list(THREAD_TILE)
    for number, (var, extent) in enumerate(extents.items()):
        wanted = min(THREADS[number], left) if number < len(THREADS) else left
        results = divisor_near(extent, tiles[0]) if tiles else 1
        threads = divisor_near(extent // results, wanted)
        left //= threads
        if results > 1:
            tiles.pop(0)
        found[var] = threads, results
    return found


def with_rest(extent: int, sizes: list[int]) -> list[int]:
    """Sizes whose product is the extent; the first is what the others leave."""
    rest = extent
    for size in sizes[1:]:
        rest //= size
    return [rest, *sizes[1:]]


def _register_tiles(accesses: BlockAccesses, machine: Machine, most: int) -> Mapping[Var, int]:
    """How much of each iterator one tile has that stays in registers."""
    ordered = _by_stride(accesses)
    if not ordered or not accesses.stores:
        return {}
    if any(isinstance(node, BlockRealize) for node in walk(accesses.block.body)):
        # Each instance computes a vector of results.
        sizes = zip(ordered, UNIT_TILE, strict=False)
        return {var: divisor_near(accesses.extent(var), size) for var, size in sizes}
    dtype = accesses.stores[0].buffer.dtype
    lanes = machine.lanes(dtype)
    found = find_contraction(accesses)
    if found is None:
        column = ordered[0]
        return {column: divisor_of_lanes(accesses.extent(column), most, lanes)}
    rows, columns = accesses.extent(found.row), accesses.extent(found.column)
    depth = min(accesses.count(accesses.reduction), most)
    tile = register_tile(rows, columns, depth, lanes, dtype.itemsize, machine)
    width = divisor_of_lanes(columns, min(most, tile.vectors * lanes), lanes)
    vectors = -(-width // lanes)
    fitting = max(1, (machine.vector_registers - vectors - 1) // vectors)
    return {
        found.column: width,
        found.row: divisor_near(rows, min(most, fitting, max(tile.rows, 1))),
    }


def _by_stride(accesses: BlockAccesses) -> Sequence[Var]:
    """The spatial iterators by the distance of neighbours in the result, the nearest first."""
    if not accesses.stores:
        return []
    store = accesses.stores[0]

    def distance(var: Var) -> float:
        stride = store.stride(var)
        return float("inf") if not stride else abs(stride)

    return sorted(accesses.spatial, key=distance)
