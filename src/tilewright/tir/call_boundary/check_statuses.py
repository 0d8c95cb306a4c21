"""Errors of the functions of a module that a function calls."""

from __future__ import annotations

from typing import Any

from tilewright.ir.arithmetic import not_equal
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Call, Var
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.stmt import Evaluate, IfThenElse, LetStmt, Stmt
from tilewright.tir.transform.building.statements import StatementRewriter


class CheckStatuses(StatementRewriter):
    """Where a function without a result is called, its status is looked at.

    Before: ``helper(A, n)``. After: ``status = helper(A, n)``, and ``return -1`` if it is not 0;
    the error is registered already.

    Attributes:
        found: whether there is such a call.
    """

    def __init__(self, module: IRModule) -> None:
        self._module = module
        self.found = False

    def Evaluate(self, stmt: Evaluate) -> Stmt:
        call: Any = stmt.value
        if not isinstance(call, Call) or not isinstance(call.op, GlobalVar):
            return stmt
        callee = self._module.functions.get(call.op)
        if getattr(callee, "ret_type", None) is not None:
            return stmt
        self.found = True
        status = Var("status", INT32)
        failed = IfThenElse(not_equal(status, 0), abi.return_value(const(-1, "int32")))
        return LetStmt(status, Call(INT32, call.op, call.args), failed)
