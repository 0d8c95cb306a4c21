"""Symbolic sizes of graph functions become numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError, UnknownNameError, did_you_mean
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.passes import ModulePass
from tilewright.relax.analysis import defined_symbolic_vars, free_symbolic_vars
from tilewright.relax.expr import Function
from tilewright.relax.transform.bind_params import graph_function
from tilewright.relax.transform.substitution import substitute_variables


class BindSymbolicVars(ModulePass):
    """Give symbolic sizes values that are known when the program is compiled.

    ::

        before:  def main(x: R.Tensor(("n", 4)), y: R.Tensor(("n", "m")))
        after:   def main(x: R.Tensor((8, 4)), y: R.Tensor((8, "m")))     # for {"n": 8}

    Args:
        binding_map: from sizes, or their names, to numbers or expressions.
        func_name: the function; by default all graph functions that have the sizes.
    """

    def __init__(
        self, binding_map: Mapping[str | ScalarVar, Any], func_name: str | None = None
    ) -> None:
        if not isinstance(binding_map, Mapping):
            raise ArgumentError(
                "BindSymbolicVars: binding_map is a dictionary from sizes to numbers, got a "
                f"{type(binding_map).__name__}"
            )
        self._values = {key: _extent(key, value) for key, value in binding_map.items()}
        self._func_name = func_name

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        if self._func_name is not None:
            names = [mod.get_global_var(self._func_name)]
            graph_function(mod, self._func_name)
        else:
            names = [v for v, f in mod.functions.items() if isinstance(f, Function)]
        result, found, known = mod.clone(), set(), set()
        for name in names:
            function: Any = mod.functions[name]
            sizes = {}
            for size in defined_symbolic_vars(function):
                known.add(size.name)
                key = size if size in self._values else size.name
                if key in self._values:
                    found.add(key)
                    sizes[size] = self._values[key]
            changed = substitute_variables(function, sizes=sizes)
            if sizes:
                _require_sizes(name.name_hint, function, changed)
            result.update_func(name, changed)
        for key in self._values:
            if key not in found:
                raise _unknown(key, sorted(known))
        return result if found else mod


def _extent(key: Any, value: Any) -> Expr:
    if not isinstance(key, (str, ScalarVar)):
        raise ArgumentError(f"BindSymbolicVars: {key!r} is no size and no name of one")
    expr = as_expr(value)
    if not expr.dtype.is_integral or expr.dtype.is_bool:
        raise ArgumentError(f"BindSymbolicVars: {_name(key)} is an integer, got {value!r}")
    if isinstance(expr, IntImm) and expr.value < 0:
        raise ArgumentError(f"BindSymbolicVars: {_name(key)} is an extent, got {value!r}")
    return cast(INT64, expr)


def _name(key: str | ScalarVar) -> str:
    return key if isinstance(key, str) else key.name


def _require_sizes(name: str, before: Function, after: Function) -> None:
    """Require that the function still defines all sizes that it uses."""
    lost = set(free_symbolic_vars(after)) - set(free_symbolic_vars(before))
    if lost:
        names = ", ".join(sorted(size.name for size in lost))
        raise ArgumentError(
            f"no parameter of {name!r} says what {names} is, if sizes become expressions of it"
        )


def _unknown(key: Any, known: list[str]) -> UnknownNameError:
    hint = did_you_mean(_name(key), known, f"; there are {known}")
    return UnknownNameError(f"no function has a symbolic size {_name(key)!r}{hint}")
