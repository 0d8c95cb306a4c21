"""Several rows of a small reduction run side by side.

A reduction into one register is a chain: each step waits for the one before it. Rows that do not
depend on each other can share the loop instead (unroll and jam, Callahan, Cocke, Kennedy 1988), so
that their chains overlap and what they have in common is loaded once::

    for i in range(16):                          for k in range(8):
        for k in range(8):                  ->       C[0] += A[0, k] * B[k]
            C[i] += A[i, k] * B[k]                   ...
                                                     C[15] += A[15, k] * B[k]

It is done for a loop that consists of such a reduction, whose iterations are independent, as far as
the accumulators of all rows fit into the registers.
"""

from __future__ import annotations

from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BufferStore, For, ForKind, Stmt, seq
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.analysis.accesses import (
    MemoryReference,
    MemoryReferences,
    rows_are_apart,
    summarize,
)
from tilewright.tir.transform.analysis.affine import occurs
from tilewright.tir.transform.analysis.memory_uses import Aliases
from tilewright.tir.transform.building.statements import StatementRewriter
from tilewright.tir.transform.jam_scans import GROUPS_OF_CORE, jam_scan, statements_of
from tilewright.tir.transform.machine import MOST_JAMMED_ROWS, RESERVED_REGISTERS

MOST_STATEMENTS = 64


def unroll_and_jam(
    func: PrimFunc, *, vector_bits: int = 512, vector_registers: int = 32, cores: int = 16
) -> PrimFunc:
    """`func` with independent rows of innermost reductions side by side.

    Args:
        func: a function over flat buffers, without vectorised or unrolled loops.
        vector_bits: width of a vector register; wider vectors take several.
        vector_registers: how many there are.
        cores: number of threads that share parallel loops.
    """
    least_groups = GROUPS_OF_CORE * cores
    return func.with_body(
        _Jam(Aliases(func), vector_bits, vector_registers, least_groups)(func.body)
    )


class _Jam(StatementRewriter):
    def __init__(
        self, aliases: Aliases, vector_bits: int, vector_registers: int, least_groups: int
    ) -> None:
        self._aliases = aliases
        self._least_groups = least_groups
        self._vector_bits = vector_bits
        self._free = vector_registers - RESERVED_REGISTERS
        self._accesses = MemoryReferences()

    def For(self, loop: For) -> Stmt:
        inner = loop.body
        if not isinstance(inner, For):
            jammed = jam_scan(loop, self._aliases, self._vector_bits, self._least_groups)
            return jammed or loop.map_children(self)
        stores = _reduction(inner)
        if stores is None or not self._may_jam(loop, inner, stores):
            return loop.map_children(self)
        rows = self._rows(loop, stores)
        return loop if rows < 2 else _jammed(loop, inner, rows)

    def _may_jam(self, loop: For, inner: For, stores: list[BufferStore]) -> bool:
        if loop.kind not in (ForKind.SERIAL, ForKind.PARALLEL):
            return False
        if loop.annotations or inner.annotations:
            return False
        if any(occurs(loop.loop_var, bound) for bound in (inner.min, inner.extent)):
            return False
        summary = summarize(inner.body, self._accesses)
        if summary.opaque or summary.allocated:
            return False
        accesses = [access for access, _ in summary.accesses]
        written = {store.buffer.data for store in stores}
        if any(a.location is None and a.node.buffer.data in written for a in accesses):
            return False
        return not self._may_alias(accesses, written) and all(
            rows_are_apart((a.node for a in accesses if a.node.buffer.data is data), loop)
            for data in written
        )

    def _may_alias(self, accesses: list[MemoryReference], written: set[Var]) -> bool:
        """Whether two different pointers of the loop may reach one element that is written."""
        accessed = {access.node.buffer.data for access in accesses}
        return any(self._aliases.may_overlap(a, b) for a in written for b in accessed if a is not b)

    def _rows(self, loop: For, stores: list[BufferStore]) -> int:
        """How many rows run side by side: a divisor of the extent."""
        if not isinstance(loop.extent, IntImm):
            return 1
        cost = sum(-(-store.value.dtype.lanes * store.buffer.dtype.bits // self._vector_bits)
                   for store in stores)  # fmt: skip
        limit = min(self._free // cost, MOST_JAMMED_ROWS, MOST_STATEMENTS // len(stores))
        extent = loop.extent.value
        if loop.kind is ForKind.PARALLEL:
            limit = min(limit, extent // self._least_groups)
        return max((rows for rows in range(1, limit + 1) if extent % rows == 0), default=1)


def _reduction(loop: For) -> list[BufferStore] | None:
    """The stores of an innermost loop, if each goes to one place while the loop runs."""
    if loop.kind is not ForKind.SERIAL:
        return None
    stores: list[BufferStore] = []
    for stmt in statements_of(loop.body):
        if not isinstance(stmt, BufferStore) or stmt.predicate is not None:
            return None
        if len(stmt.indices) != 1 or occurs(loop.loop_var, stmt.indices[0]):
            return None
        stores.append(stmt)
    return stores


def _jammed(loop: For, inner: For, rows: int) -> Stmt:
    extent = loop.extent
    assert isinstance(extent, IntImm)
    var = loop.loop_var
    outer = Var(var.name, var.dtype)
    whole = extent.value == rows
    first: Expr = loop.min if whole else loop.min + outer * rows
    copies = [substitute(inner.body, {var: first + row}) for row in range(rows)]
    body = inner.replace(body=seq(*copies))
    if whole:
        return body
    return loop.replace(
        loop_var=outer,
        min=const(0, var.dtype),
        extent=const(extent.value // rows, var.dtype),
        body=body,
    )
