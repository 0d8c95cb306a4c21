"""Replacing variables of a graph function, and its symbolic sizes, wherever they are mentioned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.expr import Expr
from tilewright.ir.expr import Var as ScalarVar
from tilewright.relax.expr import (
    Call,
    Constant,
    Function,
    If,
    MatchCast,
    RelaxExpr,
    SeqExpr,
    Var,
    VarBinding,
)
from tilewright.relax.sizes import SizeSubstitution, symbolic_vars_of


class Substitution(SizeSubstitution):
    """Replaces graph variables and symbolic sizes by expressions, and binds what changes anew.

    Variables of which something is known that changes are replaced by new ones, where they are
    bound and where they are used.

    Args:
        variables: what stands for each variable, a leaf.
        sizes: what stands for each symbolic size.
        analyzer: simplifies the extents that change.
        fresh: whether all that is bound inside gets new variables, so that the result can stand
            beside the original; symbolic sizes that a match_cast defines get new ones, too.
    """

    def __init__(
        self,
        variables: Mapping[Var, RelaxExpr] | None = None,
        sizes: Mapping[ScalarVar, Expr] | None = None,
        analyzer: Analyzer | None = None,
        fresh: bool = False,
    ) -> None:
        super().__init__(dict(sizes or {}), analyzer)
        self._variables: dict[Var, RelaxExpr] = dict(variables or {})
        self._fresh = fresh
        self._known: set[ScalarVar] = set()

    def variable(self, var: Var) -> RelaxExpr:
        """What stands for a variable where it is used."""
        value = self._variables.get(var)
        if value is None:
            return var
        return self.variable(value) if isinstance(value, Var) else value

    RelaxVar = DataflowVar = variable  # type: ignore[assignment]

    def define(self, var: Var) -> Var:
        """What stands for a variable where it is bound."""
        info = None if var.struct_info is None else self(var.struct_info)
        if info is var.struct_info and not self._fresh:
            return var
        new = type(var)(var.name_hint, info, var.span)
        self._variables[var] = new
        return new

    def VarBinding(self, binding: VarBinding) -> VarBinding:
        if isinstance(binding.value, Function):  # which may call itself
            var = self.define(binding.var)
            value = self(binding.value)
        else:
            value = self(binding.value)
            var = self.define(binding.var)
        if var is binding.var and value is binding.value:
            return binding
        return binding.replace(var=var, value=value)

    def MatchCast(self, binding: MatchCast) -> MatchCast:
        value = self(binding.value)
        if self._fresh:
            self._rename_sizes(binding)
        info, var = self(binding.struct_info), self.define(binding.var)
        if var is binding.var and value is binding.value and info is binding.struct_info:
            return binding
        return binding.replace(var=var, value=value, struct_info=info)

    def _rename_sizes(self, binding: MatchCast) -> None:
        """New symbolic sizes for those that the binding defines."""
        for size in symbolic_vars_of(binding.struct_info):
            if size not in self._sizes and size not in self._known:
                self._sizes[size] = size.replace()  # type: ignore[index]

    def RelaxFunction(self, function: Function) -> Function:
        self._known.update(s for p in function.params for s in symbolic_vars_of(p))
        params = tuple(map(self.define, function.params))
        result = function.map_children(self)
        if all(new is old for new, old in zip(params, function.params, strict=True)):
            return result
        return result.replace(params=params)

    def _with_struct_info(self, expr: Any) -> Any:
        changed = expr.map_children(self)
        if expr.struct_info is None:
            return changed
        info = self(expr.struct_info)
        return changed if info is expr.struct_info else changed.replace(struct_info=info)

    def RelaxCall(self, call: Call) -> Call:
        return self._with_struct_info(call)

    def If(self, branch: If) -> If:
        return self._with_struct_info(branch)

    def SeqExpr(self, seq: SeqExpr) -> SeqExpr:
        return self._with_struct_info(seq)

    def Constant(self, constant: Constant) -> Constant:
        return constant


def substitute_variables(
    root: Any,
    variables: Mapping[Var, RelaxExpr] | None = None,
    sizes: Mapping[ScalarVar, Expr] | None = None,
) -> Any:
    """`root` with graph variables and symbolic sizes replaced by expressions."""
    return Substitution(variables, sizes)(root) if variables or sizes else root
