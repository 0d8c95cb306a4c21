"""`relax.build`: from graphs to native code.

What the passes make of a module is kept between processes, in files with the module as JSON and
its arrays behind that, each at a multiple of 64 bytes: they are mapped into memory, not read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tilewright.driver.build_module import build as build_tensor_programs
from tilewright.driver.object_cache import ObjectCache, default_cache, key_of, target_facts
from tilewright.error import ArgumentError, TVMError, UnknownNameError, did_you_mean
from tilewright.ir.dtype import DType
from tilewright.ir.garbage import few_collections
from tilewright.ir.module import IRModule
from tilewright.ir.op import Op
from tilewright.ir.pass_context import PassContext
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.rewrite import walk_once
from tilewright.providers import loaded_provider
from tilewright.relax.analysis import all_global_vars, check_well_formed
from tilewright.relax.expr import Call, Constant, Function, const
from tilewright.relax.op.table import OPERATORS
from tilewright.relax.pipeline import get_pipeline
from tilewright.relax.vm.compile import compile_graphs, graph_programs
from tilewright.relax.vm.executable import Executable
from tilewright.relax.vm.placement import Placement
from tilewright.runtime.device import cpu
from tilewright.runtime.module import Module
from tilewright.runtime.ndarray import ALIGNMENT, NDArray, alias, from_dlpack
from tilewright.target import Target
from tilewright.tir.analysis.index_bounds import check_bounds
from tilewright.tir.function import PrimFunc
from tilewright.tir.json_form import from_json, to_json

Pipeline = str | Callable[[IRModule], IRModule] | None

KEPT: Final = ("zero", "default_build")
"""The pipelines that do the same in each process."""


def after_passes(module: IRModule, target: Target, pipeline: Pipeline) -> IRModule:
    """The module after the passes of a pipeline.

    Args:
        module: the module.
        target: the target of the compilation.
        pipeline: the name of a pipeline, a pass, or None for no passes.
    """
    if pipeline is None:
        return module
    if not isinstance(pipeline, str):
        if not callable(pipeline):
            raise ArgumentError(f"relax.build: the pipeline is a name or a pass, got {pipeline!r}")
        return pipeline(module)
    passes = get_pipeline(pipeline)
    cache = default_cache()
    if cache is None or not _can_be_kept(module, pipeline):
        return passes(module)
    key = _key(module, target, pipeline)
    if key is None:
        return passes(module)
    kept = _load(cache, key)
    if kept is not None:
        return kept
    result = passes(module)
    cache.put(key, *_parts(result))
    cache.trim()
    return result


def _can_be_kept(module: IRModule, pipeline: str) -> bool:
    """Whether the result depends on nothing but the module, the target and the options."""
    if pipeline not in KEPT:
        return False
    databases = loaded_provider("tuning databases")
    if databases is not None and databases.Database.current() is not None:
        return False  # the schedules of the kernels come from there
    operators = {
        OPERATORS[node.op]
        for function in module.functions.values()
        for node in walk_once(function)
        if isinstance(node, Call) and isinstance(node.op, Op) and node.op in OPERATORS
    }
    own = __name__.partition(".")[0] + "."
    return all(
        operator.legalize is None or operator.legalize.__module__.startswith(own)
        for operator in operators
    )


def _key(module: IRModule, target: Target, pipeline: str) -> str | None:
    """What a result is kept under; None for a module, or a context, that is not only data."""
    options = PassContext.current().fingerprint()
    if options is None:
        return None
    arrays: list[Any] = []
    try:
        form = json.dumps(to_json(module, arrays))
    except TVMError:
        return None
    contents = [f"{data.dtype} {data.shape} {_digest(data)}" for data in arrays]
    return key_of([pipeline, *target_facts(target), *options, form, *contents])


def _digest(data: Any) -> str:
    values = data._host_view("hash") if isinstance(data, NDArray) else data
    return hashlib.sha256(np.asarray(values).reshape(-1).view(np.uint8).data).hexdigest()


def _parts(module: IRModule) -> list[bytes | memoryview]:
    """The content of a file, in parts: arrays are not copied."""
    arrays: list[Any] = []
    form = to_json(module, arrays)
    values = [np.asarray(a._host_view("keep") if isinstance(a, NDArray) else a) for a in arrays]
    head = json.dumps([form, [[str(DType(v.dtype)), v.shape] for v in values]]).encode()
    parts: list[bytes | memoryview] = [len(head).to_bytes(8, "little"), head]
    position = 8 + len(head)
    for value in values:
        data = np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
        parts += [bytes(-position % ALIGNMENT), data]
        position += len(parts[-2]) + value.nbytes
    return parts


def _load(cache: ObjectCache, key: str) -> IRModule | None:
    data = cache.get_mapped(key)
    if data is None:
        return None
    size = int.from_bytes(data[:8], "little")
    form, described = json.loads(bytes(data[8 : 8 + size]))
    position, arrays = 8 + size, []
    for dtype, shape in described:
        position += -position % ALIGNMENT
        kind, count = DType(dtype).numpy, int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(data, kind, count, position).reshape(shape)
        arrays.append(alias(values))
        position += values.nbytes
    return from_json(form, arrays)


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
        module = after_passes(module, chosen, pipeline)
    graphs = graph_programs(module, placement)
    return Executable(module, chosen, compile_graphs(module, graphs))


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
