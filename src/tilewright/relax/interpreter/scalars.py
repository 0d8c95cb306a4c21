"""The numbers that expressions of symbolic sizes are."""

from __future__ import annotations

from typing import Any

from tilewright.error import InterpreterError
from tilewright.ir.expr import Expr, FloatImm, IntImm, Var
from tilewright.relax.interpreter.values import Sizes
from tilewright.relax.sizes import size_text, symbolic_vars_of
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter import Interpreter
from tilewright.tir.op import ret
from tilewright.tir.stmt import Evaluate


class Scalars:
    """Evaluates scalar expressions in the interpreter of tensor programs; prepares each once."""

    def __init__(self) -> None:
        self._prepared: dict[Expr, tuple[list[Var], Interpreter]] = {}

    def __call__(self, expr: Expr, sizes: Sizes) -> Any:
        """The number that `expr` is."""
        if isinstance(expr, (IntImm, FloatImm)):
            return bool(expr.value) if expr.dtype.is_bool else expr.value
        if isinstance(expr, Var) and expr in sizes:
            return sizes[expr]
        known = self._prepared.get(expr)
        if known is None:
            variables = symbolic_vars_of(expr)
            function = PrimFunc(tuple(variables), Evaluate(ret(expr)))
            known = self._prepared[expr] = variables, Interpreter(function)
        variables, interpreter = known
        missing = [var.name for var in variables if var not in sizes]
        if missing:
            raise InterpreterError(f"the size {missing[0]} of {size_text(expr)} has no value here")
        return interpreter.run("size", *[sizes[var] for var in variables])
