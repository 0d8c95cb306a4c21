"""A row of numbers for each store of a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tilewright.tir.stmt import ForKind
from tilewright.tune.feature.feature_extractor import FeatureExtractor
from tilewright.tune.feature.nest import Loop, Memory, Program, Statement
from tilewright.tune.feature.operations import MATH
from tilewright.tune.feature.read_program import programs_of
from tilewright.tune.feature.store_accesses import (
    LOOP_KINDS,
    POSITIONS,
    THREADS,
    StoreAccesses,
    column_names,
)

_LOOP_KINDS: Final = (ForKind.VECTORIZED, ForKind.UNROLLED, ForKind.PARALLEL)

assert len(_LOOP_KINDS) == len(LOOP_KINDS)


class PerStoreFeature(FeatureExtractor, kind="per-store-feature"):
    """What matters for the time that each store of a program takes.

    The 164 columns are, in this order (`store_columns.column_names` names them):

    * 57 of arithmetic: operations by kind; how many vectorised, unrolled and parallel loops there
      are, how long, and where; the threads of a GPU,
    * 18 for each of the five buffers that are accessed most: how, how many bytes and cache lines,
      how many different ones, when they are used again, and at which stride,
    * 10 points of the curve of arithmetic intensity: operations per byte, the further outside a
      loop is, the more of both,
    * 4 of the memory that is stored to, where it is allocated in the program,
    * 3 of all loops.

    Amounts are given as ``log2(1 + amount)``.

    Args:
        buffers_per_store: how many buffers are described.
        arith_intensity_curve_num_samples: points of the curve.
        cache_line_bytes: of a cache line.
        extract_workload: whether the program as a whole is described in each row, too (6 columns).
    """

    def __init__(
        self,
        buffers_per_store: int = 5,
        arith_intensity_curve_num_samples: int = 10,
        cache_line_bytes: int = 64,
        extract_workload: bool = False,
    ) -> None:
        self.buffers_per_store = buffers_per_store
        self.arith_intensity_curve_num_samples = arith_intensity_curve_num_samples
        self.cache_line_bytes = cache_line_bytes
        self.extract_workload = extract_workload
        self.feature_vector_length = len(
            column_names(buffers_per_store, arith_intensity_curve_num_samples, extract_workload)
        )

    def extract_from(self, context: Any, candidates: Sequence[Any]) -> list[np.ndarray]:
        """An array for each candidate, with a row for each store.

        Args:
            context: the `TuneContext` of the task.
            candidates: `MeasureCandidate` objects.
        """
        target = getattr(context, "target", None)
        is_gpu = float(target is not None and "gpu" in target.keys)
        rows: list[list[float]] = []
        ends = []
        for candidate in candidates:
            for program in programs_of(candidate.sch):
                rows += self._program(program, is_gpu)
            ends.append(len(rows))
        if not rows:
            return [np.zeros((0, self.feature_vector_length)) for _ in candidates]
        table = np.log2(np.array(rows) + 1.0)
        return np.split(table, ends[:-1])

    def _program(self, program: Program, is_gpu: float) -> list[list[float]]:
        statements = list(program.statements())
        users: dict[Memory, int] = {}
        for statement in statements:
            for memory in {access.memory for access in statement.accesses}:
                users[memory] = users.get(memory, 0) + 1
        shared = {memory for memory, count in users.items() if count > 1}
        rows = []
        accesses = [StoreAccesses(s, self.cache_line_bytes) for s in statements]
        for statement, accessed in zip(statements, accesses, strict=True):
            executions = accessed.inside[0] * statement.share
            row = [count * executions for count in statement.operations.counts]
            for kind in _LOOP_KINDS:
                row += _loops_of_kind(statement, kind)
            row.append(is_gpu)
            row += _threads(statement)
            row += accessed.features(self.buffers_per_store, shared)
            row += _intensities(statement, accessed, self.arith_intensity_curve_num_samples)
            row += _allocation(statement)
            row += [
                accessed.inside[0], float(len(statement.loops)),
                float(max((loop.unroll_step for loop in statement.loops), default=0)),
            ]  # fmt: skip
            rows.append(row)
        if self.extract_workload:
            whole = _workload(statements, accesses)
            rows = [row + whole for row in rows]
        return rows


_POSITION: Final = {
    (reduces, place): number
    for number, (place, reduces) in enumerate(
        ((place, reduces) for reduces in (False, True) for place in ("inner", "middle", "outer")), 1
    )
}

_NO_LOOPS: Final = [0.0, 0.0, 0.0, 1.0] + [0.0] * (len(POSITIONS) - 1)


def _loops_of_kind(statement: Statement, kind: ForKind) -> list[float]:
    """How many loops of a kind there are, their iterations, those of the innermost; and where."""
    loops = statement.loops
    found = [number for number, loop in enumerate(loops) if loop.kind is kind]
    if not found:
        return _NO_LOOPS
    product = 1.0
    for number in found:
        product *= loops[number].extent
    where = [0.0] * len(POSITIONS)
    where[_where(loops, found)] = 1.0
    return [float(len(found)), product, float(loops[found[-1]].extent), *where]


def _where(loops: Sequence[Loop], found: Sequence[int]) -> int:
    reduces = loops[found[-1]].reduces
    if any(loops[number].reduces is not reduces for number in found):
        return len(POSITIONS) - 1
    if found[-1] == len(loops) - 1:
        return _POSITION[reduces, "inner"]
    return _POSITION[reduces, "outer" if found[0] == 0 else "middle"]


def _threads(statement: Statement) -> list[float]:
    extents = [1.0] * len(THREADS)
    for loop in statement.loops:
        if loop.tag:
            name = "vthread" if loop.tag.startswith("vthread") else loop.tag
            if name in THREADS:
                extents[THREADS.index(name)] *= loop.extent
    return extents


def _intensities(statement: Statement, accessed: StoreAccesses, samples: int) -> list[float]:
    """Operations per byte of the loops from some level on inwards, at equal steps of the
    logarithm of the operations."""
    per_iteration = sum(statement.operations.counts)
    if not per_iteration:
        return [0.0] * samples
    operations = [math.log2(per_iteration * n) for n in reversed(accessed.inside)]
    intensities = [
        per_iteration * n / touched
        for n, touched in zip(
            reversed(accessed.inside), reversed(accessed.touched), strict=True
        )
    ]  # fmt: skip
    first, last = operations[0], operations[-1]
    found: list[float] = []
    position = 0
    for sample in range(samples):
        wanted = first + (last - first) * (sample + 1) / samples
        while position + 1 < len(operations) - 1 and operations[position + 1] < wanted:
            position += 1
        following = min(position + 1, len(operations) - 1)
        low, high = operations[position], operations[following]
        part = 1.0 if high <= low else min(1.0, max(0.0, (wanted - low) / (high - low)))
        found.append(
            intensities[position] + part * (intensities[following] - intensities[position])
        )
    return found


def _allocation(statement: Statement) -> list[float]:
    memory = statement.accesses[0].memory
    size = float(memory.elements * memory.itemsize)
    if not memory.allocated:
        return [0.0, 0.0, 0.0, 0.0]
    outside = inside = 1.0
    for number, loop in enumerate(statement.loops):
        if number < (memory.outside or 0):
            outside *= loop.extent
        else:
            inside *= loop.extent
    size = min(size, inside * memory.itemsize)
    return [size, outside, inside, size * outside]


def _workload(statements: Sequence[Statement], accesses: Sequence[StoreAccesses]) -> list[float]:
    operations = functions = moved = reduction = 0.0
    memories: set[Memory] = set()
    for statement, accessed in zip(statements, accesses, strict=True):
        executions = accessed.inside[0] * statement.share
        operations += executions * sum(statement.operations.counts)
        functions += executions * statement.operations.counts[MATH]
        steps = 1.0
        for loop in statement.loops:
            if loop.reduces:
                steps *= loop.extent
        reduction = max(reduction, steps)
        memories.update(a.memory for a in statement.accesses if not a.memory.allocated)
    moved = float(sum(memory.elements * memory.itemsize for memory in memories))
    intensity = operations / moved if moved else 0.0
    return [operations, functions, moved, reduction, float(len(statements)), intensity]
