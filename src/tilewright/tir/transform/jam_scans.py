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
from typing import Final

from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Call, Expr, IntImm, Var, constant_product, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import Allocate, BufferStore, For, ForKind, SeqStmt, Stmt, seq
from tilewright.tir.transform.analysis.accesses import is_opaque, rows_are_apart
from tilewright.tir.transform.analysis.memory_uses import Aliases
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.scan_lanes import Scan, lanes_of, rows_in_lanes

ROWS: Final = 8
"""Number of rows that run side by side: two for each cycle in which an addition waits."""

GROUPS_OF_CORE: Final = 4
"""Minimum number of groups of rows of a parallel loop for each core."""

MOST_OWN: Final = 4
"""Maximum number of elements that a row has for itself, which become registers."""


def jam_scan(loop: For, aliases: Aliases, vector_bits: int, least_groups: int) -> Stmt | None:
    """`loop` with its rows side by side; None if it is not a scan, or its rows may
    depend on each other.

    Args:
        least_groups: minimum number of groups of rows of a parallel loop, for threads to share.
    """
    scan = _scan(loop)
    if scan is None or not isinstance(loop.extent, IntImm):
        return None
    least = least_groups if loop.kind is ForKind.PARALLEL else 1
    most = loop.extent.value // least
    if most < 2 or not _are_independent(scan, aliases):
        return None
    lanes = lanes_of(scan, vector_bits)
    count = min(ROWS, most) if lanes is None or lanes > most else lanes
    groups, left = divmod(loop.extent.value, count)
    var = Var(loop.loop_var.name, loop.loop_var.dtype)
    first = const(0, var.dtype) if groups == 1 else var * count
    start = as_expr(loop.min + first)
    body = rows_in_lanes(scan, start, count, aliases) if count == lanes else None
    if body is None:
        body = _side_by_side(scan, [as_expr(start + row) for row in range(count)])
    if groups > 1:
        extent = const(groups, var.dtype)
        body = loop.replace(loop_var=var, min=const(0, var.dtype), extent=extent, body=body)
    if not left:
        return body
    rest = loop.replace(
        min=as_expr(loop.min + groups * count), extent=const(left, loop.extent.dtype)
    )
    return seq(body, jam_scan(rest, aliases, vector_bits, least_groups) or Iteration({})(rest))


def _scan(loop: For) -> Scan | None:
    if loop.kind not in (ForKind.SERIAL, ForKind.PARALLEL) or loop.annotations:
        return None
    own: list[Allocate] = []
    inner = loop.body
    while isinstance(inner, Allocate):
        size = constant_product(inner.extents)
        plain = not inner.annotations and is_const_int(inner.condition, 1)
        if size is None or size > MOST_OWN or not plain:
            return None
        own.append(inner)
        inner = inner.body
    if not own or not isinstance(inner, SeqStmt):
        return None
    *before, steps = inner.seq
    if not isinstance(steps, For) or steps.kind is not ForKind.SERIAL or steps.annotations:
        return None
    stores = [*before, *statements_of(steps.body)]
    plain = all(isinstance(s, BufferStore) and s.predicate is None for s in stores)
    bounds = is_const_int(steps.min) and is_const_int(steps.extent)
    if not (plain and bounds) or not all(_is_chain(memory, steps) for memory in own):
        return None
    first, inside = (
        [s for s in some if isinstance(s, BufferStore)]
        for some in (before, statements_of(steps.body))
    )
    return Scan(loop, own, first, steps, inside)


def statements_of(body: Stmt) -> Sequence[Stmt]:
    """The statements that a body consists of, one after the other."""
    return body.seq if isinstance(body, SeqStmt) else (body,)


def _is_chain(own: Allocate, steps: For) -> bool:
    """Whether a step writes what the next one reads."""
    reached = [node for node in _accesses(steps.body) if node.buffer.data is own.buffer_var]
    return {isinstance(node, BufferStore) for node in reached} == {True, False}


def _accesses(body: Stmt) -> list[BufferLoad | BufferStore]:
    return [node for node in walk(body) if isinstance(node, (BufferLoad, BufferStore))]


def _are_independent(scan: Scan, aliases: Aliases) -> bool:
    """Whether no row reaches what another one writes."""
    body = scan.own[-1].body
    if any(isinstance(node, Call) and is_opaque(node) for node in walk(body)):
        return False
    shared = [node for node in _accesses(body) if node.buffer.data not in scan.memory]
    written = {node.buffer.data for node in shared if isinstance(node, BufferStore)}
    reached = {node.buffer.data for node in shared}
    if any(aliases.may_overlap(a, b) for a in written for b in reached if a is not b):
        return False
    return all(
        rows_are_apart((n for n in shared if n.buffer.data is data), scan.loop, scan.steps)
        for data in written
    )


def _side_by_side(scan: Scan, rows: Sequence[Expr]) -> Stmt:
    """What rows do: together before the steps, and together in each step."""
    copies: list[Allocate] = []
    before: list[Stmt] = []
    step = scan.steps.loop_var.replace()
    steps: list[Stmt] = []
    for row in rows:
        copy = Iteration({scan.loop.loop_var: row})(scan.own[0])
        while isinstance(copy, Allocate):
            copies.append(copy)
            copy = copy.body
        *first, loop = statements_of(copy)
        assert isinstance(loop, For)
        before += first
        steps.append(Iteration({loop.loop_var: step})(loop.body))
    body = seq(*before, scan.steps.replace(loop_var=step, body=seq(*steps)))
    for copy in reversed(copies):
        body = copy.replace(body=body)
    return body
