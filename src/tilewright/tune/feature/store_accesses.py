"""What is known of the accesses of a store, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tilewright.tune.feature.footprint import footprint
from tilewright.tune.feature.nest import LinearAccess, Memory, Statement
from tilewright.tune.feature.operations import NAMES

POSITIONS: Final = (
    "none", "inner_spatial", "middle_spatial", "outer_spatial", "inner_reduce", "middle_reduce",
    "outer_reduce", "mixed",
)  # fmt: skip
"""Where in a nest the loops of a kind are."""

LOOP_KINDS: Final = ("vectorize", "unroll", "parallel")

THREADS: Final = (
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
    "vthread",
)  # fmt: skip

BUFFER: Final = (
    "is_read", "is_write", "is_read_write", "bytes", "unique_bytes", "lines", "unique_lines",
    "reused_in_loop", "reused_by_others", "not_reused", "reuse_distance_iterations",
    "reuse_distance_bytes", "reuse_count", "bytes_per_reuse", "unique_bytes_per_reuse",
    "lines_per_reuse", "unique_lines_per_reuse", "stride",
)  # fmt: skip

ALLOCATION: Final = (
    "allocated_bytes", "allocated_outer", "allocated_inner", "allocated_altogether",
)  # fmt: skip

OUTER: Final = ("iterations", "loops", "unroll_step")

WORKLOAD: Final = (
    "workload_operations", "workload_functions", "workload_bytes", "workload_reduction",
    "workload_stores", "workload_intensity",
)  # fmt: skip
"""What the program computes, however it is scheduled."""


def column_names(buffers: int, samples: int, workload: bool = False) -> list[str]:
    """The names of all columns.

    Args:
        buffers: buffers of a store that are described.
        samples: points of the curve of arithmetic intensity.
        workload: whether the program as a whole is described, too.
    """
    names = list(NAMES)
    for kind in LOOP_KINDS:
        names += [f"{kind}_count", f"{kind}_product", f"{kind}_length"]
        names += [f"{kind}_is_{position}" for position in POSITIONS]
    names += ["is_gpu", *THREADS]
    for number in range(buffers):
        names += [f"buffer{number}_{name}" for name in BUFFER]
    names += [f"intensity{number}" for number in range(samples)]
    names += [*ALLOCATION, *OUTER]
    return [*names, *WORKLOAD] if workload else names


NO_BUFFER: Final = [0.0] * len(BUFFER)


class StoreAccesses:
    """The accesses of a statement, by memory.

    Args:
        statement: the statement.
        line_bytes: of a cache line.

    Attributes:
        inside: for each level, and then for none, how many iterations the levels from there on
            inwards have.
        touched: for each of them, how many different bytes they access.
    """

    def __init__(self, statement: Statement, line_bytes: int) -> None:
        self._statement, self._line_bytes = statement, line_bytes
        levels = statement.levels
        self._depth = len(levels)
        inside = [1.0]
        for level in reversed(levels):
            inside.append(inside[-1] * level.extent)
        self.inside = inside[::-1]
        self._groups: dict[Memory, list[LinearAccess]] = {}
        for access in statement.accesses:
            self._groups.setdefault(access.memory, []).append(access)
        self.touched = [0.0] * (self._depth + 1)
        self._unique: dict[Memory, list[float]] = {}
        for memory, accesses in self._groups.items():
            self._unique[memory] = found = self._unique_bytes(accesses)
            for depth, amount in enumerate(found):
                self.touched[depth] += amount

    def _steps(self, access: LinearAccess) -> Iterable[tuple[int, tuple[tuple[int, int], ...]]]:
        """Depths, from the inside, at which an access touches more; and its strides from there."""
        steps: tuple[tuple[int, int], ...] = ()
        levels = self._statement.levels
        for depth in range(self._depth - 1, -1, -1):
            stride = access.strides[depth]
            if stride and levels[depth].extent > 1:
                steps = (*steps, (stride, levels[depth].extent))
                yield depth, steps

    def _unique_bytes(self, accesses: Sequence[LinearAccess]) -> list[float]:
        """For each depth, the different bytes that the accesses of one memory touch inside.

        Accesses with the same strides are taken to go to the same places.
        """
        itemsize = accesses[0].memory.itemsize
        total = [0.0] * (self._depth + 1)
        for number, access in enumerate(accesses):
            if any(access.strides == other.strides for other in accesses[:number]):
                continue
            amount, start = float(itemsize), self._depth
            for depth, steps in self._steps(access):
                for position in range(depth + 1, start + 1):
                    total[position] += amount
                start = depth
                amount = float(footprint(steps, itemsize).elements * itemsize)
            for position in range(start + 1):
                total[position] += amount
        return total

    def features(self, count: int, others: set[Memory]) -> list[float]:
        """The features of the `count` largest buffers, for the columns `BUFFER` of each.

        Args:
            count: how many buffers.
            others: memory that other statements access, too.
        """
        rows = [self._buffer(memory, memory in others) for memory in self._groups]
        rows.sort(key=lambda row: -row[3])
        found: list[float] = []
        for row in rows[:count]:
            found += row
        for _ in range(count - len(rows)):
            found += NO_BUFFER
        return found

    def _buffer(self, memory: Memory, used_elsewhere: bool) -> list[float]:
        accesses = self._groups[memory]
        reads = any(not access.is_store for access in accesses)
        writes = any(access.is_store for access in accesses)
        executions = self.inside[0] * self._statement.share
        size = executions * memory.itemsize * len(accesses)
        unique = self._unique[memory][0]
        lines = sum(map(self._line_accesses, accesses)) * self._statement.share
        unique_lines = max(map(self._unique_lines, accesses))
        stride = self._innermost_stride(accesses[0])
        in_loop, by_others, distance, bytes_between, count = self._reuse(accesses, used_elsewhere)
        return [
            float(reads and not writes), float(writes and not reads), float(reads and writes),
            size, unique, lines, unique_lines,
            in_loop, by_others, 1.0 - in_loop - by_others, distance, bytes_between, count,
            size / count, unique / count, lines / count, unique_lines / count, stride,
        ]  # fmt: skip

    def _line_accesses(self, access: LinearAccess) -> float:
        """How often an access goes to another cache line than in the iteration before."""
        levels, itemsize = self._statement.levels, access.memory.itemsize
        executions = self.inside[0]
        for depth in range(self._depth - 1, -1, -1):
            if levels[depth].extent == 1:
                continue
            distance = abs(access.strides[depth]) * itemsize
            if distance >= self._line_bytes:
                break
            extent = levels[depth].extent
            executions /= extent
            if distance:  # the next loop starts again in another line
                return executions * max(1.0, extent * distance / self._line_bytes)
        return executions

    def _unique_lines(self, access: LinearAccess) -> float:
        steps: tuple[tuple[int, int], ...] = ()
        for _, found in self._steps(access):
            steps = found
        return footprint(steps, access.memory.itemsize, self._line_bytes).lines

    def _innermost_stride(self, access: LinearAccess) -> float:
        for (_, _, extent), stride in zip(
            reversed(self._statement.levels), reversed(access.strides), strict=True
        ):
            if stride and extent > 1:
                return float(abs(stride))
        return 0.0

    def _reuse(
        self, accesses: Sequence[LinearAccess], used_elsewhere: bool
    ) -> tuple[float, float, float, float, float]:
        """Whether a loop comes back to the same elements, or other statements do; after how many
        iterations and bytes; and how often."""
        levels = self._statement.levels
        for depth in range(self._depth - 1, -1, -1):
            extent = levels[depth].extent
            if extent > 1 and not any(access.strides[depth] for access in accesses):
                inner = depth + 1
                return 1.0, 0.0, self.inside[inner], self.touched[inner], float(extent)
        if used_elsewhere:
            return 0.0, 1.0, self.inside[0], self.touched[0], 1.0
        return 0.0, 0.0, 0.0, 0.0, 1.0
