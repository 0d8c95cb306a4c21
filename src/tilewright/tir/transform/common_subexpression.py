"""Index expressions that a statement uses several times are computed once.

``C[m * 1024 + l] = C[m * 1024 + l] + x`` becomes ``cse_var_1 = m * 1024 + l`` and then
``C[cse_var_1] = C[cse_var_1] + x``. Larger expressions come first, and what they share with the
rest of the statement, or with each other, is named in turn. Only integer arithmetic that can be
evaluated anywhere is considered: no loads, no calls, no division by what may be zero.
"""

from __future__ import annotations

from typing import Any

from tilewright.ir.expr import (
    Add,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mul,
    SizeVar,
    Sub,
    Var,
)
from tilewright.ir.expr import Div as TruncDiv
from tilewright.ir.expr import Mod as TruncMod
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    AssertStmt,
    BufferStore,
    Evaluate,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)

_ARITHMETIC = (Add, Sub, Mul, Min, Max)
_DIVISIONS = (FloorDiv, FloorMod, TruncDiv, TruncMod)
_SIMPLE = (BufferStore, Evaluate, IfThenElse, LetStmt, AssertStmt, SeqStmt)


def common_subexpression_elimination(func: PrimFunc) -> PrimFunc:
    """`func` with integer variables ``cse_var_1``, ``cse_var_2``, ... for repeated arithmetic.

    Each is defined right before the statement that uses it. A statement is a store or an
    evaluation, with the conditions and definitions around it but without loops.
    """
    return func.with_body(_Elimination()(func.body))


class _Elimination(Rewriter):
    def __init__(self) -> None:
        self._count = 0

    def _statement(self, stmt: Any) -> Stmt:
        return self._eliminate(stmt) if _is_simple(stmt) else stmt.map_children(self)

    BufferStore = Evaluate = IfThenElse = LetStmt = AssertStmt = _statement

    def _eliminate(self, stmt: Stmt) -> Stmt:
        named: list[tuple[Var, Expr]] = []
        while True:
            numbering = _ValueNumbers()
            numbering.scan(stmt)
            for _, value in named:
                numbering.scan(value)
            repeated = numbering.largest_repeated()
            if repeated is None:
                break
            self._count += 1
            number, value = repeated
            var = Var(f"cse_var_{self._count}", value.dtype)
            replace = _Replacement(numbering.numbers, number, var)
            stmt = replace(stmt)
            named = [(v, replace(e)) for v, e in named]
            named.append((var, value))
        for var, value in named:
            stmt = LetStmt(var, value, stmt)
        return stmt


def _is_simple(stmt: Stmt) -> bool:
    """Whether `stmt` runs at once: no loop and no allocation inside."""
    return isinstance(stmt, _SIMPLE) and all(
        not isinstance(child, Stmt) or _is_simple(child) for child in stmt.children()
    )


class _ValueNumbers:
    """Gives equal expressions equal numbers, and counts where they occur.

    Expressions that cannot be computed in front of the statement have no number.
    """

    def __init__(self) -> None:
        self.numbers: dict[Expr, int] = {}
        self._table: dict[Any, int] = {}
        self._occurrences: list[int] = []
        self._sizes: list[int] = []
        self._first: list[Expr] = []
        self._local: set[Var] = set()

    def scan(self, node: Node) -> None:
        """Count the expressions of a statement, or of an expression."""
        if isinstance(node, Expr):
            self._number(node)
            return
        if isinstance(node, LetStmt):
            self._local.add(node.var)
        for child in node.children():
            self.scan(child)

    def _number(self, expr: Expr) -> int | None:
        """The number of `expr` if it can be moved, after counting it and its parts."""
        kind = expr.__class__
        if kind is Let:
            self._local.add(expr.var)  # type: ignore[attr-defined]
        parts = [self._number(child) for child in expr.children()]  # type: ignore[arg-type]
        if kind is Var or kind is SizeVar:
            if expr in self._local or not expr.dtype.is_integral:
                return None
            key: Any = expr
        elif kind is IntImm:
            key = (expr.dtype, expr.value)  # type: ignore[attr-defined]
        elif None in parts or not _can_move(expr):
            return None
        else:
            key = (kind, expr.dtype, *parts)
        number = self._table.setdefault(key, len(self._first))
        if number == len(self._first):
            self._first.append(expr)
            self._occurrences.append(0)
            self._sizes.append(1 + sum(self._sizes[part] for part in parts if part is not None))
        self._occurrences[number] += 1
        self.numbers[expr] = number
        return number

    def largest_repeated(self) -> tuple[int, Expr] | None:
        """The largest expression that occurs twice, the first of them in case of a tie."""
        best: int | None = None
        for number, expr in enumerate(self._first):
            if self._occurrences[number] < 2 or isinstance(expr, (Var, IntImm)):
                continue
            if best is None or self._sizes[number] > self._sizes[best]:
                best = number
        return None if best is None else (best, self._first[best])


def _can_move(expr: Expr) -> bool:
    """Whether `expr`, of parts that can be moved, is integer arithmetic that cannot fail."""
    if expr.dtype.lanes != 1 or not (expr.dtype.is_int or expr.dtype.is_uint):
        return False
    if isinstance(expr, _DIVISIONS):
        return isinstance(expr.b, IntImm) and expr.b.value not in (0, -1)
    return isinstance(expr, (*_ARITHMETIC, Cast))


class _Replacement(Rewriter):
    """Replaces the expressions of one number by a variable."""

    def __init__(self, numbers: dict[Expr, int], number: int, var: Var) -> None:
        self._numbers, self._number, self._var = numbers, number, var

    def __call__(self, node: Any) -> Any:
        if isinstance(node, Expr) and self._numbers.get(node) == self._number:
            return self._var
        return node.map_children(self)
