"""How many iterations loops have, in terms of sampled numbers.

A schedule is made for the numbers that were sampled. Where the extent of a loop follows from them,
it is kept as an expression, so that factors of it can be sampled for other numbers, too.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from tilewright.ir.arithmetic import multiply
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr
from tilewright.te.schedule.step import Reference


def extents_after(name: str, arguments: Mapping[str, Any]) -> tuple[Expr, ...]:
    """The extents of the loops that a step returns, in their order; empty where it tells none.

    Args:
        name: of the primitive.
        arguments: of the step, in terms of references and sampled numbers.
    """
    if name == "split":
        whole, factor, parts = (arguments.get(n) for n in ("parent", "factor", "nparts"))
        if isinstance(whole, Reference) and whole.extent is not None:
            if factor is not None:
                return _parts(whole.extent, factor), as_expr(factor)
            return as_expr(parts), _parts(whole.extent, parts)
    if name == "fuse":
        loops = [loop for loop in arguments.get("args", ()) if isinstance(loop, Reference)]
        extents = [loop.extent for loop in loops if loop.extent is not None]
        if extents and len(extents) == len(loops):
            return (functools.reduce(multiply, extents),)
    return ()


def _parts(extent: Expr, size: Any) -> Expr:
    """How many parts of a size cover an extent."""
    return as_expr((extent + (size - 1)) // size)
