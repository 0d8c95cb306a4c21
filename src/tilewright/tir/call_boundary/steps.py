"""Statements that are written one after the other, some of which bind a variable for the rest."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32, INT64
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.stmt import Allocate, LetStmt, Stmt, seq


class Steps:
    """Statements, and bindings of variables for all that comes later, in order."""

    def __init__(self) -> None:
        self._steps: list[Stmt | Callable[[Stmt], Stmt]] = []

    def __len__(self) -> int:
        return len(self._steps)

    def do(self, stmt: Stmt) -> None:
        """Add a statement."""
        self._steps.append(stmt)

    def bind(self, var: Var, value: Expr) -> None:
        """Give a variable its value."""
        self._steps.append(lambda rest: LetStmt(var, value, rest))

    def memory(self, name: str, words: int) -> abi.View:
        """Memory of `words` int64 on the stack."""
        pointer = abi.pointer_var(name)
        extents = (IntImm(INT32, words),)
        self._steps.append(lambda rest: Allocate(pointer, INT64, extents, const(True), rest))
        return abi.View(pointer)

    def before(self, rest: Stmt) -> Stmt:
        """The steps, and `rest` after them; time is linear in the number of steps."""
        backwards = [rest]
        for step in reversed(self._steps):
            if isinstance(step, Stmt):
                backwards.append(step)
            else:
                backwards = [step(seq(reversed(backwards)))]
        return seq(reversed(backwards))
