"""What the next copy will read is fetched while the copy of now is worked on.

A kernel copies a panel and then works on it, again and again. The copy waits for memory, and memory
waits for the work. With ``software_prefetch`` on the loop over panels, the lines that the next copy
reads are asked for in the innermost loop of the work, a few at a time::

    for p in range(49):                          for p in range(49):
        for k in range(256):                         for k in range(256):
            panel[k] = X[k, p]                           panel[k] = X[k, p]
        for i in range(8):              ->           for i in range(8):
            for k in range(64):                          for k in range(64):
                work(panel)                                  if i * 64 + k < 256:
                                                                 prefetch(X[i * 64 + k, p + 1])
                                                             work(panel)

A burst of prefetches would keep all the buffers busy that lines on their way to the first-level
cache need, and the work would wait for one.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import (
    Allocate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from tilewright.tir.substitute import substitute


def copy_and_work(body: Stmt, name: str) -> tuple[For, For] | None:
    """The nest in `body`, a sequence, that alone reads the buffer `name`, and a nest behind it."""
    parts = list(parts_of(body))
    readers = [position for position, part in enumerate(parts) if _reads(part, name)]
    if len(readers) != 1:
        return None
    copy = parts[readers[0]]
    behind = [part for part in parts[readers[0] + 1 :] if isinstance(part, For)]
    if not isinstance(copy, For) or not isinstance(copy.extent, IntImm) or not behind:
        return None
    return copy, max(behind, key=_iterations)


def parts_of(stmt: Stmt) -> Iterator[Stmt]:
    """The statements of a sequence, also inside of allocations and definitions."""
    if isinstance(stmt, SeqStmt):
        for part in stmt.seq:
            yield from parts_of(part)
    elif isinstance(stmt, (Allocate, LetStmt)):
        yield from parts_of(stmt.body)
    else:
        yield stmt


def _reads(stmt: Stmt, name: str) -> bool:
    return any(isinstance(node, BufferLoad) and node.buffer.name == name for node in walk(stmt))


def _iterations(loop: For) -> int:
    """How often the innermost of the longest loops runs."""
    count = 1
    for inner in _path(loop):
        assert isinstance(inner.extent, IntImm)
        count *= inner.extent.value
    return count


def _path(loop: For) -> list[For]:
    """The loops of constant extent from `loop` on inwards, where there are several the longest."""
    path: list[For] = []
    inner: For | None = loop
    while inner is not None and inner.kind is ForKind.SERIAL and isinstance(inner.extent, IntImm):
        path.append(inner)
        loops = [part for part in parts_of(inner.body) if isinstance(part, For)]
        constant = [part for part in loops if isinstance(part.extent, IntImm)]
        inner = max(constant, key=lambda part: int(part.extent), default=None)  # type: ignore[call-overload]
    return path


def spread(body: Stmt, copy: For, work: For, fetch: Stmt) -> Stmt:
    """`body`, with `fetch`, which stands in the loop `copy`, for all its iterations in `work`."""
    path = _path(work)
    if not path:
        return body
    assert isinstance(copy.extent, IntImm)
    dtype = copy.loop_var.dtype
    number: Expr = const(0, dtype)
    for loop in path:
        number = number * loop.extent + (loop.loop_var - loop.min).astype(dtype)
    extent, count = copy.extent, -(-copy.extent.value // _iterations(work))
    fetches: list[Stmt] = []
    for which in range(count):
        position = as_expr(number * count + which)
        statement = substitute(fetch, {copy.loop_var: as_expr(copy.min + position)})
        fetches.append(IfThenElse(as_expr(position < extent), statement))
    innermost = path[-1]
    return _InFront(innermost, seq(*fetches))(body)


class _InFront(Rewriter):
    """Puts a statement at the start of the body of a loop."""

    def __init__(self, place: For, statement: Stmt) -> None:
        self._place, self._statement = place, statement

    def For(self, loop: For) -> Stmt:
        if loop is self._place:
            return loop.replace(body=seq(self._statement, loop.body))
        return loop.map_children(self)
