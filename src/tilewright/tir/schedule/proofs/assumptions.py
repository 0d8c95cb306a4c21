"""What a function says about its sizes: none is negative, and what it assumes or asserts holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.ir.expr import Expr, IntImm
from tilewright.tir.analysis.access_walk import assumed_condition
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import AssertStmt, BlockRealize, SeqStmt


def sizes_not_negative(func: PrimFunc) -> list[Expr]:
    """Conditions that the extents of the function's arrays fulfil."""
    return [
        extent >= 0
        for buffer in func.buffer_map.values()
        for extent in buffer.shape
        if extent.__class__ is not IntImm
    ]


def assumptions(func: PrimFunc) -> Iterator[Expr]:
    """The conditions of `T.assume` and `assert` at the start of a function, ahead of its loops."""
    stmt: Any = func.body.block.body if isinstance(func.body, BlockRealize) else func.body
    while True:
        if isinstance(stmt, AssertStmt):
            yield stmt.condition
            stmt = stmt.body
        elif isinstance(stmt, SeqStmt):
            *first, stmt = stmt.seq
            for item in first:
                condition = assumed_condition(item)
                if condition is None:
                    return
                yield condition
        else:
            return
