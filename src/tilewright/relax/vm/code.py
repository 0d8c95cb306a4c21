"""The native code of graph functions and of the tensor programs that they call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tilewright.driver.building import compile_code
from tilewright.driver.compiled_units import CompiledUnit, compile_units, declaration, with_callees
from tilewright.driver.default import with_default_schedule
from tilewright.driver.lowering import lower
from tilewright.driver.object_cache import default_cache
from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.relax.vm.constants import ConstantTable
from tilewright.runtime.module import CompiledCode
from tilewright.target import Target
from tilewright.target.codegen.llvm.compile import compile_module
from tilewright.target.codegen.llvm.linked import LinkedModule
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.make_packed_api import make_packed_api
from tilewright.tir.transform.pipeline import Machine, legalize_for
from tilewright.tir.transform.rename_calls import rename_functions


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
    code = compile_module(make_packed_api(main), target, constants.params())
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
    scheduled = IRModule(functions)
    scheduled = with_default_schedule(scheduled, target) or scheduled
    legal = legalize_for(lower(scheduled), cast("Machine", target))
    everything = IRModule({**whole.functions, **legal.functions}, whole.attrs)
    return compile_code(make_packed_api(everything), target, constants.params())
