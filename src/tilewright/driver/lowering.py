"""`tvm.lower`: the loops that a schedule or a function becomes, for people to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.driver.pipeline import lowering, readable_loops
from tilewright.error import ArgumentError
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.recursion import deep_recursion
from tilewright.te.schedule import Schedule, schedule_to_prim_func
from tilewright.te.tensor import Tensor
from tilewright.tir.analysis.verify import verify_well_formed
from tilewright.tir.buffer import Buffer
from tilewright.tir.function import PrimFunc


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
        return IRModule({GlobalVar(name): schedule_to_prim_func(inp, args, name, binds)})
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
