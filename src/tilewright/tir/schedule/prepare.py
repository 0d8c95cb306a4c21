"""Making a function ready for a schedule: every block has a key, every loop its own variable."""

from __future__ import annotations

from typing import Final

from tilewright.ir.expr import Var
from tilewright.ir.recent import Recent
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, For, Stmt
from tilewright.tir.substitute import substitute

_PREPARED: Final[Recent[PrimFunc]] = Recent(64)


def prepare(name: str, func: PrimFunc) -> PrimFunc:
    """`func` with keys for its blocks; loops that share a variable get their own.

    The result is the same for the same function, so that what is known about its blocks is known
    to all schedules of it.

    Raises:
        ScheduleError: for a function without a root block, such as a lowered one.
    """
    if not isinstance(func.body, BlockRealize):
        raise ScheduleError(
            f"the body of function `{name}` is not a block: only programs made of blocks can be "
            "scheduled, not what `tvm.lower` returns",
            hint="schedule the program before it is lowered",
        )
    return _PREPARED.get(func, None, lambda: _prepared(func))


def _prepared(func: PrimFunc) -> PrimFunc:
    return func.with_body(_Preparation()(func.body))


class _Preparation(Rewriter):
    def __init__(self) -> None:
        self._keys: set[BlockKey] = set()
        self._variables: set[Var] = set()

    def Block(self, block: Block) -> Stmt:
        block = block.map_children(self)
        if block.key is None or block.key in self._keys:
            block = block.replace(key=BlockKey())
        assert block.key is not None
        self._keys.add(block.key)
        return block

    def For(self, loop: For) -> Stmt:
        var = loop.loop_var
        if var in self._variables:
            fresh = Var(var.name, var.dtype)
            loop = loop.replace(loop_var=fresh, body=substitute(loop.body, {var: fresh}))
        self._variables.add(loop.loop_var)
        body = self(loop.body)
        return loop if body is loop.body else loop.replace(body=body)
