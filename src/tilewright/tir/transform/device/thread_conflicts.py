"""Whether two threads may access the same element, by integer sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.ir.convert import const
from tilewright.tir.access import Access, collect_accesses
from tilewright.tir.analysis.dependence.access_sides import AccessSide, Dimension, meeting
from tilewright.tir.analysis.dependence.example import VERBS, sample_point
from tilewright.tir.analysis.dependence.solver import answers, limited
from tilewright.tir.analysis.dependence.violation import NotProved
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import Stmt
from tilewright.tir.transform.device.thread_axes import BLOCKS, THREADS, Axis


def shared_accesses(stmt: Stmt) -> list[Access]:
    """What a statement accesses of the memory that threads share."""
    return list(filter(is_shared, collect_accesses(stmt).accesses))


def is_shared(access: Access) -> bool:
    """Whether an access is one of memory that threads share."""
    return owner_of(access.buffer.scope()) is not MemoryOwner.THREAD


class ThreadConflicts:
    """Finds accesses of two threads of which one does not wait for the other.

    Args:
        axes: those of the kernel.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        self._axes = axes

    def among_threads(self, first: Access, second: Access) -> bool:
        """Whether two threads of one block may access the same element, one of them writing.

        What is too complicated to decide may be so.
        """
        return self._exists(first, second, THREADS, BLOCKS) is not False

    def certainly_among_threads(self, first: Access, second: Access) -> bool:
        """Whether two threads of one block are known to access the same element, one writing."""
        return self._exists(first, second, THREADS, BLOCKS) is True

    def among_blocks(self, first: Access, second: Access) -> bool:
        """Whether threads of two blocks certainly access the same element, one of them writing.

        What is too complicated to decide here is left to the proof of the step that bound a loop.
        """
        return self._exists(first, second, BLOCKS, ()) is True

    def certainly_along(self, axis: str, first: Access, second: Access) -> bool:
        """Whether threads that differ along one axis only are known to access the same element,
        one writing."""
        others = [other.tag for other in self._axes if other.tag != axis]
        return self._exists(first, second, (axis,), others) is True

    def threads_that_meet(self, first: Access, second: Access) -> str:
        """Two threads of one block that access the same element; empty if none are found."""
        return self._example(first, second, THREADS, BLOCKS)

    def blocks_that_meet(self, first: Access, second: Access) -> str:
        """Threads of two blocks that access the same element; empty if none are found."""
        return self._example(first, second, BLOCKS, ())

    def _example(
        self, first: Access, second: Access, differing: Sequence[str], same: Sequence[str]
    ) -> str:
        _, pairs = self._meeting(first, second, differing, same)
        with limited():
            found = answers(sample_point)(pairs)
        if isinstance(found, NotProved):
            return ""
        values = iter(found.first)
        one, other = (
            ", ".join(f"{axis.tag}={next(values)}" for axis in self._free(same)) for _ in range(2)
        )
        verbs = [VERBS[access.is_write] for access in (first, second)]
        element = f"{first.buffer.name}[{', '.join(map(str, values))}]"
        return f"{element}: {verbs[0]} by thread ({one}) and {verbs[1]} by thread ({other})"

    def _exists(
        self, first: Access, second: Access, differing: Sequence[str], same: Sequence[str]
    ) -> bool | None:
        """Whether there are two threads that meet; None where that cannot be told."""
        if first.buffer.data is not second.buffer.data or not first.is_write | second.is_write:
            return False
        if first.is_atomic and second.is_atomic:
            return False
        if not self._apart(first, second, differing):
            return False
        if first.buffer is not second.buffer or not first.indices or not second.indices:
            return None
        with limited():
            found = answers(self._meet)(first, second, differing, same)
        return None if isinstance(found, NotProved) else found

    def _apart(self, first: Access, second: Access, differing: Sequence[str]) -> list[str]:
        """The axes along which two threads may differ that do not wait for each other."""
        apart = [axis.tag for axis in self._axes if axis.tag in differing]
        if first.by_warp and second.by_warp and first.is_write and second.is_write:
            # A warp does one after the other, and its threads have the same parts.
            apart = [tag for tag in apart if tag != "threadIdx.x"]
        return apart

    def _meet(
        self, first: Access, second: Access, differing: Sequence[str], same: Sequence[str]
    ) -> bool | None:
        """What isl finds."""
        sides, pairs = self._meeting(first, second, differing, same)
        if pairs.is_empty():
            return False
        return True if all(side.exact for side in sides) else None

    def _meeting(
        self, first: Access, second: Access, differing: Sequence[str], same: Sequence[str]
    ) -> tuple[list[AccessSide], Any]:
        """Both sides, and the set of pairs of threads that meet, and where."""
        apart = self._apart(first, second, differing)
        differ = " or ".join(f"{_name('a', tag)} != {_name('b', tag)}" for tag in apart)
        sides = []
        for access, letter in ((first, "a"), (second, "b")):
            dimensions = [
                Dimension(axis.var, _name(letter, axis.tag), const(0), axis.extent)
                for axis in self._free(same)
            ]
            sides.append(AccessSide(access, letter, dimensions))
        return sides, meeting(sides, differ)

    def _free(self, same: Sequence[str]) -> list[Axis]:
        """The axes along which the two threads may differ."""
        return [axis for axis in self._axes if axis.tag not in same]


def _name(letter: str, tag: str) -> str:
    """The dimension of an axis."""
    return f"{letter}_{tag.replace('.', '_')}"
