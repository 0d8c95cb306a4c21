"""Until when variables are used, which tells whether their memory may be written over."""

from __future__ import annotations

from tilewright.relax.expr import Call, DataflowVar, Function, If, RelaxExpr, SeqExpr, Var


class LastUses:
    """The order in which the calls of a function, and the uses of its variables, come.

    Attributes:
        of: the number of the last use of each variable.
        position: the number of each call, by its identity.
    """

    def __init__(self, function: Function) -> None:
        self.of: dict[Var, int] = {}
        self.position: dict[int, int] = {}
        self._count = 0
        self._visit(function.body)

    def _visit(self, expr: RelaxExpr) -> None:
        if isinstance(expr, SeqExpr):
            for block in expr.blocks:
                for binding in block.bindings:
                    self._visit(binding.value)
                    self._count += 1
            self._visit(expr.body)
        elif isinstance(expr, (Var, DataflowVar)):
            self.of[expr] = self._count
        elif isinstance(expr, If):
            self._visit(expr.cond)
            self._count += 1
            self._visit(expr.true_branch)
            self._visit(expr.false_branch)
            self._count += 1
        else:
            if isinstance(expr, Call):
                self.position[id(expr)] = self._count
            for child in expr.children():
                if isinstance(child, RelaxExpr):
                    self._visit(child)
