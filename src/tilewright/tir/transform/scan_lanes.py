"""Rows of scans in the lanes of a vector.

Rows that are reduced step by step, such as running maxima, are the lanes of vectors: so many rows
take as many steps at once as a vector has lanes, with squares of elements that are transposed in
registers before and after::

    for i in range(16):                    C[0:16] = A[0], A[n], ...
        C[0] = A[i * n]                    for k in range((n - 1) // 16):
        for k in range(n - 1):      ->         for j in range(16):
            C[0] = max(C[0], A[...])               C[0:16] = max(C[0:16], A[T.Ramp(..., n, 16)])
            B[i * n + k + 1] = C[0]                square[16 * j : 16 * j + 16] = C[0:16]
                                               B[...] = square[T.Ramp(0, 16, 16)]
                                               ...

Steps that are left over are made one by one, with elements from and to each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, IntImm, Ramp, Var, constant_product
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import ONE, BufferLoad
from tilewright.tir.stmt import Allocate, BufferStore, For, Stmt, seq
from tilewright.tir.transform.analysis.affine import affine, stride_along
from tilewright.tir.transform.analysis.memory_uses import Aliases
from tilewright.tir.transform.building.allocations import allocation, lane_index, local_buffer
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.lanes import LaneRewriter, NotVectorizable
from tilewright.tir.transform.transpose_gathers import LEAST_BITS, transposed

PAGE_BYTES: Final = 4096
"""Rows that are a multiple of it apart share the sets of the first cache."""

MOST_LINES: Final = 8
"""So many lines that share a set stay in the first cache."""

LEAST_SQUARES: Final = 4
"""Squares of a row from which on they are worth what comes before and after them."""


@dataclass(frozen=True)
class Scan:
    """A row.

    Attributes:
        loop: the loop over rows.
        own: the memory of a row, the outermost first.
        before: what comes before the loop over steps.
        steps: that loop.
        inside: its statements.
    """

    loop: For
    own: Sequence[Allocate]
    before: Sequence[BufferStore]
    steps: For
    inside: Sequence[BufferStore]

    @property
    def memory(self) -> frozenset[Var]:
        """The pointers to the memory of a row."""
        return frozenset(own.buffer_var for own in self.own)

    def shared(self) -> list[BufferLoad | BufferStore]:
        """The accesses of a step to memory that is not the row's own."""
        nodes = (node for store in self.inside for node in walk(store))
        return [
            node
            for node in nodes
            if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.data not in self.memory
        ]


def lanes_of(scan: Scan, vector_bits: int) -> int | None:
    """How many rows are the lanes of a vector; None if they had better not be."""
    lanes = vector_bits // max(32, min(own.dtype.bits for own in scan.own))
    shared = scan.shared()
    steps = scan.steps.extent
    assert isinstance(steps, IntImm)
    for node in shared:
        index = node.indices[0]
        if index.dtype.lanes > 1 or stride_along(affine(index), scan.steps.loop_var) != 1:
            return None
        rows_apart = stride_along(affine(index), scan.loop.loop_var)
        if rows_apart is not None and rows_apart * node.buffer.dtype.itemsize % PAGE_BYTES == 0:
            lanes = min(lanes, MOST_LINES)
    if lanes < 2 or steps.value < LEAST_SQUARES * lanes:
        return None
    if any(lanes * node.buffer.dtype.bits < LEAST_BITS for node in shared):
        return None
    written = {node.buffer.data for node in shared if isinstance(node, BufferStore)}
    if any(isinstance(node, BufferLoad) and node.buffer.data in written for node in shared):
        return None
    return lanes


def rows_in_lanes(scan: Scan, first: Expr, lanes: int, aliases: Aliases) -> Stmt | None:
    """`lanes` rows from `first` on; None if a statement has no vector form."""
    try:
        return _InLanes(scan, first, lanes, aliases).statement()
    except NotVectorizable:
        return None


class _InLanes:
    def __init__(self, scan: Scan, first: Expr, lanes: int, aliases: Aliases) -> None:
        self._scan, self._first, self._lanes, self._aliases = scan, first, lanes, aliases
        results = [s for s in scan.inside if s.buffer.data not in scan.memory]
        self._squares = {
            store: local_buffer(f"{store.buffer.name}_square", store.buffer.dtype, lanes * lanes)
            for store in results
        }
        for square in self._squares.values():
            aliases.add_allocated(square.data)

    def statement(self) -> Stmt:
        """All that the rows do."""
        scan, lanes = self._scan, self._lanes
        extent, step = scan.steps.extent, scan.steps.loop_var
        assert isinstance(extent, IntImm)
        squares, left = divmod(extent.value, lanes)
        parts: list[Stmt] = [self._in_lanes(store) for store in scan.before]
        # What is left over comes first: then squares of rows that are multiples of a vector are
        # whole lines of the cache, which no other square needs again.
        done = 0
        while done < left:
            count = 1 << ((left - done).bit_length() - 1)
            parts.append(self._rectangle(as_expr(scan.steps.min + done), count))
            done += count
        square = Var(f"{step.name}_square", step.dtype)
        start = as_expr(scan.steps.min + left + square * lanes)
        loop = scan.steps.replace(
            loop_var=square,
            min=const(0, step.dtype),
            extent=const(squares, step.dtype),
            body=self._rectangle(start, lanes),
        )
        body = seq(*parts, loop)
        for own in reversed(scan.own):
            size = constant_product(own.extents)
            assert size is not None
            body = own.replace(extents=(const(size * lanes, own.extents[0].dtype),), body=body)
        return body

    def _rectangle(self, start: Expr, count: int) -> Stmt:
        """`count` steps of all rows, from `start` on."""
        lanes = self._lanes
        steps: list[Stmt] = []
        for number in range(count):
            one = Iteration({self._scan.steps.loop_var: as_expr(start + number)})
            for store in self._scan.inside:
                moved = one(store)
                assert isinstance(moved, BufferStore)
                if store in self._squares and count > 1:
                    index = (lane_index(number * lanes, lanes),)
                    value = self._rewriter().vector(moved.value)
                    steps.append(BufferStore(self._squares[store], value, index))
                else:
                    steps.append(self._in_lanes(moved))
        body = transposed(seq(*steps), self._aliases)
        if count == 1:
            return body
        rows = [
            self._row(store, row, start, count) for store in self._squares for row in range(lanes)
        ]
        body = seq(body, transposed(seq(*rows), self._aliases))
        for buffer in self._squares.values():
            body = allocation(body, buffer)
        return body

    def _row(self, store: BufferStore, row: int, start: Expr, count: int) -> Stmt:
        """The results of one row, from a column of the rectangle."""
        values = {
            self._scan.loop.loop_var: as_expr(self._first + row),
            self._scan.steps.loop_var: start,
        }
        moved = Iteration(values)(store)
        assert isinstance(moved, BufferStore)
        column = Ramp(const(row, ONE.dtype), const(self._lanes, ONE.dtype), count)
        elements = BufferLoad(self._squares[store], (column,))
        index = moved.indices[0]
        place = Ramp(index, const(1, index.dtype), count)
        return moved.replace(value=elements, indices=(place,))

    def _in_lanes(self, store: BufferStore) -> Stmt:
        """A statement of each row."""
        lanes = self._rewriter()
        index = lanes.index(store.buffer.data, store.indices[0])
        if index.dtype.lanes == 1:
            raise NotVectorizable("all rows store to one element")
        return store.replace(value=lanes.vector(store.value), indices=(index,))

    def _rewriter(self) -> LaneRewriter:
        return LaneRewriter(
            self._scan.loop.loop_var, self._first, self._lanes, private=self._scan.memory
        )
