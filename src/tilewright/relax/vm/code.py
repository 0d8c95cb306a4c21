"""The native code of graph functions and of the tensor programs that they call."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.driver.compiled_units import (
    CompiledUnit,
    compile_units,
    declaration,
    rename_functions,
    with_callees,
)
from tilewright.driver.object_cache import default_cache
from tilewright.driver.pipeline import for_backend, generate_code
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.relax.vm.constants import ConstantTable
from tilewright.runtime.module import CompiledCode
from tilewright.target import Target
from tilewright.target.codegen.llvm.linked import LinkedModule
from tilewright.tir.function import PrimFunc


def native_code(
    module: IRModule,
    whole: IRModule,
    kernels: dict[GlobalVar, PrimFunc],
    target: Target,
    constants: ConstantTable,
    units: Mapping[GlobalVar, CompiledUnit] | None,
) -> tuple[CompiledCode, Mapping[GlobalVar, CompiledUnit]]:
    """Compile graph functions and kernels.

    Args:
        module: where other tensor programs are that the kernels call.
        whole: the graph functions, as tensor programs, and the kernels.
        kernels: the kernels.
        target: what to compile for.
        constants: what the graph functions refer to.
        units: the kernels, if they are compiled already.

    Returns:
        The code, and the kernels as far as they are object files of their own.
    """
    if target.kind.name != "llvm":
        return _in_one_piece(module, whole, kernels, target, constants), {}
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


def _in_one_piece(
    module: IRModule,
    whole: IRModule,
    kernels: dict[GlobalVar, PrimFunc],
    target: Target,
    constants: ConstantTable,
) -> CompiledCode:
    """All functions in one source."""
    functions = dict(kernels)
    for name, kernel in kernels.items():
        functions |= with_callees(module, name, kernel)
    legal = for_backend(IRModule(functions), target)
    everything = IRModule({**whole.functions, **legal.functions}, whole.attrs)
    return generate_code(everything, target, constants.params())
