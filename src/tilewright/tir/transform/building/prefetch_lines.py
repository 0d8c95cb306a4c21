"""A prefetch of a region is one of each cache line in it."""

from __future__ import annotations

from tilewright.ir.arithmetic import floordiv, minimum
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, Var
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.op.memory import prefetch_address
from tilewright.tir.stmt import Evaluate, For, ForKind, Prefetch, Stmt
from tilewright.tir.transform.limits import LINE_BYTES


def prefetch_lines(prefetch: Prefetch) -> Stmt:
    """Loops over the rows of the region and the lines of a row, each asked for by an element of it.

    Where a row begins within a line is not known, so its last element is asked for, too.
    """
    buffer = prefetch.buffer
    per_line = max(LINE_BYTES * 8 // (buffer.dtype.bits * buffer.dtype.lanes), 1)
    loops: list[tuple[Var, Expr]] = []
    indices: list[Expr] = []
    for number, bound in enumerate(prefetch.bounds):
        dtype = bound.extent.dtype
        var = Var(f"ax{number}", dtype)
        if number < len(prefetch.bounds) - 1:
            extent, step = bound.extent, as_expr(var)
        else:
            last = as_expr(bound.extent - 1)
            extent = as_expr(floordiv(as_expr(last + (per_line - 1)), const(per_line, dtype)) + 1)
            step = minimum(as_expr(var * per_line), last)
        loops.append((var, extent))
        indices.append(as_expr(bound.min + step))
    body: Stmt = Evaluate(prefetch_address(BufferLoad(buffer, tuple(indices))))
    for var, extent in reversed(loops):
        body = For(var, const(0, var.dtype), extent, ForKind.SERIAL, body)
    return body
