"""What the options of `PassContext` change in the lowering of a program."""

from __future__ import annotations

from tilewright.ir.rewrite import Rewriter
from tilewright.ir.transform import PassContext
from tilewright.tir.call_boundary.overlapping import IF_OVERLAPPING
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import AssertStmt, Stmt


def takes_distinct_buffers(func: PrimFunc) -> bool:
    """Whether a function promises that its buffers do not overlap, and the promise may be used."""
    if not int(func.attrs.get("tir.noalias", 0)):
        return False
    # A function that other calls than those with overlapping arrays run keeps its promise.
    return IF_OVERLAPPING in func.attrs or PassContext.current().option("tir.noalias")


def without_promises(func: PrimFunc) -> PrimFunc:
    """`func` without a promise that may not be used."""
    if "tir.noalias" in func.attrs and not takes_distinct_buffers(func):
        return func.without_attr("tir.noalias")
    return func


def drop_assertions(func: PrimFunc) -> PrimFunc:
    """`func` without the assertions that the program states."""
    body = _WithoutAssertions()(func.body)
    return func if body is func.body else func.with_body(body)


class _WithoutAssertions(Rewriter):
    def AssertStmt(self, stmt: AssertStmt) -> Stmt:
        return self(stmt.body)
