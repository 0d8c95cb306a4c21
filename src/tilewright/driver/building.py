"""`tvm.build`: from a schedule, a function or a module to native code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tilewright.driver.default import unscheduled_module, with_default_schedule
from tilewright.driver.lowering import as_program, lower
from tilewright.error import ArgumentError, TargetError
from tilewright.ir.module import IRModule
from tilewright.ir.recursion import deep_recursion
from tilewright.runtime.module import CompiledCode, Module, compiled_module
from tilewright.runtime.packed_func import Parameter
from tilewright.target import Target
from tilewright.target.codegen.params import Param
from tilewright.te.schedule import Schedule
from tilewright.te.tensor import Tensor
from tilewright.tir.analysis.index_bounds import check_bounds
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.make_packed_api import make_packed_api
from tilewright.tir.transform.metadata import signatures_of
from tilewright.tir.transform.pipeline import Machine, legalize_for
from tilewright.tir.transform.pipeline import lower as lower_module

Buildable = Schedule | PrimFunc | IRModule
_DEFAULT_NAME = "default_function"


@deep_recursion
def build(
    inputs: Buildable | Mapping[Any, IRModule] | list[Any],
    args: Sequence[Any] | str | Target | None = None,
    target: str | Target | None = None,
    target_host: str | Target | None = None,
    runtime: object = None,
    name: str = _DEFAULT_NAME,
    binds: Mapping[Tensor, Buffer] | None = None,
) -> Module:
    """Compile to native code.

    Functions without a schedule of their own get one: see `default_schedule`.

    Args:
        inputs: a `te.Schedule`, a `PrimFunc`, a module of them, a list of modules and functions,
            or ``{target: module}``.
        args: for a schedule, the parameters: tensors and scalar variables. A tensor that is not
            listed becomes memory inside the function. For something else, `target` may stand here.
        target: what to compile for, such as ``"llvm -mcpu=skylake"``; by default the target of
            the enclosing ``with Target(...)``, and without one ``"llvm"``, this machine.
        target_host: where the calling side runs; it must be this kind of machine too.
        runtime: kept for old programs; only the native runtime exists.
        name: of a schedule or a function, under which it is exported. Without, a function is
            exported under its ``global_symbol``, or as ``main``.
        binds: for a schedule, buffers to use for some of the tensors.

    Returns:
        Module: its functions are those with a ``global_symbol``.

    Raises:
        ArgumentError: for inputs that cannot be compiled or do not fit together.
        TargetError: for an unknown or unsupported target.
        VerifyError: for a malformed function.
        BoundsError: for a program that certainly accesses elements outside of its buffers.
        LoweringError: for a program that cannot be lowered.
        CodegenError: for a program that the target cannot express.
    """
    if isinstance(args, (str, Target)):  # as in TVM from version 0.20 on
        if target is not None:
            raise ArgumentError(f"tvm.build: two targets, {args!s} and {target!s}")
        args, target = None, args
    if runtime is not None and str(runtime) not in ("cpp", "c++"):
        raise ArgumentError(f"tvm.build: `runtime` is for old programs, got {runtime!r}")
    if isinstance(inputs, Mapping):
        inputs, target = _single_target(inputs, target)
    chosen = _as_target(target, target_host)
    if isinstance(inputs, list):
        inputs = _merged(inputs)
    if isinstance(inputs, PrimFunc) and name == _DEFAULT_NAME:
        name = inputs.global_symbol or "main"
    return build_lowered(_lowered(inputs, args, chosen, name, binds), chosen)


def _lowered(
    inputs: Buildable,
    args: Sequence[Any] | None,
    target: Target,
    name: str,
    binds: Mapping[Tensor, Buffer] | None,
) -> IRModule:
    """What is compiled for `inputs`, whose indices are checked as they were written."""
    if isinstance(inputs, Schedule):
        module = unscheduled_module(inputs, args, target, name, binds)
        if module is not None:
            check_bounds(module)
            scheduled = with_default_schedule(module, target)
            if scheduled is not None:
                return lower(scheduled)
        module = as_program(inputs, args, name, binds)
        check_bounds(module)
        return lower_module(module)
    module = as_program(inputs, args, name, binds)
    check_bounds(module)
    scheduled = with_default_schedule(module, target)
    return lower_module(module) if scheduled is None else lower(scheduled)


def build_lowered(module: IRModule, target: Target) -> Module:
    """Compile a module in the lowered form."""
    signatures = {
        symbol: tuple(Parameter(*parameter) for parameter in parameters)
        for symbol, parameters in signatures_of(module).items()
    }
    if not signatures:
        names = [var.name_hint for var in module.functions]
        raise ArgumentError(
            f"tvm.build: no function of the module is exported; it has {names}. Give one a name: "
            'func.with_attr("global_symbol", "main")'
        )
    # Properties that are computed once do not count as properties for the type checker.
    legal = legalize_for(module, cast("Machine", target))
    code = compile_code(make_packed_api(legal), target)
    return compiled_module(code, signatures)


def compile_code(
    module: IRModule, target: Target, params: Mapping[str, Param] | None = None
) -> CompiledCode:
    """What the backend of `target` makes of functions in the form that backends take.

    Args:
        module: the functions.
        target: what to compile for.
        params: the constants that they find by `lookup_param`.
    """
    if target.kind.name == "llvm":
        from tilewright.target.codegen.llvm import compile_module

        return compile_module(module, target, params)
    if target.kind.name == "c":
        from tilewright.target.codegen.c import compile_module

        return compile_module(module, target, params)
    raise TargetError(f"tvm.build: target kind {target.kind.name!r} has no backend in this build")


def _merged(parts: Sequence[Any]) -> IRModule:
    """One module with all functions of modules; a function goes by its `global_symbol`."""
    merged = IRModule()
    for part in parts:
        module = IRModule.from_expr(part) if isinstance(part, PrimFunc) else part
        if not isinstance(module, IRModule):
            raise ArgumentError(
                f"tvm.build: a list holds modules and functions, got {type(part).__name__}"
            )
        for var, function in module.functions.items():
            if var in merged:
                raise ArgumentError(f"tvm.build: two functions are called {var.name_hint!r}")
            merged.update_func(var, function)
    return merged


def _single_target(
    inputs: Mapping[Any, IRModule], target: str | Target | None
) -> tuple[IRModule, str | Target]:
    if target is not None:
        raise ArgumentError("tvm.build: a dictionary of modules names their targets itself")
    if len(inputs) != 1:
        raise TargetError(f"tvm.build: one target at a time, got {list(inputs)}")
    ((chosen, module),) = inputs.items()
    return module, chosen


def _as_target(target: str | Target | None, host: str | Target | None) -> Target:
    if target is None:
        target = Target.current() or "llvm"
    chosen = target if isinstance(target, Target) else Target(target)
    if host is not None:
        Target(host)
    return chosen
