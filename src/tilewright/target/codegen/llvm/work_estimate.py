"""Estimate of the work of a loop iteration, which decides whether threads pay.

The unit is about a cycle of a processor. Operations count as often as the loops around them run;
the cost of cache misses is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tilewright.ir.arithmetic import maximum
from tilewright.ir.convert import as_expr, cast, const
from tilewright.ir.dtype import FLOAT64
from tilewright.ir.expr import (
    Call,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    Let,
    Mod,
    Ramp,
    Var,
    is_const_int,
)
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import (
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
)
from tilewright.tir.substitute import substitute, variables_of

OPERATION: Final = 1
MEMORY_ACCESS: Final = 2
DIVISION: Final = 10
FUNCTIONS: Final = ("tir.call_extern", "tir.call_pure_extern", "tir.tvm_call_packed_lowered")


class _UnknownError(Exception):
    """The work depends on values that are not known in front of the loop."""


def iteration_work(loop: For, vector_bits: int) -> Expr | None:
    """The work of an average iteration of `loop`, in float64.

    It mentions only variables that are known in front of the loop. None if there is no such
    estimate: the body calls functions, or its work depends on values that it computes.
    """
    try:
        work = _Estimate(vector_bits).of(loop.body)
    except _UnknownError:
        return None
    work = substitute(work, {loop.loop_var: _middle(loop)})
    if any(isinstance(node, (BufferLoad, Call)) for node in walk(work)):
        return None
    return work if {*_bound_inside(loop.body)}.isdisjoint(variables_of(work)) else None


def _bound_inside(body: Stmt) -> Iterator[Var]:
    for node in walk(body):
        if isinstance(node, For):
            yield node.loop_var
        elif isinstance(node, (LetStmt, Let)):
            yield node.var


def _middle(loop: For) -> Expr:
    """The value of the loop variable halfway."""
    return as_expr(loop.min + loop.extent // const(2, loop.extent.dtype))


class _Estimate:
    def __init__(self, vector_bits: int) -> None:
        self._vector_bits = max(vector_bits, 64)

    def of(self, stmt: Stmt) -> Expr:
        """The work of a statement."""
        if isinstance(stmt, For):
            body = substitute(self.of(stmt.body), {stmt.loop_var: _middle(stmt)})
            count = cast(FLOAT64, maximum(stmt.extent, const(0, stmt.extent.dtype)))
            return as_expr((body + float(OPERATION)) * count)
        if isinstance(stmt, LetStmt):
            body = substitute(self.of(stmt.body), {stmt.var: stmt.value})
            return as_expr(body + self._operations(stmt.value))
        if isinstance(stmt, While):
            raise _UnknownError
        total: Expr = const(0.0, FLOAT64)
        for child in stmt.children():
            if isinstance(child, Stmt):
                total = as_expr(total + self.of(child))
        if isinstance(stmt, BufferStore):
            work = self._operations(stmt.value) + self._access(stmt.buffer, stmt.indices[0])
            total = as_expr(total + work)
        elif isinstance(stmt, IfThenElse):
            total = as_expr(total + self._operations(stmt.condition))
        elif isinstance(stmt, Evaluate):
            total = as_expr(total + self._operations(stmt.value))
        return total

    def _operations(self, expr: Expr) -> float:
        """The work of an expression; indices are free."""
        if isinstance(expr, BufferLoad):
            return self._access(expr.buffer, expr.indices[0])
        if isinstance(expr, Call) and (not isinstance(expr.op, Op) or expr.op.name in FUNCTIONS):
            raise _UnknownError
        operands = [child for child in expr.children() if isinstance(child, Expr)]
        if not operands:
            return 0.0
        work = sum(map(self._operations, operands))
        unit = DIVISION if isinstance(expr, (Div, FloorDiv, FloorMod, Mod)) else OPERATION
        return work + unit * self._registers(expr.dtype.lanes * expr.dtype.bits)

    def _access(self, buffer: Buffer, index: Expr) -> float:
        neighbours = isinstance(index, Ramp) and is_const_int(index.stride, 1)
        if neighbours or index.dtype.lanes == 1:
            bits = index.dtype.lanes * buffer.dtype.lanes * buffer.dtype.bits
            return MEMORY_ACCESS * self._registers(bits)
        return MEMORY_ACCESS * float(index.dtype.lanes)

    def _registers(self, bits: int) -> float:
        return float(max(-(-bits // self._vector_bits), 1))
