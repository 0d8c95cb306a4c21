"""Memory from the heap is taken once for a loop, not once for each of its iterations.

Before::                                     After::

    for i in range(64):                          allocate B[65536]
        allocate B[65536]                        for i in range(64):
        ...                                          ...

What an iteration leaves in memory means nothing to the next one, so it may find anything there.
Iterations that run at the same time keep memory of their own.
"""

from __future__ import annotations

from collections import Counter

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT64, INT32, INT64, DType
from tilewright.ir.expr import (
    Add,
    Expr,
    IntImm,
    Max,
    Min,
    Mul,
    Sub,
    Var,
    constant_product,
    is_const_int,
)
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Allocate, AttrStmt, For, IfThenElse, LetStmt, Stmt, While, seq
from tilewright.tir.substitute import symbolic_sizes, variables_of
from tilewright.tir.transform.building.allocations import STACK_LIMIT
from tilewright.tir.transform.building.statements import StatementRewriter, statements


def hoist_workspaces(func: PrimFunc) -> PrimFunc:
    """`func` with large allocations in front of the loops that run one iteration after another."""
    pointers = Counter(
        stmt.buffer_var for stmt in statements(func.body) if isinstance(stmt, Allocate)
    )
    several = {pointer for pointer, count in pointers.items() if count > 1}
    return func.with_body(_Hoisting({*func.params, *symbolic_sizes(func)}, several)(func.body))


class _Hoisting(Rewriter):
    def __init__(self, sizes: set[Var], several: set[Var]) -> None:
        self._sizes = sizes
        self._several = several
        """Pointers to memory that is allocated in several places."""
        self._depth = 0
        """How many loops are around, up to the next one whose iterations run at the same time."""
        self._hoisted: list[Allocate] = []

    def For(self, loop: For) -> Stmt:
        if loop.kind.is_in_order:
            return self._in_front(loop)
        return self._keeping(loop)

    def While(self, stmt: While) -> Stmt:
        return self._in_front(stmt)

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        is_thread = isinstance(stmt.node, IterVar)
        return self._keeping(stmt) if is_thread else stmt.map_children(self)

    def Allocate(self, stmt: Allocate) -> Stmt:
        known = stmt.buffer_var not in self._several and self._is_workspace(stmt)
        if not self._depth or not known:
            return stmt.map_children(self)
        self._hoisted.append(stmt)
        return self(stmt.body)

    def _in_front(self, loop: For | While) -> Stmt:
        """A loop with what is hoisted out of it."""
        self._depth += 1
        result: Stmt = loop.map_children(self)
        self._depth -= 1
        if not self._depth:
            for allocation in reversed(self._hoisted):
                result = allocation.replace(body=result)
            self._hoisted = []
        return result

    def _keeping(self, stmt: Stmt) -> Stmt:
        """A statement out of which nothing is hoisted."""
        depth, hoisted = self._depth, self._hoisted
        self._depth, self._hoisted = 0, []
        result = stmt.map_children(self)
        self._depth, self._hoisted = depth, hoisted
        return result

    def _is_workspace(self, stmt: Allocate) -> bool:
        """Whether it is memory from the heap, of a size that is known when the function starts."""
        if not is_const_int(stmt.condition, 1):
            return False
        elements = constant_product(stmt.extents)
        if elements is not None:
            return elements * stmt.dtype.itemsize > STACK_LIMIT
        return all(self._sizes.issuperset(variables_of(extent)) for extent in stmt.extents)


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
