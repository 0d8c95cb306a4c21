"""The order of the lowering passes, and a driver that can time and dump them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from tilewright.ir.module import IRModule
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.common_subexpression import common_subexpression_elimination
from tilewright.tir.transform.flatten_buffers import flatten_buffers
from tilewright.tir.transform.lower_blocks import lower_blocks
from tilewright.tir.transform.storage_rewrite import storage_rewrite

Pass = Callable[[PrimFunc], PrimFunc]
FuncOrModule = TypeVar("FuncOrModule", PrimFunc, IRModule)


class PassRecord(NamedTuple):
    """What one pass did to one function."""

    name: str
    seconds: float
    result: PrimFunc


def run_passes(
    func: PrimFunc, passes: Sequence[Pass], record: list[PassRecord] | None = None
) -> PrimFunc:
    """Apply `passes` in order; with a list as `record`, time each and keep its result."""
    for function_pass in passes:
        if record is None:
            func = function_pass(func)
            continue
        start = time.perf_counter()
        func = function_pass(func)
        name = getattr(function_pass, "__name__", repr(function_pass))
        record.append(PassRecord(name, time.perf_counter() - start, func))
    return func


LOWERING: tuple[Pass, ...] = (
    lower_blocks,  # the rest knows loops, branches and buffers only
    flatten_buffers,  # memory is one-dimensional
    storage_rewrite,  # memory of dead buffers is used again
    common_subexpression_elimination,  # an index is computed once per statement
)
"""From a scheduled function to the lowered form: loops over flat buffers, for any target."""


def lower(func_or_module: FuncOrModule, record: list[PassRecord] | None = None) -> FuncOrModule:
    """The lowered form of a function, or of all `PrimFunc`s of a module."""
    if isinstance(func_or_module, PrimFunc):
        return run_passes(func_or_module, LOWERING, record)
    result = func_or_module.clone()
    for name, func in func_or_module.functions.items():
        if isinstance(func, PrimFunc):
            result.update_func(name, run_passes(func, LOWERING, record))
    return result
