"""Memory of a program itself, as small as lowering makes it."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tune.feature.nest import LinearAccess, Memory, Statement


class CompactMemory:
    """Memory that has room for what lives at a time: in each dimension, what is accessed.

    Args:
        memory: the memory, with the strides that its buffer was declared with.
        statements: all that access it.

    Attributes:
        bytes: its size.
    """

    def __init__(self, memory: Memory, statements: Sequence[Statement]) -> None:
        self._declared = memory.strides
        extents = [1] * len(self._declared)
        for statement in statements:
            for access in statement.accesses:
                if access.memory is memory:
                    reached = self._reached(statement, access)
                    extents = list(map(max, extents, reached))
        stride = 1
        self._strides: list[int] = []
        for dimension in reversed(range(len(extents))):
            factor, offset = memory.alignments.get(dimension, (1, 0))
            self._strides.insert(0, stride + (offset - stride) % factor)
            stride = self._strides[0] * extents[dimension]
        self.bytes = stride * memory.itemsize

    def strides(self, access: LinearAccess) -> list[int]:
        """The distance in elements between neighbours along each level of the statement."""
        return [
            sum(map(int.__mul__, self._steps(stride), self._strides)) for stride in access.strides
        ]

    def _reached(self, statement: Statement, access: LinearAccess) -> list[int]:
        """Elements along each dimension that an access touches."""
        last = [0] * len(self._declared)
        for level, stride in zip(statement.levels, access.strides, strict=True):
            for dimension, step in enumerate(self._steps(stride)):
                last[dimension] += abs(step) * (level.extent - 1)
        for dimension in range(len(last) - 1, 0, -1):  # a step at the end of a row is one down
            size = self._declared[dimension - 1] // self._declared[dimension]
            last[dimension - 1] += last[dimension] // size
            last[dimension] = min(last[dimension], size - 1)
        return [position + 1 for position in last]

    def _steps(self, stride: int) -> list[int]:
        """A distance in elements as steps along each dimension."""
        steps = []
        sign = -1 if stride < 0 else 1
        rest = abs(stride)
        for declared in self._declared:
            step, rest = divmod(rest, declared) if declared else (0, rest)
            steps.append(sign * step)
        return steps
