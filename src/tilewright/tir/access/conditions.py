"""What statements say about the places behind them and in them."""

from __future__ import annotations

import functools

from tilewright.ir.expr import Call, Expr
from tilewright.ir.node import Node
from tilewright.tir.access.access import Condition
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import BufferStore, Evaluate


@functools.lru_cache(maxsize=4096)
def start_conditions(iterators: tuple[IterVar, ...]) -> tuple[Condition, ...]:
    """That all reduction iterators are at the start of their domains, as `init` needs.

    The result is the same object again for the same iterators.
    """
    return tuple(
        Condition(item.var.equal(item.dom.min))
        for item in iterators
        if item.iter_type is IterType.COMM_REDUCE and item.dom is not None
    )


def assumed_condition(stmt: Node) -> Expr | None:
    """What holds after a `T.assume`; None for any other statement."""
    if not isinstance(stmt, Evaluate) or not isinstance(stmt.value, Call):
        return None
    call = stmt.value
    return call.args[0] if getattr(call.op, "name", "") == "tir.assume" else None


def may_return(stmt: Node) -> bool:
    """Whether the function may return in a statement."""
    if isinstance(stmt, BufferStore):
        return False
    if isinstance(stmt, Evaluate):
        value = stmt.value
        return isinstance(value, Call) and getattr(value.op, "name", "") == "tir.ret"
    return any(may_return(item) for item in stmt.children() if not isinstance(item, Expr))
