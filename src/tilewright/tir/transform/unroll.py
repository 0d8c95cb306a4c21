"""Loops that the schedule unrolls become straight code.

A loop of kind UNROLLED is always unrolled. Pragmas unroll more: inside a loop (or attribute)
with ``pragma_auto_unroll_max_step = n``, a nest of serial loops is unrolled if that gives at most
n statements; ``pragma_unroll_explicit = 0`` leaves such nests to the backend, which here means
that they stay loops.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.error import LoweringError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import IntImm
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    AttrStmt,
    For,
    ForKind,
    SeqStmt,
    Stmt,
    While,
    seq,
)
from tilewright.tir.transform.iteration import Iteration
from tilewright.tir.transform.statements import statement_count, statements

MAX_STATEMENTS = 65536
"""More code than this from one loop is refused: it would take minutes to compile."""

_STEP, _EXPLICIT = "pragma_auto_unroll_max_step", "pragma_unroll_explicit"


def unroll(func: PrimFunc) -> PrimFunc:
    """`func` without loops of kind UNROLLED, and with small nests unrolled where pragmas say so.

    Raises:
        LoweringError: for a loop of kind UNROLLED whose extent is not a constant, or that would
            become more than 65536 statements.
    """
    body = _Unroll()(func.body)
    return func if body is func.body else func.with_body(body)


class _Unroll(Rewriter):
    def __init__(self) -> None:
        self._max_step = 0
        self._explicit = True

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
        body = self(loop.body)
        if body is not loop.body:
            loop = loop.replace(body=body)
        if loop.kind is ForKind.UNROLLED:
            return self._explicitly(loop)
        steps = self._steps(loop)
        if loop.kind is ForKind.SERIAL and self._explicit and 0 < steps <= self._max_step:
            return unrolled(loop)
        return loop

    @staticmethod
    def _explicitly(loop: For) -> Stmt:
        if not isinstance(loop.extent, IntImm):
            raise LoweringError(
                f"cannot unroll loop {loop.loop_var.name}: its extent {loop.extent!r} is not a "
                "constant; split it first and unroll the inner loop"
            )
        count = loop.extent.value * statement_count(loop.body)
        if count > MAX_STATEMENTS:
            raise LoweringError(
                f"cannot unroll loop {loop.loop_var.name}: that would give {count} statements "
                f"(at most {MAX_STATEMENTS}); split it first and unroll the inner loop"
            )
        return unrolled(loop)

    @staticmethod
    def _steps(loop: For) -> int:
        """Statements after unrolling `loop`, or 0 where a loop in it cannot be unrolled."""
        if not isinstance(loop.extent, IntImm) or any(
            isinstance(stmt, (For, While)) for stmt in statements(loop.body)
        ):
            return 0
        return loop.extent.value * statement_count(loop.body)


def unrolled(loop: For) -> Stmt:
    """All iterations of a loop of constant extent, one after the other."""
    assert isinstance(loop.extent, IntImm)
    values = (as_expr(loop.min + i) for i in range(loop.extent.value))
    return seq(*(Iteration({loop.loop_var: value})(loop.body) for value in values))
