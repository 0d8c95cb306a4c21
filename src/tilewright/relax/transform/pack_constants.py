"""Packing constant operands of kernels when the program is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.driver.building import build
from tilewright.driver.pipeline import scheduling
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.structural import structural_equal, structural_hash
from tilewright.ir.transform import ModulePass
from tilewright.relax.expr import Call, Constant, Function, Tuple
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.transform.constant_operands import (
    constant_operands,
    with_constant_params,
)
from tilewright.runtime.ndarray import NDArray, array
from tilewright.schedule_rules.eligible import may_schedule
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.transform.lift_copies import lift_copies


class PackConstants(ModulePass):
    """Let kernels take constant operands as their schedules want them.

    Where the schedule of a product of matrices copies the operand with columns into panels, and the
    operand is a constant in all calls, it is copied now::

        before:  lv = R.call_tir(cls.matmul, (x, w), ...)           # packs w
        after:   lv = R.call_tir(cls.matmul, (x, w_packed), ...)    # w_packed is a constant

    Kernels without a schedule get the default one; those with the best one of a database keep it.
    Kernels that pack nothing stay as they are.

    Args:
        target: what the program is compiled for; by default the target of the enclosing ``with
            Target(...)``, and without one this machine.
    """

    def __init__(self, target: str | Target | None = None) -> None:
        self.target = target

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        chosen = self.target or Target.current() or "llvm"
        target = chosen if isinstance(chosen, Target) else Target(chosen)
        result = mod.clone()
        copies: dict[GlobalVar, dict[int, PrimFunc]] = {}
        for var, positions in constant_operands(mod).items():
            packed = _packed(var, mod[var], positions, target)
            if packed is not None:
                func, copies[var] = packed
                result.update_func(var, func)
        if not copies:
            return mod
        rewriter = _Arguments(copies)
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                result.update_func(var, rewriter(func))
        return result


def _packed(
    var: GlobalVar, func: PrimFunc, positions: Sequence[int], target: Target
) -> tuple[PrimFunc, dict[int, PrimFunc]] | None:
    """The kernel with its schedule, and the functions that pack its operands; None without any."""
    if may_schedule(func):
        known = with_constant_params(func, positions)
        func = scheduling(target)(IRModule({var: known}))[var]
        if func is known:
            return None
    scheduled, copies = lift_copies(func.without_attr(CONSTANT_PARAMS), positions)
    return (scheduled, copies) if copies else None


class _Arguments(Rewriter):
    """Calls of kernels with operands packed."""

    def __init__(self, copies: dict[GlobalVar, dict[int, PrimFunc]]) -> None:
        self._copies = copies
        self._packers = _Packers()
        self._done: dict[tuple[int, int], Constant] = {}

    def RelaxCall(self, call: Call) -> Call:
        if call.op is not CALL_TIR or call.args[0] not in self._copies:
            return call.map_children(self)
        kernel, operands, *sizes = call.args
        assert isinstance(kernel, GlobalVar)
        assert isinstance(operands, Tuple)
        fields = list(operands.fields)
        for position, copy in self._copies[kernel].items():
            fields[position] = self._constant(fields[position], copy)
        return call.replace(args=(kernel, Tuple(fields), *sizes))

    def _constant(self, value: Any, copy: PrimFunc) -> Constant:
        key = (id(value), id(copy))
        if key not in self._done:
            self._done[key] = Constant(self._packers.packed(copy, value.data))
        return self._done[key]


class _Packers:
    """Compiled functions that copy constants, equal ones compiled once."""

    def __init__(self) -> None:
        self._compiled: dict[int, list[tuple[PrimFunc, Any]]] = {}

    def packed(self, copy: PrimFunc, value: NDArray) -> NDArray:
        buffer = copy.buffer_map[copy.params[1]]
        shape = [int(extent.value) for extent in buffer.shape]  # type: ignore[attr-defined]
        # Elements that are never read are zeros, so that equal programs have equal constants.
        result = array(np.zeros(shape, buffer.dtype.numpy))
        self._function(copy)(value, result)
        return result

    def _function(self, copy: PrimFunc) -> Any:
        alike = self._compiled.setdefault(structural_hash(copy), [])
        for known, function in alike:
            if structural_equal(known, copy):
                return function
        function = build(copy.with_attr("global_symbol", "main"), target="llvm")["main"]
        alike.append((copy, function))
        return function
