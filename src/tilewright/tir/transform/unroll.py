"""Loops that the schedule unrolls become straight code.

A loop of kind UNROLLED is always unrolled. Pragmas unroll more: inside a loop (or attribute)
with ``pragma_auto_unroll_max_step = n``, a nest of serial loops is unrolled if that gives at most
n statements; ``pragma_unroll_explicit = 0`` leaves such nests to the backend, which here means
that they stay loops.

In kernels, loops that are to be unrolled stay loops, of kind UNROLLED, and a pragma in their text
tells the compiler of the device; only ``pragma_unroll_explicit = 1`` makes straight code of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from tilewright.arith.linear import LinearForm
from tilewright.error import LoweringError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Add, Expr, IntImm, Mul, Ramp, Sub, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    Stmt,
    While,
    seq,
)
from tilewright.tir.transform.analysis.affine import affine, plus_constant, to_expr
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.statements import statement_count, statements

MAX_STATEMENTS = 65536
"""More code than this from one loop is refused: it would take minutes to compile."""

_STEP, _EXPLICIT = "pragma_auto_unroll_max_step", "pragma_unroll_explicit"


def unroll(func: PrimFunc) -> PrimFunc:
    """`func` without loops of kind UNROLLED, and with small nests unrolled where pragmas say so.

    Raises:
        LoweringError: for a loop of kind UNROLLED whose extent is not a constant, or that would
            become more than 65536 statements.
    """
    return func.with_body(_Unroll(by_compiler=False)(func.body))


def mark_unrolled(func: PrimFunc) -> PrimFunc:
    """`func` with loops of kind UNROLLED where pragmas ask for it.

    Raises:
        LoweringError: as `unroll`, for a loop that pragmas make straight code of.
    """
    return func.with_body(_Unroll(by_compiler=True)(func.body))


class _Unroll(Rewriter):
    def __init__(self, by_compiler: bool) -> None:
        self._by_compiler = by_compiler
        self._max_step = 0
        self._explicit: bool | None = None

    @property
    def _stays(self) -> bool:
        """Whether what is to be unrolled stays a loop, of kind UNROLLED."""
        return self._by_compiler and not self._explicit

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        return seq(*map(self, stmt.seq))

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        if stmt.attr_key not in (_STEP, _EXPLICIT):
            return stmt.map_children(self)
        return self._with({stmt.attr_key: stmt.value}, stmt.body)

    def _with(self, pragmas: Mapping[str, object], body: Stmt) -> Stmt:
        outer = self._max_step, self._explicit
        step, explicit = pragmas.get(_STEP), pragmas.get(_EXPLICIT)
        if isinstance(step, (int, IntImm)):
            self._max_step = int(step)
        if isinstance(explicit, (int, IntImm)):
            self._explicit = bool(explicit)
        body = self(body)
        self._max_step, self._explicit = outer
        return body

    def For(self, loop: For) -> Stmt:
        if _STEP in loop.annotations or _EXPLICIT in loop.annotations:
            kept = {k: v for k, v in loop.annotations.items() if k not in (_STEP, _EXPLICIT)}
            return self._with(loop.annotations, loop.replace(annotations=kept))
        if loop.kind is ForKind.UNROLLED and not self._stays and _is_plain(loop):
            _require_unrollable(loop, _unrolled_count(loop))
            return _SharedIterations(loop)(loop)
        body = self(loop.body)
        if body is not loop.body:
            loop = loop.replace(body=body)
        if loop.kind is ForKind.UNROLLED:
            return loop if self._stays else _straight(loop)
        if loop.kind is not ForKind.SERIAL or not 0 < _steps(loop) <= self._max_step:
            return loop
        if self._stays:
            return loop.replace(kind=ForKind.UNROLLED)
        return loop if self._explicit is False else unrolled(loop)


def _steps(loop: For) -> int:
    """Statements after unrolling `loop`, or 0 where a loop in it cannot be unrolled."""
    if not isinstance(loop.extent, IntImm) or any(
        isinstance(stmt, While) or (isinstance(stmt, For) and not _is_unrollable(stmt))
        for stmt in statements(loop.body)
    ):
        return 0
    return _unrolled_count(loop)


def _is_unrollable(loop: For) -> bool:
    return loop.kind is ForKind.UNROLLED and isinstance(loop.extent, IntImm)


def _straight(loop: For) -> Stmt:
    if isinstance(loop.extent, IntImm):
        _require_unrollable(loop, loop.extent.value * statement_count(loop.body))
    return unrolled(loop)


def _require_unrollable(loop: For, count: int) -> None:
    """Refuse a loop that becomes `count` statements, if that is too many."""
    if count > MAX_STATEMENTS:
        raise LoweringError(
            f"cannot unroll loop {loop.loop_var.name}: that would give {count} statements "
            f"(at most {MAX_STATEMENTS}); split it first and unroll the inner loop"
        )


def _constant_extent(loop: For) -> int:
    if not isinstance(loop.extent, IntImm):
        raise LoweringError(
            f"cannot unroll loop {loop.loop_var.name}: its extent {loop.extent!r} is not a "
            "constant; split it first and unroll the inner loop"
        )
    return loop.extent.value


def unrolled(loop: For) -> Stmt:
    """All iterations of a loop of constant extent, one after the other."""
    values = (as_expr(loop.min + i) for i in range(_constant_extent(loop)))
    return seq(*(Iteration({loop.loop_var: value})(loop.body) for value in values))


def _is_plain(stmt: Stmt) -> bool:
    """Whether it is stores and branches in unrolled loops, which bind nothing else."""
    return all(
        isinstance(part, (BufferStore, IfThenElse, SeqStmt))
        or (isinstance(part, For) and part.kind is ForKind.UNROLLED and not part.annotations)
        for part in statements(stmt)
    )


def _unrolled_count(stmt: Stmt) -> int:
    """How many statements that do something are left of a nest of unrolled loops."""
    if isinstance(stmt, For):
        return _constant_extent(stmt) * _unrolled_count(stmt.body)
    if isinstance(stmt, (BufferStore, Evaluate)):
        return 1
    return sum(_unrolled_count(child) for child in stmt.children() if isinstance(child, Stmt))


class _Copies(NamedTuple):
    """The copies of an expression."""

    key_of: Callable[[Mapping[Var, Expr]], Any]
    """Tells them apart: the values of the variables of unrolled loops that are mentioned."""
    made: dict[Any, Expr]


def _values_of(variables: Sequence[Var]) -> Callable[[Mapping[Var, Expr]], Any]:
    return itemgetter(*variables) if variables else lambda _: None


class _Index(NamedTuple):
    """An index of which the iterations of unrolled loops share all but a constant."""

    fixed: Expr | None
    """The sum of what does not change; None if that is a constant."""
    changing: Sequence[tuple[Var, int]]
    """Variables of unrolled loops, and their coefficients."""
    constant: int


class _SharedIterations(Iteration):
    """All iterations of a nest of unrolled loops; they share the expressions in which they do not
    differ.

    In a tile of the product of two matrices, the elements of both are made once per row and once
    per column. Later passes that remember what they know of a node look at each once, too.
    """

    def __init__(self, nest: For) -> None:
        Iteration.__init__(self, {})
        loops = [stmt for stmt in statements(nest) if isinstance(stmt, For)]
        self._unrolled = {loop.loop_var for loop in loops}
        self._begins_at_constants = all(isinstance(loop.min, IntImm) for loop in loops)
        self._variables: dict[Node, tuple[Var, ...]] = {}
        self._copies: dict[Expr, _Copies] = {}
        self._steps: dict[For, list[Expr]] = {}
        self._indices: dict[Expr, _Index | None] = {}

    def __call__(self, node: Any) -> Any:
        values, kind = self._values, node.__class__
        if kind is IntImm:
            return node
        if kind is Var:
            return values.get(node, node)
        if not isinstance(node, Expr):
            return Iteration.__call__(self, node)
        copies = self._copies.get(node)
        if copies is None:
            copies = self._copies[node] = _Copies(_values_of(self._variables_in(node)), {})
        key = copies.key_of(values)
        found = copies.made.get(key)
        if found is None:
            found = copies.made[key] = Iteration.__call__(self, node)
        return found

    def _variables_in(self, node: Node) -> tuple[Var, ...]:
        """The variables of unrolled loops that an expression mentions."""
        if isinstance(node, Var):
            return (node,) if node in self._unrolled else ()
        found = self._variables.get(node)
        if found is None:
            mentioned: dict[Var, None] = {}
            for part in node.children():
                mentioned |= dict.fromkeys(self._variables_in(part))
            found = self._variables[node] = tuple(mentioned)
        return found

    def Ramp(self, ramp: Ramp) -> Expr:
        index = self._index(ramp.base)
        if index is None or ramp.stride.__class__ is not IntImm:
            return Iteration.Ramp(self, ramp)
        constant = index.constant
        for var, coefficient in index.changing:
            constant += coefficient * self._values[var].value  # type: ignore[attr-defined]
        base = plus_constant(index.fixed, constant, ramp.base.dtype)
        return Ramp(base, ramp.stride, ramp.lanes)

    def _index(self, expr: Expr) -> _Index | None:
        """The parts of an index, if it changes, and is a sum of variables."""
        if expr not in self._indices:
            is_sum = expr.__class__ in (Add, Sub, Mul) and self._begins_at_constants
            self._indices[expr] = self._parts(expr) if is_sum and self._variables_in(expr) else None
        return self._indices[expr]

    def _parts(self, expr: Expr) -> _Index | None:
        terms, constant = affine(expr)
        changing = [(term, n) for term, n in terms.items() if term in self._unrolled]
        fixed = {term: n for term, n in terms.items() if term not in self._unrolled}
        if any(term.__class__ is not Var for term in terms):
            return None
        if any(n < 0 for n in fixed.values()):
            return None
        whole = to_expr(LinearForm(fixed, 0), expr.dtype) if fixed else None
        return _Index(whole, changing, constant)

    def For(self, loop: For) -> Stmt:
        steps = self._steps.get(loop)
        if steps is None:
            steps = [as_expr(loop.min + i) for i in range(_constant_extent(loop))]
            self._steps[loop] = steps
        copies: list[Stmt] = []
        for step in steps:
            self._values[loop.loop_var] = self(step)
            copies.append(self(loop.body))
        return seq(*copies)
