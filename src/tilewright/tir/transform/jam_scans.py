"""Rows of scans that run side by side.

A running sum is a chain: each step waits for the one before it. Rows that do not depend on each
other share the loop over the steps, so that their chains overlap::

    for i in range(8):                           C0[0], C1[0] = A[0], A[n]
        C[0] = A[i * n]                          B[0], B[n] = C0[0], C1[0]
        B[i * n] = C[0]                  ->      for k in range(n - 1):
        for k in range(n - 1):                       C0[0] = C0[0] + A[k + 1]
            C[0] = C[0] + A[i * n + k + 1]           C1[0] = C1[0] + A[n + k + 1]
            B[i * n + k + 1] = C[0]                  B[k + 1] = C0[0]
                                                     ...

That is unroll and jam (Callahan, Cocke, Kennedy 1988), for rows with memory of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Call, Expr, IntImm, Var, constant_product, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import Allocate, BufferStore, For, ForKind, SeqStmt, Stmt, seq
from tilewright.tir.transform.analysis.accesses import is_opaque, rows_are_apart
from tilewright.tir.transform.analysis.memory_uses import Aliases
from tilewright.tir.transform.building.folding import Iteration

ROWS: Final = 8
"""Number of rows that run side by side: two for each cycle in which an addition waits."""

LEAST_GROUPS: Final = 64
"""Minimum number of groups of rows of a parallel loop, for threads to share."""

MOST_OWN: Final = 4
"""Maximum number of elements that a row has for itself, which become registers."""


@dataclass(frozen=True)
class _Scan:
    """A row.

    Attributes:
        loop: the loop over rows.
        own: the memory of a row.
        before: what comes before the loop over steps.
        steps: that loop.
    """

    loop: For
    own: Allocate
    before: Sequence[BufferStore]
    steps: For


def jam_scan(loop: For, aliases: Aliases) -> Stmt | None:
    """`loop` with its rows side by side; None if it is not a scan, or its rows may
    depend on each other."""
    scan = _scan(loop)
    if scan is None or not isinstance(loop.extent, IntImm):
        return None
    least = LEAST_GROUPS if loop.kind is ForKind.PARALLEL else 1
    count = min(ROWS, loop.extent.value // least)
    if count < 2 or not _are_independent(scan, aliases):
        return None
    groups, left = divmod(loop.extent.value, count)
    var = Var(loop.loop_var.name, loop.loop_var.dtype)
    first = const(0, var.dtype) if groups == 1 else var * count
    body = _side_by_side(scan, [as_expr(loop.min + first + row) for row in range(count)])
    if groups > 1:
        extent = const(groups, var.dtype)
        body = loop.replace(loop_var=var, min=const(0, var.dtype), extent=extent, body=body)
    if not left:
        return body
    rest = loop.replace(
        min=as_expr(loop.min + groups * count), extent=const(left, loop.extent.dtype)
    )
    return seq(body, jam_scan(rest, aliases) or Iteration({})(rest))


def _scan(loop: For) -> _Scan | None:
    own = loop.body
    if loop.kind not in (ForKind.SERIAL, ForKind.PARALLEL) or loop.annotations:
        return None
    if not isinstance(own, Allocate):
        return None
    size = constant_product(own.extents)
    if size is None or size > MOST_OWN or own.annotations or not is_const_int(own.condition, 1):
        return None
    if not isinstance(own.body, SeqStmt):
        return None
    *before, steps = own.body.seq
    if not isinstance(steps, For) or steps.kind is not ForKind.SERIAL or steps.annotations:
        return None
    stores = [*before, *statements_of(steps.body)]
    plain = all(isinstance(s, BufferStore) and s.predicate is None for s in stores)
    bounds = is_const_int(steps.min) and is_const_int(steps.extent)
    if not (plain and bounds) or not _is_chain(own, steps):
        return None
    return _Scan(loop, own, [s for s in before if isinstance(s, BufferStore)], steps)


def statements_of(body: Stmt) -> Sequence[Stmt]:
    """The statements that a body consists of, one after the other."""
    return body.seq if isinstance(body, SeqStmt) else (body,)


def _is_chain(own: Allocate, steps: For) -> bool:
    """Whether a step writes what the next one reads."""
    reached = [node for node in _accesses(steps.body) if node.buffer.data is own.buffer_var]
    return {isinstance(node, BufferStore) for node in reached} == {True, False}


def _accesses(body: Stmt) -> list[BufferLoad | BufferStore]:
    return [node for node in walk(body) if isinstance(node, (BufferLoad, BufferStore))]


def _are_independent(scan: _Scan, aliases: Aliases) -> bool:
    """Whether no row reaches what another one writes."""
    if any(isinstance(node, Call) and is_opaque(node) for node in walk(scan.own.body)):
        return False
    nodes = _accesses(scan.own.body)
    shared = [node for node in nodes if node.buffer.data is not scan.own.buffer_var]
    written = {node.buffer.data for node in shared if isinstance(node, BufferStore)}
    reached = {node.buffer.data for node in shared}
    if any(aliases.may_overlap(a, b) for a in written for b in reached if a is not b):
        return False
    return all(
        rows_are_apart((n for n in shared if n.buffer.data is data), scan.loop, scan.steps)
        for data in written
    )


def _side_by_side(scan: _Scan, rows: Sequence[Expr]) -> Stmt:
    """What rows do: together before the steps, and together in each step."""
    copies: list[Allocate] = []
    for row in rows:
        copy = Iteration({scan.loop.loop_var: row})(scan.own)
        assert isinstance(copy, Allocate)
        copies.append(copy)
    before: list[Stmt] = []
    step = scan.steps.loop_var.replace()
    steps: list[Stmt] = []
    for copy in copies:
        *first, loop = statements_of(copy.body)
        assert isinstance(loop, For)
        before += first
        steps.append(Iteration({loop.loop_var: step})(loop.body))
    body = seq(*before, scan.steps.replace(loop_var=step, body=seq(*steps)))
    for copy in reversed(copies):
        body = copy.replace(body=body)
    return body
