"""`relax.build`: from graphs to native code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.driver.building import build as build_tensor_programs
from tilewright.error import ArgumentError, UnknownNameError, did_you_mean
from tilewright.ir.module import IRModule
from tilewright.ir.recursion import deep_recursion
from tilewright.relax.analysis import all_global_vars, check_well_formed
from tilewright.relax.expr import Constant, Function, const
from tilewright.relax.op.devices import check_devices
from tilewright.relax.vm.compile import compile_graphs, graph_programs
from tilewright.relax.vm.executable import Executable
from tilewright.relax.vm.pass_results import Pipeline, after_passes
from tilewright.runtime.device import cpu
from tilewright.runtime.module import Module
from tilewright.runtime.ndarray import NDArray, from_dlpack
from tilewright.target import Target
from tilewright.tir.analysis.index_bounds import check_bounds
from tilewright.tir.function import PrimFunc


@deep_recursion
def build(
    mod: IRModule | Function,
    target: str | Target | None = None,
    params: Mapping[str, Any] | None = None,
    pipeline: Pipeline = "default_build",
    exec_mode: str = "compiled",
    *,
    system_lib: bool | None = None,
) -> Executable:
    """Compile a module of graph functions and tensor programs.

    Args:
        mod: the module, or one graph function.
        target: what to compile for; by default the target of the enclosing ``with Target(...)``,
            and without one ``"llvm"``, this machine.
        params: values of parameters by name, which become constants. They are for each function
            that has a parameter of that name and is not called by another function.
        pipeline: the passes before code is made: a name for `relax.get_pipeline`, a pass, or None
            for a module that needs none.
        exec_mode: ``"compiled"`` or ``"bytecode"``, which are the same here: native code.
        system_lib: kept for old programs; only None and False are possible.

    Returns:
        Executable: for `relax.VirtualMachine`, or to export.

    Raises:
        ArgumentError: for something that cannot be compiled.
        VerifyError: for a malformed graph function.
        BoundsError: for a tensor program that certainly accesses elements outside of its buffers.
        DeviceError: for an array on a device other than a processor.
        LoweringError: for operators that the pipeline did not lower.
        UnknownNameError: for a call of a function that is nowhere.
    """
    if exec_mode not in ("compiled", "bytecode"):
        raise ArgumentError(f"relax.build: exec_mode is 'compiled' or 'bytecode': {exec_mode!r}")
    if system_lib:
        raise ArgumentError("relax.build: a system library is not possible; use export_library")
    from tilewright.relax.transform import Normalize

    module = Normalize()(_as_module(mod))
    check_well_formed(module)
    check_bounds(module)
    check_devices(module)
    chosen = _as_target(target)
    if params:
        module = _with_params(module, params)
    with chosen:
        module = after_passes(module, chosen, pipeline)
    graphs = graph_programs(module)
    return Executable(module, chosen, compile_graphs(module, graphs, chosen))


def compile(
    mod: IRModule | Function | PrimFunc,
    target: str | Target | None = None,
    *,
    relax_pipeline: Pipeline = "default_build",
) -> Executable | Module:
    """Compile a module.

    Args:
        mod: a module, or one function.
        target: see `build`.
        relax_pipeline: the passes over graph functions; see `build`.

    Returns:
        What `relax.build` returns for a module with graph functions, and what `tvm.build` returns
        for one of tensor programs only.
    """
    if isinstance(mod, Function):
        return build(mod, target, pipeline=relax_pipeline)
    if isinstance(mod, IRModule) and any(isinstance(f, Function) for f in mod.functions.values()):
        return build(mod, target, pipeline=relax_pipeline)
    return build_tensor_programs(mod, target=target)


def _as_module(mod: object) -> IRModule:
    if isinstance(mod, Function):
        named = mod if mod.global_symbol else mod.with_attr("global_symbol", "main")
        return IRModule.from_expr(named)
    if not isinstance(mod, IRModule):
        raise ArgumentError(f"relax.build: expected an IRModule, got {mod!r}")
    return mod


def _with_params(module: IRModule, params: Mapping[str, Any]) -> IRModule:
    from tilewright.relax.transform import BindParams

    if not isinstance(params, Mapping):
        raise ArgumentError(
            f"relax.build: params are arrays by the name of a parameter, got {params!r}"
        )
    # Converted here, so that functions share them.
    values = {name: _as_constant(name, value) for name, value in params.items()}
    graphs = {var: f for var, f in module.functions.items() if isinstance(f, Function)}
    called = {var for function in graphs.values() for var in all_global_vars(function)}
    owners = {
        var.name_hint: [param.name_hint for param in function.params]
        for var, function in graphs.items()
        if var not in called
    }
    known = {name for names in owners.values() for name in names}
    for name in values.keys() - known:
        hint = did_you_mean(name, known, f"; they have {sorted(known)}")
        raise UnknownNameError(f"relax.build: params: no function has a parameter {name!r}{hint}")
    for name, own in owners.items():
        module = BindParams(name, {key: v for key, v in values.items() if key in own})(module)
    return module


def _as_constant(name: str, value: Any) -> Constant:
    if isinstance(value, Constant):
        return value
    if isinstance(value, (NDArray, np.ndarray, np.generic)):
        return const(value)
    if hasattr(value, "__dlpack__"):
        return const(from_dlpack(value).copyto(cpu()))  # it may change later
    raise ArgumentError(f"relax.build: params: {name!r} must be an array, got {value!r}")


def _as_target(target: str | Target | None) -> Target:
    chosen = target if target is not None else Target.current() or "llvm"
    return chosen if isinstance(chosen, Target) else Target(chosen)
