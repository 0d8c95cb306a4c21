"""Parameters become constants, and symbolic sizes become numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError, DTypeError, ShapeError, UnknownNameError, did_you_mean
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, IntImm
from tilewright.ir.expr import Var as ScalarVar
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import walk
from tilewright.ir.transform import ModulePass
from tilewright.relax.analysis import defined_symbolic_vars, free_symbolic_vars
from tilewright.relax.expr import Constant, Function, RelaxExpr, Var, as_relax
from tilewright.relax.sizes import size_text, solve_sizes
from tilewright.relax.struct_info import ObjectStructInfo, StructInfo, TensorStructInfo
from tilewright.relax.transform.scopes import Substitution, substitute_variables
from tilewright.runtime.ndarray import NDArray
from tilewright.tir.substitute import substitute


class BindParams(ModulePass):
    """Replace some parameters of a function by values that are known at compile time.

    The parameters are gone, and symbolic sizes in their shapes are replaced by numbers everywhere::

        before:  def main(x: R.Tensor((1, "m")), w: R.Tensor(("n", "m"))) -> R.Tensor((1, n))
        after:   def main(x: R.Tensor((1, 784))) -> R.Tensor((1, 128))    # w has (128, 784)

    Args:
        func_name: the function.
        params: from names of parameters, or from the parameters, to arrays.
    """

    def __init__(self, func_name: str, params: Mapping[str | Var, Any]) -> None:
        if not isinstance(params, Mapping):
            raise ArgumentError(
                "BindParams: params is a dictionary from names of parameters to arrays, got a "
                f"{type(params).__name__}"
            )
        self._func_name, self._params = str(func_name), dict(params)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        function = graph_function(mod, self._func_name)
        if not self._params:
            return mod
        require_no_caller(mod, self._func_name)
        bound = bind_named_params(function, self._params)
        result = mod.clone()
        result.update_func(mod.get_global_var(self._func_name), bound)
        return result


def bind_named_params(function: Function, params: Mapping[str | Var, Any]) -> Function:
    """`function` with parameters, given by themselves or by their names, fixed to arrays."""
    return bind_params(function, {_parameter(function, key): v for key, v in params.items()})


def bind_params(function: Function, values: Mapping[Var, Any]) -> Function:
    """`function` with some parameters fixed; see `BindParams`."""
    constants = {param: _constant(param, value) for param, value in values.items()}
    analyzer = Analyzer()
    sizes = _sizes_of(constants, analyzer)
    substitution = Substitution(constants, sizes, analyzer)
    kept = tuple(param for param in function.params if param not in constants)
    return substitution(function.replace(params=kept))


def graph_function(mod: IRModule, name: str) -> Function:
    """The graph function of that name.

    Raises:
        UnknownNameError: if there is none of that name.
        ArgumentError: if it is not a graph function.
    """
    function = mod[name]
    if not isinstance(function, Function):
        raise ArgumentError(f"{name!r} is not a graph function but a {type(function).__name__}")
    return function


def require_no_caller(mod: IRModule, name: str) -> None:
    """Refuse to change the parameters of a function that others of the module call."""
    callee = mod.get_global_var(name)
    for var, function in mod.functions.items():
        if any(node == callee for node in walk(function) if isinstance(node, type(callee))):
            raise ArgumentError(
                f"{name!r} cannot lose parameters, because {var.name_hint!r} calls it with them"
            )


def _parameter(function: Function, key: str | Var) -> Var:
    if isinstance(key, Var):
        found = [param for param in function.params if param is key]
    else:
        found = [param for param in function.params if param.name_hint == key]
    names = [param.name_hint for param in function.params]
    if not found:
        name = key.name_hint if isinstance(key, Var) else str(key)
        if name in names:
            raise UnknownNameError(
                f"the function has a parameter {name!r}, but the variable that is given is another "
                "one of that name: give the name"
            )
        hint = did_you_mean(name, names, f"; it has {names}")
        raise UnknownNameError(f"the function has no parameter {name!r}{hint}")
    if len(found) > 1:
        raise ArgumentError(f"several parameters have the name {key!r}: give the variable itself")
    return found[0]


def _constant(param: Var, value: Any) -> RelaxExpr:
    if not isinstance(value, (Constant, NDArray, np.ndarray, np.generic)):
        raise ArgumentError(f"parameter {param.name_hint!r}: the value must be an array: {value!r}")
    constant = as_relax(value)
    info = param.struct_info
    if not isinstance(info, (TensorStructInfo, ObjectStructInfo)):
        raise ArgumentError(f"parameter {param.name_hint!r} is not an array but {info!r}")
    dtype = constant.data.dtype
    wanted = getattr(info, "dtype", None)
    if wanted is not None and str(wanted) != str(dtype):
        raise DTypeError(
            f"parameter {param.name_hint!r} has elements of type {wanted!s}, the array that is "
            f"given has {dtype!s}"
        )
    ndim = getattr(info, "ndim", -1)
    if ndim not in (-1, len(constant.data.shape)):
        raise _shape_error(param, constant)
    return constant


def _shape_error(param: Var, constant: Any, reason: str = "") -> ShapeError:
    info = param.struct_info
    extents = getattr(info, "extents", None)
    wanted = f"{info!r}" if extents is None else f"({', '.join(map(size_text, extents))})"
    given = tuple(constant.data.shape)
    return ShapeError(
        f"parameter {param.name_hint!r} has the shape {wanted}, the array that is given has "
        f"{given}{reason}"
    )


def _sizes_of(constants: Mapping[Var, Any], analyzer: Analyzer) -> dict[ScalarVar, Expr]:
    """The symbolic sizes that the shapes of the constants say."""
    params: list[StructInfo] = [param.struct_info or ObjectStructInfo() for param in constants]
    infos = [constant.struct_info for constant in constants.values()]
    sizes = solve_sizes(tuple(params), infos, analyzer)
    for param, constant in constants.items():
        extents = getattr(param.struct_info, "extents", None) or ()
        for pattern, actual in zip(extents, constant.data.shape, strict=True):
            value = analyzer.simplify(substitute(pattern, sizes))
            if isinstance(value, IntImm) and value.value != int(actual):
                reason = "" if value is pattern else f", but {size_text(pattern)} is {value.value}"
                raise _shape_error(param, constant, reason)
            if not isinstance(value, IntImm):
                text = size_text(pattern)
                raise _shape_error(param, constant, f", from which {text} does not follow")
    return sizes


class BindSymbolicVars(ModulePass):
    """Replace symbolic sizes by values that are known at compile time.

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
        raise ArgumentError(f"BindSymbolicVars: {key!r} is neither a size nor the name of one")
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
