"""`relax.build`: from graphs to native code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tilewright.driver.build_module import build as build_tensor_programs
from tilewright.driver.helpers import Helpers, count_helpers
from tilewright.error import ArgumentError, UnknownNameError, did_you_mean
from tilewright.garbage import few_collections
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.recursion import deep_recursion
from tilewright.relax.analysis import all_global_vars, check_well_formed
from tilewright.relax.expr import Constant, Function, SeqExpr, const
from tilewright.relax.pipeline import get_pipeline
from tilewright.relax.vm.compile import CompiledGraphs, compile_graphs, graph_programs
from tilewright.relax.vm.executable import Executable
from tilewright.relax.vm.kept_programs import KeptCode, KeptProgram, kept_program
from tilewright.relax.vm.placement import Placement
from tilewright.runtime.device import cpu
from tilewright.runtime.module import Module
from tilewright.runtime.ndarray import NDArray, from_dlpack
from tilewright.target import Target
from tilewright.tir.analysis.index_bounds import check_bounds
from tilewright.tir.function import PrimFunc

Pipeline = str | Callable[[IRModule], IRModule] | None


def after_passes(module: IRModule, pipeline: Pipeline, kept: KeptProgram | None) -> IRModule:
    """The module after the passes of a pipeline.

    Args:
        module: the module.
        pipeline: the name of a pipeline, a pass, or None for no passes.
        kept: where the result is kept, if it is.
    """
    if pipeline is None:
        return module
    if not isinstance(pipeline, str):
        if not callable(pipeline):
            raise ArgumentError(f"relax.build: the pipeline is a name or a pass, got {pipeline!r}")
        return pipeline(module)
    passes = get_pipeline(pipeline)
    if kept is None:
        return passes(module)
    if kept.has_module:
        return kept.module()
    result = passes(module)
    kept.keep_module(result)
    return result


@deep_recursion
@few_collections()
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
            and without one ``"llvm"``, this machine. For a device, ``"opencl"`` or ``"cuda"``, all
            arrays are there but those that say otherwise.
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
        DeviceError: for an array on a device that is neither the host nor that of the target.
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
    chosen = Target.given_or_current(target)
    placement = Placement(chosen)
    placement.check(module)
    if params:
        module = _with_params(module, params)
    with chosen:
        kept = kept_program(module, chosen, pipeline)
        code = None if kept is None else kept.code()
        if kept is not None and code is not None:
            return _loaded(chosen, kept, code)
    with Helpers(count_helpers(_count_steps(module)) if chosen.kind.name == "llvm" else 0):
        with chosen:
            module = after_passes(module, pipeline, kept)
        compiled = compile_graphs(module, graph_programs(module, placement))
    if kept is not None:
        kept.keep_code(compiled)
    return Executable(chosen, lambda: module, lambda _: compiled)


def _count_steps(module: IRModule) -> int:
    bodies = (func.body for func in module.functions.values() if isinstance(func, Function))
    blocks = (block for body in bodies if isinstance(body, SeqExpr) for block in body.blocks)
    return sum(len(block.bindings) for block in blocks)


def _loaded(target: Target, kept: KeptProgram, code: KeptCode) -> Executable:
    """A program whose code is kept, which is compiled again if somebody wants to see more."""
    options = PassContext.current().alone()

    def compiled(module: IRModule) -> CompiledGraphs:
        with options:
            return compile_graphs(module, graph_programs(module, Placement(target)))

    return Executable(target, kept.module, compiled, code)


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
