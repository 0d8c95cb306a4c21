"""How many cache lines each access of a program moves, per level of the memory.

Going outwards from a store, each loop repeats what is in it. What one iteration brought into a
cache is still there in the next one if all that an iteration touches fits; then the loop moves only
what is different in its iterations, else everything again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.tune.cost_model.processor import Cache
from tilewright.tune.feature.footprint import PERIOD, footprint
from tilewright.tune.feature.nest import Access, Loop, Memory, Part, Program, Statement

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
        touched: for each cache, how many different lines there are.
    """

    __slots__ = ("_along", "_clashes", "_steps", "access", "moved", "touched", "weight")

    def __init__(self, access: Access, statement: Statement, caches: int) -> None:
        self.access = access
        self.weight = STORED if access.is_store else 1.0
        self.moved = [1.0] * caches
        self.touched = [1.0] * caches
        self._steps: tuple[tuple[int, int], ...] = ()
        self._clashes = False  # its lines push each other out of the sets that they share
        self._along: dict[Loop, list[tuple[int, int]]] = {}
        for (loop, _, extent), stride in zip(statement.levels, access.strides, strict=True):
            if stride and extent > 1:
                self._along.setdefault(loop, []).append((stride, extent))

    def repeat(self, loop: Loop, caches: Sequence[Cache], kept: Sequence[float]) -> None:
        """Account for the iterations of a loop around it.

        Args:
            loop: the loop.
            caches: the caches.
            kept: for each cache, which part of what an iteration touches is there in the next one.
        """
        steps = self._along.get(loop)
        if steps is not None:
            self._steps += tuple(steps)
        for number, stays in enumerate(kept):
            if not number and self._clashes:
                stays = 0.0
            again = self.moved[number] * loop.extent
            once = self.moved[number]
            if steps is not None:
                cache = caches[number]
                whole = footprint(self._steps, self.access.memory.itemsize, cache.line)
                once = self.touched[number] = whole.lines
                if not number:
                    ways = max(1, cache.size // PERIOD)
                    self._clashes = whole.lines > ways * whole.places
            self.moved[number] = again - stays * max(0.0, again - once)


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
        self._numbers = range(len(caches))
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

    def _visit(self, part: Part) -> list[Stream]:
        if isinstance(part, Statement):
            return self._of_statement(part)
        parts = [self._visit(inner) for inner in part.body]
        streams = parts[0] if len(parts) == 1 else [s for inner in parts for s in inner]
        if part.loop.extent > 1:
            kept = self._kept(streams)
            if len(parts) > 1:
                self._first_touches(parts, kept)
            for stream in streams:
                stream.repeat(part.loop, self._caches, kept)
        return streams

    def _of_statement(self, statement: Statement) -> list[Stream]:
        streams: list[Stream] = []
        for access in statement.accesses:
            if not any(
                known.access.memory is access.memory and known.access.strides == access.strides
                for known in streams
            ):
                streams.append(Stream(access, statement, len(self._caches)))
        self.streams[statement] = streams
        return streams

    def _kept(self, streams: Sequence[Stream]) -> list[float]:
        """For each cache, the part of what `streams` touch that is still there afterwards."""
        kept = []
        for number in self._numbers:
            largest: dict[Memory, float] = {}
            for stream in streams:
                memory, lines = stream.access.memory, stream.touched[number]
                if lines > largest.get(memory, 0.0):
                    largest[memory] = lines
            cache = self._caches[number]
            filled = sum(largest.values()) * cache.line / cache.size
            kept.append(min(1.0, max(0.0, (OVERFLOWS - filled) / (OVERFLOWS - FITS))))
        return kept

    def _first_touches(self, parts: Sequence[list[Stream]], kept: Sequence[float]) -> None:
        """What an earlier part has brought into a cache needs not be moved again."""
        for number in self._numbers:
            if not kept[number]:
                continue
            present: dict[Memory, float] = {}
            for part in parts:
                found: dict[Memory, float] = {}
                for stream in part:
                    memory, touched = stream.access.memory, stream.touched[number]
                    there = min(1.0, present.get(memory, 0.0) / touched)
                    stream.moved[number] *= 1.0 - there * kept[number]
                    found[memory] = max(found.get(memory, 0.0), touched)
                for memory, touched in found.items():
                    present[memory] = max(present.get(memory, 0.0), touched)
