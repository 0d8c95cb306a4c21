"""Names of index expressions go back into the indices.

The lowered form shares subexpressions of indices through variables, for its readers. The passes
after it compare indices and read strides off them, for which they must see the whole sum.
"""

from __future__ import annotations

from tilewright.ir.expr import Call, Expr, Let, Var
from tilewright.ir.op import Op
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import LetStmt, Stmt
from tilewright.tir.transform.analysis.affine import expand
from tilewright.tir.transform.building.loop_substitution import Iteration


def inline_lets(func: PrimFunc) -> PrimFunc:
    """`func` without variables for integer expressions that load nothing, and without `likely`."""
    body = _InlineLets({})(func.body)
    return func if body is func.body else func.with_body(body)


def _is_index(value: Expr) -> bool:
    """Whether `value` is integer arithmetic over variables only."""
    return value.dtype.is_integral and not any(
        isinstance(node, (BufferLoad, Call)) for node in walk(value)
    )


class _InlineLets(Iteration):
    def LetStmt(self, stmt: LetStmt) -> Stmt:
        value = self(stmt.value)
        if _is_index(value):
            self._values[stmt.var] = expand(value)
            return self(stmt.body)
        body = self(stmt.body)
        if value is stmt.value and body is stmt.body:
            return stmt
        return stmt.replace(value=value, body=body)

    def Let(self, expr: Let) -> Expr:
        value = self(expr.value)
        if _is_index(value):
            self._values[expr.var] = expand(value)
            return self(expr.body)
        return expr.replace(value=value, body=self(expr.body))

    def _fresh(self, var: Var) -> Var:
        return var  # nothing is copied

    def Call(self, call: Call) -> Expr:
        if isinstance(call.op, Op) and call.op.name == "tir.likely":
            return self(call.args[0])
        return call.map_children(self)
