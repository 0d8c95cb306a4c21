"""How many cache lines each access of a program moves, per level of the memory.

Going outwards from a store, each loop repeats what is in it. What one iteration brought into a
cache is still there in the next one if all that an iteration touches fits; then the loop moves only
what is different in its iterations, else everything again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.tune.cost_model.processor import Cache
from tilewright.tune.feature.footprint import crowding, footprint
from tilewright.tune.feature.nest import LinearAccess, Loop, Memory, Part, Program, Statement

FITS, OVERFLOWS = 0.6, 1.4
"""Of the size of a cache: what fits surely, and from where on nothing stays."""

STORED: Final = 2.0
"""A line that is written is read before, and written back later."""


class Stream:
    """The accesses of a statement that go to the same place.

    Attributes:
        access: the first of them.
        weight: how often each line is moved.
        moved: for each cache, how many lines come in, in all iterations of the loops so far.
        touched: for each size of lines, how many different lines there are.
        fitting: for each cache, which part of its lines find a place in the sets that they share.
    """

    __slots__ = ("_along", "_steps", "access", "fitting", "moved", "touched", "weight")

    def __init__(self, access: LinearAccess, statement: Statement, caches: int, sizes: int) -> None:
        self.access = access
        self.weight = STORED if access.is_store else 1.0
        self.moved = [1.0] * caches
        self.touched = [1.0] * sizes
        self.fitting = [1.0] * caches
        self._steps: tuple[tuple[int, int], ...] = ()
        self._along: dict[Loop, list[tuple[int, int]]] = {}
        for (loop, _, extent), stride in zip(statement.levels, access.strides, strict=True):
            if stride and extent > 1:
                self._along.setdefault(loop, []).append((stride, extent))

    def advance(self, loop: Loop, caches: Sequence[Cache], sizes: Sequence[int]) -> bool:
        """Account for the places that a loop around it adds; whether there are any.

        Args:
            caches: the caches.
            sizes: the sizes that their lines have.
        """
        steps = self._along.get(loop)
        if steps is None:
            return False
        self._steps += tuple(steps)
        itemsize = self.access.memory.itemsize
        self.touched = [footprint(self._steps, itemsize, size).lines for size in sizes]
        for number, cache in enumerate(caches):
            if cache.period:
                self.fitting[number] = crowding(
                    self._steps, itemsize, cache.period, cache.ways, cache.line
                )
        return True


class MemoryTraffic:
    """What a program moves between caches.

    Args:
        program: the program.
        caches: from the nearest to the furthest.

    Attributes:
        streams: the accesses of each statement.
    """

    def __init__(self, program: Program, caches: Sequence[Cache]) -> None:
        self.streams: dict[Statement, list[Stream]] = {}
        self._caches = caches
        self._sizes = list(dict.fromkeys(cache.line for cache in caches))
        self._size_of = [self._sizes.index(cache.line) for cache in caches]
        parts = [self._visit(part) for part in program.body]
        streams = [stream for part in parts for stream in part]
        kept = self._kept(streams)
        self._first_touches(parts, kept)
        for stream in streams:  # what the run before has left there
            stream.moved = [m * (1.0 - stays) for m, stays in zip(stream.moved, kept, strict=True)]

    def cycles(self, statement: Statement) -> float:
        """How long a statement waits for memory, if nothing else delays it."""
        total = 0.0
        for stream in self.streams[statement]:
            for moved, cache in zip(stream.moved, self._caches, strict=True):
                total += moved * cache.cycles * stream.weight
        return total

    def exposed_lines(self, statement: Statement) -> float:
        """Lines from behind the second cache for which a reduction waits before it can begin."""
        if statement.initialises or not any(loop.reduces for loop in statement.loops):
            return 0.0
        return sum(
            stream.moved[1] * stream.weight
            for stream in self.streams[statement]
            if stream.access.is_store
        )

    def _visit(self, part: Part) -> list[Stream]:
        if isinstance(part, Statement):
            return self._of_statement(part)
        parts = [self._visit(inner) for inner in part.body]
        streams = parts[0] if len(parts) == 1 else [s for inner in parts for s in inner]
        if part.loop.extent > 1 or len(parts) > 1:
            kept = self._kept(streams)
            if len(parts) > 1:
                self._first_touches(parts, kept)
            for stream in streams:
                self._repeat(part.loop, stream, kept)
        return streams

    def _of_statement(self, statement: Statement) -> list[Stream]:
        streams: list[Stream] = []
        for access in statement.accesses:
            if not any(
                known.access.memory is access.memory and known.access.strides == access.strides
                for known in streams
            ):
                streams.append(Stream(access, statement, len(self._caches), len(self._sizes)))
        self.streams[statement] = streams
        return streams

    def _kept(self, streams: Sequence[Stream]) -> list[float]:
        """For each cache, the part of what `streams` touch that is still there afterwards."""
        largest: dict[Memory, list[float]] = {}
        for stream in streams:
            memory = stream.access.memory
            known = largest.get(memory)
            if known is None:
                largest[memory] = stream.touched
            elif known is not stream.touched:
                largest[memory] = list(map(max, known, stream.touched))
        touched = [sum(lines) for lines in zip(*largest.values(), strict=True)] or self._no_lines
        kept = []
        for cache, size in zip(self._caches, self._size_of, strict=True):
            filled = touched[size] * cache.line / cache.size
            kept.append(
                1.0 if filled <= FITS
                else 0.0 if filled >= OVERFLOWS
                else (OVERFLOWS - filled) / (OVERFLOWS - FITS)
            )  # fmt: skip
        return kept

    @property
    def _no_lines(self) -> list[float]:
        return [0.0] * len(self._sizes)

    def _first_touches(self, parts: Sequence[list[Stream]], kept: Sequence[float]) -> None:
        """What an earlier part has brought into a cache needs not be moved again."""
        present: dict[Memory, list[float]] = {}
        for part in parts:
            found: dict[Memory, list[float]] = {}
            for stream in part:
                memory, touched = stream.access.memory, stream.touched
                there = present.get(memory)
                if there is not None:
                    for number, size in enumerate(self._size_of):
                        saved = kept[number] * min(1.0, there[size] / touched[size])
                        stream.moved[number] *= 1.0 - saved
                known = found.get(memory)
                found[memory] = touched if known is None else list(map(max, known, touched))
            for memory, touched in found.items():
                known = present.get(memory)
                present[memory] = touched if known is None else list(map(max, known, touched))

    def _repeat(self, loop: Loop, stream: Stream, kept: Sequence[float]) -> None:
        """Account for the iterations of a loop around a stream.

        Args:
            kept: for each cache, the fraction of the data of an iteration that the next one still
                finds there.
        """
        fitting = stream.fitting.copy()
        moves = stream.advance(loop, self._caches, self._sizes)
        moved = stream.moved
        in_registers = stream.access.is_store and loop.reduces and not moves
        for number, stays in enumerate(kept):
            again = moved[number] * loop.extent
            once = stream.touched[self._size_of[number]] if moves else moved[number]
            if again > once:
                again -= stays * (1.0 if in_registers else fitting[number]) * (again - once)
            moved[number] = again
