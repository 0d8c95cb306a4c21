"""Packing operands of kernels that are constants in all calls, when the program is compiled."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from tilewright.driver.build_module import build
from tilewright.driver.helpers import with_help
from tilewright.driver.pipeline import scheduling
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.ir.structural import structural_equal, structural_hash
from tilewright.relax.expr import Call, Constant, Function, Tuple
from tilewright.relax.op.base import CALL_TIR
from tilewright.relax.transform.constant_evaluation import elements_of, run_few_times
from tilewright.relax.transform.fusion_graph import OP_PATTERN
from tilewright.relax.transform.processor_pass import ProcessorPass
from tilewright.runtime.ndarray import NDArray, empty
from tilewright.schedule_rules.dot_products import is_narrow
from tilewright.schedule_rules.eligible import may_schedule
from tilewright.schedule_rules.operands import CONSTANT_PARAMS, NARROW_PARAMS
from tilewright.target import Target
from tilewright.tir.analysis.pattern_kind import PatternKind
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter.independent import independent_iterations
from tilewright.tir.transform.lift_copies import lift_copies

_COPIED_QUICKLY: Final = 1 << 20
"""With fewer elements, copying them by numpy takes less time than compiling what copies them."""


class ConstantOperands(NamedTuple):
    """The operands of a kernel that are constants in all calls.

    Attributes:
        positions: their positions.
        narrow: the positions of those of int8 whose elements are from -64 to 64.
    """

    positions: tuple[int, ...]
    narrow: tuple[int, ...]


def constant_operands(mod: IRModule) -> dict[GlobalVar, ConstantOperands]:
    """The operands of kernels that are constants in all calls.

    Kernels that are called in another way, or exported, must take what they take now, and are left
    out; so are those whose operands no schedule packs.
    """
    calls: dict[GlobalVar, list[Call]] = {}
    mentioned: dict[GlobalVar, int] = {}
    for func in mod.functions.values():
        for node in walk(func):
            if isinstance(node, GlobalVar):
                mentioned[node] = mentioned.get(node, 0) + 1
            elif isinstance(node, Call) and node.op is CALL_TIR:
                kernel: Any = node.args[0]
                calls.setdefault(kernel, []).append(node)
    found = {}
    for var, callers in calls.items():
        func = mod[var]
        if len(callers) == mentioned[var] and func.global_symbol is None and _may_pack(func):
            values = dict(_constants(callers))
            narrow = (n for n, column in values.items() if all(map(_is_narrow, column)))
            found[var] = ConstantOperands(tuple(values), tuple(narrow))
    return {var: operands for var, operands in found.items() if operands.positions}


def with_constant_params(func: PrimFunc, operands: ConstantOperands | None) -> PrimFunc:
    """A function that says which of its parameters are constants in all calls."""
    if operands is None:
        return func
    result = func.with_attr(CONSTANT_PARAMS, operands.positions)
    return result.with_attr(NARROW_PARAMS, operands.narrow) if operands.narrow else result


def without_constant_params(func: PrimFunc) -> PrimFunc:
    """A function that does not say that."""
    return func.without_attr(CONSTANT_PARAMS).without_attr(NARROW_PARAMS)


def _may_pack(func: PrimFunc) -> bool:
    """Whether a kernel is one that a schedule may pack an operand of."""
    return (
        (may_schedule(func) or CONSTANT_PARAMS in func.attrs)
        and int(func.attrs.get(OP_PATTERN, PatternKind.OPAQUE)) == PatternKind.OUT_EWISE_FUSABLE
        and bool(int(func.attrs.get("tir.noalias", 0)))
    )


def _constants(calls: Iterable[Call]) -> Iterable[tuple[int, tuple[Constant, ...]]]:
    """The operands that are constants in all of `calls`, by their positions."""
    operands = [call.args[1] for call in calls]
    fields = [item.fields for item in operands if isinstance(item, Tuple)]
    if len(fields) < len(operands):
        return
    for position, column in enumerate(zip(*fields, strict=True)):
        if all(isinstance(value, Constant) for value in column):
            yield position, column


def _is_narrow(value: Constant) -> bool:
    return is_narrow(elements_of(value.data))


class PackConstants(ProcessorPass):
    """Let kernels take constant operands as their schedules want them.

    Where the schedule of a product of matrices copies the operand with columns into panels, and the
    operand is a constant in all calls, it is copied now::

        before:  lv = R.call_tir(cls.matmul, (x, w), ...)           # packs w
        after:   lv = R.call_tir(cls.matmul, (x, w_packed), ...)    # w_packed is a constant

    Kernels without a schedule get the default one; those with the best one of a database keep it.
    Kernels that pack nothing stay as they are.

    Args:
        target: what the program is compiled for; see `ProcessorPass`.
    """

    def transform_for(self, mod: IRModule, target: Target) -> IRModule:
        result = mod.clone()
        copies: dict[GlobalVar, dict[int, PrimFunc]] = {}
        kernels = [_Kernel(var, mod[var], ops) for var, ops in constant_operands(mod).items()]
        packed = dict(with_help(_packed, kernels, target))
        for number, (var, _, _) in enumerate(kernels):
            if (changed := packed[number]) is not None:
                func, copies[var] = changed
                result.update_func(var, func)
        if not copies:
            return mod
        rewriter = _Arguments(copies)
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                result.update_func(var, rewriter(func))
        return result


class _Kernel(NamedTuple):
    var: GlobalVar
    func: PrimFunc
    operands: ConstantOperands


def _packed(kernel: _Kernel, target: Target) -> tuple[PrimFunc, dict[int, PrimFunc]] | None:
    """The kernel with its schedule, and the functions that pack its operands; None without any."""
    var, func, operands = kernel
    if may_schedule(func):
        known = with_constant_params(func, operands)
        func = scheduling(target)(IRModule({var: known}))[var]
        if func is known:
            return None
    scheduled, copies = lift_copies(without_constant_params(func), operands.positions)
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
    """Functions that copy constants; equal ones are compiled once."""

    def __init__(self) -> None:
        self._compiled: dict[int, list[tuple[PrimFunc, Any]]] = {}

    def packed(self, copy: PrimFunc, value: NDArray) -> NDArray:
        buffer = copy.buffer_map[copy.params[1]]
        shape = [int(extent.value) for extent in buffer.shape]  # type: ignore[attr-defined]
        # Elements that are never read are zeros, so that equal programs have equal constants.
        result = empty(shape, str(buffer.dtype))
        elements_of(result).fill(0)
        size = math.prod(shape)
        at_once = independent_iterations(copy) if size < _COPIED_QUICKLY else None
        if at_once is not None:
            at_once.run(elements_of(value), elements_of(result))
        else:
            self._function(copy, size)(value, result)
        return result

    def _function(self, copy: PrimFunc, work: int) -> Any:
        alike = self._compiled.setdefault(structural_hash(copy), [])
        for known, function in alike:
            if structural_equal(known, copy):
                return function
        exported = run_few_times(copy, work).with_attr("global_symbol", "main")
        function = build(exported, target="llvm")["main"]
        alike.append((copy, function))
        return function
