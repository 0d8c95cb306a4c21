"""Handing functions that are marked for another compiler over to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir.module import BaseFunc, GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.transform import ModulePass
from tilewright.relax.expr import (
    BindingBlock,
    Call,
    Constant,
    ExternFunc,
    Function,
    PrimValue,
    RelaxExpr,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tilewright.relax.op.base import CALL_DPS_PACKED, CALL_TIR
from tilewright.relax.struct_info import TupleStructInfo
from tilewright.relax.transform.function_pass import ModuleMutator
from tilewright.relax.transform.fuse_ops_by_pattern import CODEGEN
from tilewright.relax.transform.private_functions import only_called
from tilewright.runtime.module import Module
from tilewright.runtime.registry import get_global_func, register_func, registered_callable
from tilewright.tir.function import PrimFunc

PREFIX = "relax.ext."
"""What the names begin with under which compilers are registered."""


class RunCodegen(ModulePass):
    """Replace calls of functions with the attribute ``Codegen`` by what their compiler makes.

    `FuseOpsByPattern` with ``annotate_codegen=True`` and `MergeCompositeFunctions` make such
    functions. Their compiler is a Python function that is registered under ``relax.ext.`` and the
    attribute. It takes a list of functions, each of which has a ``global_symbol`` and, as local
    functions, the composite functions that it calls; the options; and names for the constants in
    the functions. It returns a list with what stands for each function::

        @tvm.register_func("relax.ext.mine")
        def compile_for_mine(functions, options, constant_names):
            return [kernel_of(function, **options) for function in functions]

    * a `PrimFunc`, which becomes a part of the module and is called by ``R.call_tir``;
    * the name of a registered function, or a Python callable, which is registered under the name of
      the function, or a runtime `Module` with a function of that name: ``R.call_dps_packed``.

    All of them take the arrays that the function takes, then its symbolic sizes if it takes a
    shape, and then arrays for the results; a `PrimFunc` takes the sizes last.

    Args:
        target_options: options by the names of the compilers.
        entry_functions: kept for old programs: functions that nothing calls any more are removed
            only if their calls were replaced.
    """

    def __init__(
        self,
        target_options: Mapping[str, Mapping[str, Any]] | None = None,
        entry_functions: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        self.target_options = {**(target_options or {})}
        self.entry_functions = entry_functions

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        called = only_called(mod)
        marked: dict[str, dict[GlobalVar, Function]] = {}
        for var, func in mod.functions.items():
            if isinstance(func, Function) and CODEGEN in func.attrs and var.name_hint in called:
                marked.setdefault(str(func.attrs[CODEGEN]), {})[var] = func
        kernels: dict[GlobalVar, Any] = {}
        for compiler, functions in marked.items():
            kernels.update(self._compiled(compiler, functions, mod))
        return _with_kernels(mod, kernels) if kernels else mod

    def _compiled(
        self, compiler: str, functions: Mapping[GlobalVar, Function], mod: IRModule
    ) -> dict[GlobalVar, Any]:
        """What a compiler makes of functions: tensor programs, and functions of the registry."""
        compile_functions = _registered(compiler)
        whole = [
            self_contained(func.with_attr("global_symbol", var.name_hint), mod)
            for var, func in functions.items()
        ]
        options = {**self.target_options.get(compiler, {})}
        made = compile_functions(whole, options, _names_of_constants(whole))
        if not isinstance(made, (list, tuple)) or len(made) != len(whole):
            raise ArgumentError(
                f"RunCodegen: {PREFIX}{compiler} got {len(whole)} functions and must return a list "
                f"of as many, it returned {made!r}"
            )
        names = [var.name_hint for var in functions]
        kernels = [_kernel(compiler, *pair) for pair in zip(names, made, strict=True)]
        return dict(zip(functions, kernels, strict=True))


def _registered(compiler: str) -> Callable[..., Any]:
    found = registered_callable(PREFIX + compiler)
    if found is None:
        raise UnknownNameError(
            f"RunCodegen: functions have the attribute Codegen {compiler!r}, but no compiler of "
            f"that name is registered: use register_func({PREFIX + compiler!r})"
        )
    return found


def _kernel(compiler: str, name: str, made: object) -> PrimFunc | ExternFunc:
    """The callee that replaces a function."""
    if isinstance(made, PrimFunc):
        return made.without_attr("global_symbol")
    if isinstance(made, str):
        get_global_func(made)  # says it if there is none
        return ExternFunc(made)
    if isinstance(made, Module):
        made = made[name]
    if not callable(made):
        raise ArgumentError(
            f"RunCodegen: {PREFIX}{compiler} returned {made!r} for {name}, not a PrimFunc, a "
            f"callable, a module, or the name of a registered function"
        )
    # Other models may have functions of the same name.
    unique, number = name, 0
    while get_global_func(unique, allow_missing=True) is not None:
        number += 1
        unique = f"{name}_{number}"
    register_func(unique, made)
    return ExternFunc(unique)


def _names_of_constants(functions: Sequence[Function]) -> dict[Constant, str]:
    names: dict[Constant, str] = {}
    for function in functions:
        for node in walk(function):
            if isinstance(node, Constant) and node not in names:
                names[node] = f"{function.global_symbol}_const_{len(names)}"
    return names


# --- functions with all that they call -------------------------------------------------------


def self_contained(function: Function, mod: IRModule) -> Function:
    """`function` with the graph functions of the module that it calls as local functions."""
    rewriter = _LocalFunctions(mod)
    changed = rewriter(function)
    if changed is function:
        return function
    body = changed.body
    assert isinstance(body, SeqExpr)
    first = BindingBlock(tuple(VarBinding(var, func) for var, func in rewriter.bound.values()))
    return changed.replace(body=body.replace(blocks=(first, *body.blocks)))


class _LocalFunctions(Rewriter):
    """Lets calls of graph functions of a module call variables.

    Attributes:
        bound: the variables, and the functions that they stand for, by the names of these.
    """

    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self.bound: dict[str, tuple[Var, Function]] = {}

    def RelaxCall(self, call: Call) -> Call:
        call = call.map_children(self)
        callee = call.op
        func = self._mod.functions.get(callee) if isinstance(callee, GlobalVar) else None
        if not isinstance(callee, GlobalVar) or not isinstance(func, Function):
            return call
        name = callee.name_hint
        if name not in self.bound:
            self.bound[name] = (Var(name, func.struct_info), func)
        return call.replace(op=self.bound[name][0])


# --- the module around the new functions -----------------------------------------------------


def _with_kernels(mod: IRModule, kernels: Mapping[GlobalVar, PrimFunc | ExternFunc]) -> IRModule:
    """The module with kernels in place of functions, and without what only these called."""
    result = _Calls(mod, kernels).module()
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in result.functions.items():
        kernel = kernels.get(var)
        if kernel is None:
            functions[var] = func
        elif isinstance(kernel, PrimFunc):
            functions[var] = kernel
    before = {name for func in kernels for name in _names_in(mod[func])}
    used = {name for func in functions.values() for name in _names_in(func)}
    kept = {
        var: func
        for var, func in functions.items()
        if var.name_hint in used or var.name_hint not in before or func.global_symbol is not None
    }
    return IRModule(kept, mod.attrs, mod.global_infos)


def _names_in(function: BaseFunc) -> set[str]:
    return {node.name_hint for node in walk(function) if isinstance(node, GlobalVar)}


class _Calls(ModuleMutator):
    def __init__(self, mod: IRModule, kernels: Mapping[GlobalVar, PrimFunc | ExternFunc]) -> None:
        super().__init__(mod)
        self._kernels = kernels

    def visit_call_(self, call: Call) -> Any:
        call = super().visit_call_(call)
        kernel = self._kernels.get(call.op) if isinstance(call.op, GlobalVar) else None
        if kernel is None:
            return call
        info = self.builder_.normalize(call).struct_info
        assert isinstance(call.op, GlobalVar)
        arrays = [part for arg in call.args for part in self._arrays(arg)]
        sizes = [s for arg in call.args if isinstance(arg, ShapeExpr) for s in arg.values]
        if isinstance(kernel, ExternFunc):
            operands = Tuple([*arrays, *map(PrimValue, sizes)])
            return Call(CALL_DPS_PACKED, [kernel, operands], None, [info], None, call.span)
        args = [call.op, Tuple(arrays), *([ShapeExpr(sizes)] if sizes else [])]
        return Call(CALL_TIR, args, None, [info], None, call.span)

    def _arrays(self, value: Any) -> list[RelaxExpr]:
        """The arrays in an argument: the fields of tuples, and nothing of a shape."""
        if isinstance(value, ShapeExpr):
            return []
        info = value.struct_info
        if not isinstance(info, TupleStructInfo):
            return [value]
        fields = (
            value.fields
            if isinstance(value, Tuple)
            else [TupleGetItem(value, index) for index in range(len(info.fields))]
        )
        return [part for f in fields for part in self._arrays(self.builder_.normalize_argument(f))]
