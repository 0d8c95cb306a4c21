"""`tvm.lower` and `tvm.build`: from a schedule, function or module to loops, and to native code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.driver.default import DefaultSchedule
from tilewright.driver.pipeline import for_backend, generate_code, lowering, readable_loops
from tilewright.error import ArgumentError, TargetError
from tilewright.garbage import few_collections
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.recursion import deep_recursion
from tilewright.runtime.module import Module, compiled_module
from tilewright.target import Target
from tilewright.te.schedule import Schedule, schedule_to_prim_func
from tilewright.te.schedule.function import unscheduled_function
from tilewright.te.tensor import Tensor
from tilewright.tir.analysis.index_bounds import check_bounds
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.buffer import Buffer
from tilewright.tir.call_boundary.metadata import signatures_of
from tilewright.tir.function import PrimFunc


def schedule_to_module(
    sch: Schedule,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> IRModule:
    """The statements of a schedule as a function `name`, before it is lowered.

    Args:
        sch: the schedule.
        args: the parameters: tensors and scalar variables.
        name: of the function.
        binds: buffers to use for some of the tensors.
    """
    return IRModule({GlobalVar(name): schedule_to_prim_func(sch, args or (), name, binds)})


@deep_recursion
def lower(
    inp: Schedule | PrimFunc | IRModule,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
    simple_mode: bool = False,
) -> IRModule:
    """A module of loops over flat buffers.

    Args:
        inp: a `te.Schedule`, a `PrimFunc`, or a module of them.
        args: for a schedule, the parameters: tensors and scalar variables. A tensor that is not
            listed becomes memory inside the function.
        name: of a schedule or a function in the module, and under which it is exported.
        binds: for a schedule, buffers to use for some of the tensors.
        simple_mode: keep the dimensions of buffers and every index as it is, for reading.

    Raises:
        ArgumentError: if `args` is missing for a schedule or given for something else, or an input
            is not among them.
        VerifyError: for a malformed function.
        LoweringError: for a program that cannot be lowered.
    """
    passes = readable_loops() if simple_mode else lowering()
    return passes(as_program(inp, args, name, binds))


def as_program(
    inp: Schedule | PrimFunc | IRModule,
    args: Sequence[Any] | None,
    name: str,
    binds: Mapping[Tensor, Buffer] | None,
) -> IRModule:
    """The module of what `lower` takes, before it is lowered; its arguments and errors."""
    if isinstance(inp, Schedule):
        if args is None:
            raise ArgumentError("tvm.lower: `args` must list the parameters of the te.Schedule")
        return schedule_to_module(inp, args, name, binds)
    if args or binds:
        raise ArgumentError(
            f"tvm.lower: `args` and `binds` are for a te.Schedule; a {type(inp).__name__} has its "
            "own parameters"
        )
    return as_module(inp, name)


def as_module(inp: Any, name: str) -> IRModule:
    """A module with the function `inp` under `name`, or `inp` if it is one.

    Raises:
        ArgumentError: for something else.
        VerifyError: if a function is malformed, as one built by hand may be.
    """
    if isinstance(inp, IRModule):
        verify_well_formed(inp)
        return inp
    if not isinstance(inp, PrimFunc):
        raise ArgumentError(
            f"expected a te.Schedule, a PrimFunc or an IRModule, got {type(inp).__name__}"
        )
    verify_well_formed(inp)
    return IRModule({name: inp.with_attr("global_symbol", name)})


Buildable = Schedule | PrimFunc | IRModule
_DEFAULT_NAME = "default_function"
_BACKENDS = ("llvm", "c")


@deep_recursion
@few_collections()
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
        target_host: where the calling side runs, which is compiled with the rest: it must be the
            same kind of machine.
        runtime: kept for old programs; only the native runtime, ``"cpp"``, exists.
        name: under which a schedule or a function is exported, or the entry function of a module:
            ``main``, or the only one. Without, functions keep their ``global_symbol``; a function
            that has none is ``main``, and a schedule ``default_function``.
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
    if isinstance(inputs, Schedule) and args is not None and DefaultSchedule.applies(chosen):
        func = unscheduled_function(inputs, args, name, binds)
        if func is not None:
            inputs, args, binds = func, None, None
    module = as_program(inputs, args, name, binds)
    if isinstance(inputs, IRModule) and name != _DEFAULT_NAME:
        module = _with_entry_named(module, name)
    return _compiled(module, chosen)


def _compiled(module: IRModule, target: Target) -> Module:
    """Compile the functions of a module, whose indices are checked as they were written."""
    if all(function.global_symbol is None for function in module.functions.values()):
        names = [var.name_hint for var in module.functions]
        raise ArgumentError(
            f"tvm.build: no function of the module is exported; it has {names}. Give one a name: "
            'func.with_attr("global_symbol", "main")'
        )
    check_bounds(module)
    legal = for_backend(module, target)
    return compiled_module(generate_code(legal, target), signatures_of(legal))


def _with_entry_named(module: IRModule, name: str) -> IRModule:
    """`module` with its entry function exported as `name`."""
    symbols = {var: f.global_symbol for var, f in module.functions.items() if f.global_symbol}
    entries = [var for var, symbol in symbols.items() if symbol == "main"] or list(symbols)
    if len(entries) != 1:
        raise ArgumentError(
            f"tvm.build: `name` is for the entry of a module, its function 'main' or its only one; "
            f"it exports {list(symbols.values())}"
        )
    named = module.clone()
    named.update_func(entries[0], module[entries[0]].with_attr("global_symbol", name))
    return named


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
    chosen = Target.given_or_current(target)
    beside = chosen.host if host is None else Target(host)
    if beside is not None and not (
        beside.kind.name in _BACKENDS and beside.triple == chosen.triple
    ):
        raise TargetError(
            f"tvm.build: what is built for {chosen} is called on such a machine, too; the target "
            f"host {beside} is another one"
        )
    return chosen
