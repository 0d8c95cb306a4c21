"""The variables of a graph, and the symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.ir.expr import Var as Size
from tilewright.ir.module import GlobalVar
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    PrimValue,
    RelaxExpr,
    ShapeExpr,
    Var,
)
from tilewright.relax.expr import Call as GraphCall
from tilewright.relax.op.base import CALL_TIR, CALL_TIR_INPLACE, CALL_TIR_WITH_GRAD
from tilewright.relax.sizes import defined_sizes_of, free_sizes_of
from tilewright.relax.struct_info import StructInfo
from tilewright.relax.visitor import PyExprVisitor, bindings_of

_KERNEL_CALLS = (CALL_TIR, CALL_TIR_INPLACE, CALL_TIR_WITH_GRAD)


class _Variables(PyExprVisitor):
    """Collects variables, each once, in the order of appearance."""

    def __init__(self) -> None:
        self.used: dict[Var, None] = {}
        self.bound: dict[Var, None] = {}
        self.all: dict[Var, None] = {}
        self.names: dict[GlobalVar, None] = {}
        self.called: dict[GlobalVar, None] = {}

    def visit_call_(self, call: GraphCall) -> None:
        callee = call.args[0] if call.op in _KERNEL_CALLS and call.args else call.op
        if isinstance(callee, GlobalVar):
            self.called[callee] = None
        super().visit_call_(call)

    def visit_var_(self, var: Var) -> None:
        self.used[var] = self.all[var] = None

    def visit_var_def(self, var: Var) -> None:
        self.bound[var] = self.all[var] = None

    def visit_global_var_(self, name: GlobalVar) -> None:
        self.names[name] = None


def _variables_of(expr: Any) -> _Variables:
    collector = _Variables()
    collector.visit_expr(expr)
    return collector


def free_vars(expr: Any) -> list[Var]:
    """The variables that are used in an expression and bound outside of it."""
    found = _variables_of(expr)
    return [var for var in found.used if var not in found.bound]


def bound_vars(expr: Any) -> list[Var]:
    """The variables that are bound in an expression: parameters, and those of bindings."""
    return list(_variables_of(expr).bound)


def all_vars(expr: Any) -> list[Var]:
    """The variables that occur in an expression."""
    return list(_variables_of(expr).all)


def all_global_vars(expr: Any) -> list[GlobalVar]:
    """The functions of the module that an expression names."""
    return list(_variables_of(expr).names)


def called_global_vars(expr: Any) -> list[GlobalVar]:
    """The functions of the module that an expression calls, directly or by ``call_tir``."""
    return list(_variables_of(expr).called)


# --- symbolic sizes --------------------------------------------------------------------------


class _Sizes(PyExprVisitor):
    """Collects symbolic sizes, each once, in the order of appearance."""

    def __init__(self) -> None:
        self.used: dict[Size, None] = {}
        self.defined: dict[Size, None] = {}

    def _use(self, node: Any) -> None:
        self.used.update(dict.fromkeys(free_sizes_of(node)))

    def visit_shape_expr_(self, shape: ShapeExpr) -> None:
        self._use(shape)

    def visit_prim_value_(self, value: PrimValue) -> None:
        self._use(value)

    def visit_call_(self, call: GraphCall) -> None:
        super().visit_call_(call)
        for info in call.sinfo_args:
            self._use(info)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        super().visit_match_cast_(binding)
        self._use(binding.struct_info)
        self.defined.update(dict.fromkeys(defined_sizes_of(binding.struct_info)))

    def visit_var_def(self, var: Var) -> None:
        if var.struct_info is not None:
            self._use(var.struct_info)

    def visit_function_(self, function: Function) -> None:
        super().visit_function_(function)
        for param in function.params:
            if param.struct_info is not None:
                self.defined.update(dict.fromkeys(defined_sizes_of(param.struct_info)))
        if function.ret_struct_info is not None:
            self._use(function.ret_struct_info)


def _sizes_of(expr: Any) -> _Sizes:
    collector = _Sizes()
    collector.visit_expr(expr)
    return collector


def defined_symbolic_vars(func: Function) -> list[Size]:
    """The symbolic sizes that a function defines: by its parameters, and by `match_cast`."""
    return list(_sizes_of(func).defined)


def tir_vars_in_struct_info(sinfo: StructInfo) -> list[Size]:
    """The symbolic sizes that struct info mentions."""
    return free_sizes_of(sinfo)


def definable_tir_vars_in_struct_info(sinfo: StructInfo) -> list[Size]:
    """The symbolic sizes that a value of the struct info defines: those that stand alone."""
    return defined_sizes_of(sinfo)


def free_symbolic_vars(func: Any) -> list[Size]:
    """The symbolic sizes that are used in a function and not defined there."""
    found = _sizes_of(func)
    return [size for size in found.used if size not in found.defined]


# --- bindings --------------------------------------------------------------------------------


def name_to_binding(func: Function) -> dict[str, list[Binding]]:
    """The bindings of a function by the name of their variable."""
    found: dict[str, list[Binding]] = {}
    for binding in bindings_of(func):
        found.setdefault(binding.var.name_hint, []).append(binding)
    return found


def get_var2val(func: Function) -> dict[Var, RelaxExpr]:
    """The value of each variable of a function that is bound to one."""
    return {binding.var: binding.value for binding in bindings_of(func)}


def definition(lookup: Callable[[Var], Any], value: Any) -> Any:
    """What an operand is bound to: the expression, or the operand itself if it is none.

    Args:
        lookup: the value that a variable is bound to; None for a parameter.
    """
    while isinstance(value, Var) and (bound := lookup(value)) is not None:
        value = bound
    return value


def udchain(block: BindingBlock) -> dict[Var, list[Var]]:
    """For each variable that a block uses, the variables whose values use it."""
    chain: dict[Var, list[Var]] = {}
    for binding in block.bindings:
        chain.setdefault(binding.var, [])
        for used in free_vars(binding.value):
            chain.setdefault(used, []).append(binding.var)
    return chain


def outputs_of(block: DataflowBlock) -> list[Var]:
    """The variables of a dataflow block that can be used after it."""
    return [b.var for b in block.bindings if not isinstance(b.var, DataflowVar)]
