"""From a module of graph functions and tensor programs to native code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tilewright.driver.compiled_units import (
    CompiledUnit,
    compile_units,
    declaration,
    rename_functions,
    with_callees,
)
from tilewright.driver.object_cache import default_cache
from tilewright.driver.pipeline import for_backend, generate_code
from tilewright.ir.expr import IntImm
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.relax.expr import Function
from tilewright.relax.sizes import size_text
from tilewright.relax.struct_info import StructInfo, TensorStructInfo
from tilewright.relax.vm.emit import ConstantTable, Observer, emit, written_parameters
from tilewright.relax.vm.emit_device import CONSTANTS
from tilewright.relax.vm.function import (
    GRAPHS_FUNCTION,
    Descriptions,
    GraphDescription,
    ObservedDescription,
    describe,
)
from tilewright.relax.vm.kernel_calls import KernelCalls
from tilewright.relax.vm.placement import DeviceKernels, Placement
from tilewright.relax.vm.plan import MemoryPlan, plan_memory
from tilewright.relax.vm.signature import Signature, signature_of
from tilewright.relax.vm.steps import NotCompilableError, in_order, label_of
from tilewright.relax.vm.translate import Program, translate
from tilewright.runtime.module import CompiledCode, Module, compiled_module
from tilewright.target import Target
from tilewright.target.codegen.llvm.jit import LinkedModule
from tilewright.tir.call_boundary.metadata import TEXTS, signatures_of
from tilewright.tir.function import PrimFunc

LIBRARY_OBSERVER: Final = "tilewright.relax.observe_library"
"""The registered function that the functions of a library call that can be observed."""


def observed_name(name: str) -> str:
    """The name of the function that does the same as another one, and can be observed."""
    return f"tilewright_observed_{name}"


def native_code(
    module: IRModule,
    whole: IRModule,
    kernels: dict[GlobalVar, PrimFunc],
    started: DeviceKernels,
    constants: ConstantTable,
    units: Mapping[GlobalVar, CompiledUnit] | None,
) -> tuple[CompiledCode, Mapping[GlobalVar, CompiledUnit]]:
    """Compile graph functions and kernels.

    Args:
        module: where other tensor programs are that the kernels call.
        whole: the graph functions, as tensor programs, and the kernels of the host.
        started: the kernels of the device.
        units: the kernels of the host, if they are compiled already.

    Returns:
        The code, and the kernels as far as they are object files of their own.
    """
    target = started.placement.target
    if started.placement.has_device:
        host = _lowered(module, whole, kernels, started.placement.host, "_on_host")
        return generate_code(IRModule(started.lowered), target, constants.params(), host), {}
    if target.kind.name != "llvm":
        everything = _lowered(module, whole, kernels, target)
        return generate_code(everything, target, constants.params()), {}
    if units is None:
        units = compile_units(module, kernels, target, default_cache())
    return _linked(whole, kernels, target, constants, units), units


def _linked(
    whole: IRModule,
    kernels: dict[GlobalVar, PrimFunc],
    target: Target,
    constants: ConstantTable,
    units: Mapping[GlobalVar, CompiledUnit],
) -> CompiledCode:
    """Graph functions in one object file, and each kernel in one of its own."""
    symbols = {name: GlobalVar(unit.symbol) for name, unit in units.items()}
    declared = {name: declaration(kernel) for name, kernel in kernels.items()}
    whole = IRModule({**whole.functions, **declared}, whole.attrs)
    main = rename_functions(whole, symbols)
    code = generate_code(main, target, constants.params())
    return LinkedModule(code, [unit.unit for unit in units.values()])


def _lowered(
    module: IRModule,
    whole: IRModule,
    kernels: dict[GlobalVar, PrimFunc],
    target: Target,
    suffix: str = "",
) -> IRModule:
    """All functions, the kernels as backends take them.

    Args:
        suffix: what the names of functions end in that kernels call.
    """
    functions = dict(kernels)
    renamed: dict[GlobalVar, GlobalVar] = {}
    for name, kernel in kernels.items():
        called = with_callees(module, name, kernel)
        functions |= called
        renamed |= {v: GlobalVar(v.name_hint + suffix) for v in called if v not in kernels}
    legal = for_backend(rename_functions(IRModule(functions), renamed), target)
    return IRModule({**whole.functions, **legal.functions}, whole.attrs)


@dataclass(eq=False)
class GraphPrograms:
    """The graph functions of a module that become native code, and what they need.

    Attributes:
        kernels: the tensor programs of the host that they call.
        started: those that run on a device.
        overlapping: the kernels whose arrays may overlap.
        packed: the symbols of graph functions that work with values of any kind.
        reasons: why the other graph functions are evaluated instead.
    """

    started: DeviceKernels
    programs: dict[GlobalVar, Program] = field(default_factory=dict)
    plans: dict[GlobalVar, MemoryPlan] = field(default_factory=dict)
    kernels: dict[GlobalVar, PrimFunc] = field(default_factory=dict)
    overlapping: set[GlobalVar] = field(default_factory=set)
    packed: dict[GlobalVar, str] = field(default_factory=dict)
    reasons: dict[GlobalVar, str] = field(default_factory=dict)


def graph_programs(module: IRModule, placement: Placement | None = None) -> GraphPrograms:
    """The programs of those graph functions of `module` that can be compiled.

    A function that calls one that cannot be compiled cannot be compiled either.

    Args:
        module: the graphs and their kernels.
        placement: where they run; on the host by default.
    """
    placement = placement or Placement(Target("llvm"))
    found = GraphPrograms(DeviceKernels(module, placement))
    functions = {v: f for v, f in module.functions.items() if isinstance(f, Function)}
    signatures: dict[GlobalVar, Signature] = {}
    for name, function in functions.items():
        try:
            signatures[name] = signature_of(function, placement)
        except NotCompilableError as reason:
            found.reasons[name] = str(reason)
    changed = True
    packed: dict[GlobalVar, str] = {}
    while changed:
        changed, packed_before = False, len(packed)
        found.programs, kernels = {}, KernelCalls(module, signatures, packed, found.started)
        for name in list(signatures):
            try:
                found.programs[name] = translate(functions[name], signatures[name], kernels)
            except NotCompilableError as reason:
                found.reasons[name] = str(reason)
                del signatures[name]
                changed = True
            else:
                if found.programs[name].slots:
                    kernels.packed_symbol(name)
        changed = changed or len(packed) != packed_before
        found.packed = packed
        found.kernels, found.overlapping = kernels.kernels, kernels.overlapping
    for name, program in found.programs.items():
        found.plans[name] = plan_memory(program.steps, program.analyzer)
    return found


@dataclass(eq=False)
class CompiledGraphs:
    """Native code of graph functions.

    Attributes:
        module: what was compiled, with its raw and packed functions.
        constants: what the code refers to.
        descriptions: how the functions are called.
        units: the kernels, where they are object files of their own.
    """

    code: CompiledCode
    module: IRModule
    constants: ConstantTable
    graphs: GraphPrograms
    descriptions: Descriptions
    units: Mapping[GlobalVar, CompiledUnit]

    def runtime_module(self) -> Module:
        """The functions, to be called."""
        module = compiled_module(self.code, signatures_of(self.module))
        describe(module, self.descriptions)
        return module


def compile_graphs(
    module: IRModule,
    graphs: GraphPrograms,
    observers: Mapping[GlobalVar, Observer] | None = None,
    units: Mapping[GlobalVar, CompiledUnit] | None = None,
    profiled: bool = False,
) -> CompiledGraphs:
    """Compile graph functions and their kernels.

    Args:
        observers: what is called before and after each step of a function.
        units: the kernels, if they are compiled already.
        profiled: whether there are functions `observed_name`, too, which do the same as those that
            are exported, and call the observer `LIBRARY_OBSERVER`.
    """
    observers = observers or {}
    private = {
        name: _private(kernel, name in graphs.overlapping)
        for name, kernel in graphs.kernels.items()
    }
    symbols = (module[name].global_symbol for name in graphs.programs)
    constants = ConstantTable(next(filter(None, symbols), ""))
    emitted = {
        name: emit(
            module[name].global_symbol,
            program,
            graphs.plans[name],
            constants,
            graphs.started.placement.device_type,
            observers.get(name),
            graphs.packed.get(name),
        )
        for name, program in graphs.programs.items()
    }
    seen: dict[str, ObservedDescription] = {}
    for name, program in graphs.programs.items() if profiled else ():
        symbol = module[name].global_symbol
        if symbol is None or program.slots:
            continue
        observer = Observer(LIBRARY_OBSERVER, 0, sees_arrays=False)
        observed, device_type = observed_name(symbol), graphs.started.placement.device_type
        emitted[GlobalVar(observed)] = emit(
            observed, program, graphs.plans[name], constants, device_type, observer
        )
        labels = [label_of(step) for step in in_order(program.steps)]
        inputs = [_input_of(param.struct_info) for param in module[name].params]
        seen[symbol] = ObservedDescription(labels, inputs)
    placement = graphs.started.placement
    given = constants.device_function(placement.device_type)
    if given is not None:
        emitted[CONSTANTS] = given
    digest = "" if given is None else constants.digest
    descriptions = Descriptions(_described(module, graphs), placement.kind, digest, seen)
    texts = {GRAPHS_FUNCTION: descriptions.as_json()}
    whole = IRModule({**private, **emitted}, {TEXTS: texts})
    code, units = native_code(module, whole, private, graphs.started, constants, units)
    return CompiledGraphs(code, whole, constants, graphs, descriptions, units)


def _input_of(info: StructInfo | None) -> tuple[str, list[int | str]] | None:
    if not isinstance(info, TensorStructInfo) or info.extents is None:
        return None
    extents = [e.value if isinstance(e, IntImm) else size_text(e) for e in info.extents]
    return str(info.dtype), extents


def _described(module: IRModule, graphs: GraphPrograms) -> dict[str, GraphDescription]:
    found: dict[str, GraphDescription] = {}
    for name, program in graphs.programs.items():
        names = [param.name_hint for param in module[name].params]
        signature, symbol = program.signature, module[name].global_symbol
        if symbol is not None:
            written = sorted(written_parameters(program.steps))
            found[symbol] = GraphDescription(names, signature.structure, signature.on_host, written)
    return found


def _private(kernel: PrimFunc, overlaps: bool) -> PrimFunc:
    """A tensor program as graph functions call it: as a rule with arrays that do not overlap."""
    private = kernel.without_attr("global_symbol")
    return private if overlaps else private.with_attr("tir.noalias", True)
