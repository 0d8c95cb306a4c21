"""Sizes of memory that depend on the arguments are computed without overflow, and checked."""

from __future__ import annotations

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT64, INT32, INT64, DType
from tilewright.ir.expr import Add, Expr, IntImm, Max, Min, Mul, Sub, Var
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.stmt import Allocate, IfThenElse, LetStmt, Stmt, seq
from tilewright.tir.transform.building.statements import StatementRewriter

ARITHMETIC = (Add, Sub, Mul, Min, Max)


def check_workspaces(body: Stmt, function: str) -> Stmt:
    """`body` in which allocations of symbolic size cannot overflow.

    Before: ``Allocate([n * m])``, whose size wraps around in the dtype of the sizes. After: an
    error if there are more elements than indices of that dtype can count, and
    ``Allocate([count])`` with an int64 `count`.
    """
    return _WorkspaceSizes(function)(body)


class _WorkspaceSizes(StatementRewriter):
    def __init__(self, function: str) -> None:
        self._function = function.replace("%", "%%")

    def Allocate(self, stmt: Allocate) -> Stmt:
        stmt = stmt.map_children(self)
        if all(isinstance(extent, IntImm) for extent in stmt.extents):
            return stmt
        count, size = const(1, INT64), const(1.0, FLOAT64)
        for extent in stmt.extents:
            count = count * _computed_in(INT64, extent)
            size = size * _computed_in(FLOAT64, extent)
        narrow = all(extent.dtype is INT32 for extent in stmt.extents)
        limit = INT32.max_int if narrow else INT64.max_int // (2 * max(stmt.dtype.itemsize, 1))
        reason = ", or more elements than int32 sizes can count" if narrow else ""
        name = stmt.buffer_var.name
        failure = abi.raise_error(
            "MemoryError",
            f"{self._function}: not enough memory for the workspace {name} of %g elements{reason}",
            size,
        )
        elements = Var(f"{name}_size", INT64)
        return seq(
            IfThenElse(size > const(float(limit), FLOAT64), failure),
            LetStmt(elements, count, stmt.replace(extents=(elements,))),
        )


def _computed_in(dtype: DType, expr: Expr) -> Expr:
    """`expr` with its sums and products computed in `dtype`, which is wide enough for them."""
    if isinstance(expr, IntImm):
        return const(expr.value, dtype)
    if isinstance(expr, ARITHMETIC):
        return type(expr)(_computed_in(dtype, expr.a), _computed_in(dtype, expr.b))
    return cast(dtype, expr)
