"""Loop nests for operators without a formula for one element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.ir.expr import Expr, Var
from tilewright.te.tensor import zero_like
from tilewright.tir.stmt import For, ForKind, Stmt


def loop_nest(extents: Sequence[Expr], body: Callable[[list[Expr]], Stmt], name: str = "i") -> Stmt:
    """Loops over all elements of a box, the first outermost.

    Args:
        extents: of the box.
        body: from the loop variables to the body.
        name: prefix of the names of loop variables.
    """
    variables = [Var(f"{name}{n}", extent.dtype) for n, extent in enumerate(extents)]
    statement = body(list(variables))
    for variable, extent in zip(reversed(variables), reversed(extents), strict=True):
        statement = For(variable, zero_like(extent), extent, ForKind.SERIAL, statement)
    return statement
