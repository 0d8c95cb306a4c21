"""Random variables: what a schedule hands out for its loops, blocks and numbers."""

from __future__ import annotations

import enum

from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Var

ExprRV = Var
"""A number that was sampled: a variable, so that one may calculate with it."""


class BlockRV:
    """Stands for a block of the scheduled program; `Schedule.get` gives the block."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<block reference {id(self):#x}>"


class LoopRV:
    """Stands for a loop of the scheduled program; `Schedule.get` gives the loop."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<loop reference {id(self):#x}>"


class Place(enum.Enum):
    """What a `LoopRV` stands for that is not a loop: where to compute a block."""

    ROOT = "where it is"
    INLINE = "where it is read, by inlining it"


def new_expr_rv() -> Var:
    """A new variable for a sampled number."""
    return Var("v", INT32)
