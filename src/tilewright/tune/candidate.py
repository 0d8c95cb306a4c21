"""Candidates: a schedule, its arguments, and the form in which it is measured."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.error import ArgumentValueError, RecordError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import IntImm
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.traces.instruction import Instruction, InstructionKind
from tilewright.tir.transform.lift_copies import lift_copies
from tilewright.tune.measure.arguments import packer_of

if TYPE_CHECKING:
    from tilewright.tir.schedule import Schedule, Trace


class ArgInfo:
    """What an argument of a measured function looks like."""

    def as_json(self) -> Any:
        """The description as lists, strings and numbers."""
        raise NotImplementedError(f"{type(self).__name__} does not define as_json")

    @staticmethod
    def from_json(json_obj: Any) -> ArgInfo:
        """The description that `as_json` wrote.

        Raises:
            RecordError: for anything else.
        """
        if isinstance(json_obj, (list, tuple)) and json_obj[:1] == [_TENSOR]:
            return TensorInfo.from_json(json_obj)
        raise RecordError(f"{json_obj!r} describes no argument: expected ['TENSOR', dtype, shape]")

    @staticmethod
    def from_prim_func(func: PrimFunc) -> list[ArgInfo]:
        """The arguments of a function, in the order of its parameters.

        Raises:
            ArgumentValueError: if a parameter is not a buffer of constant shape, so that it is not
                known what to measure it with.
        """
        name = func.global_symbol or "main"
        found: list[ArgInfo] = []
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is None:
                raise ArgumentValueError(
                    f"{name}: the parameter {param.name} is a scalar, and there is no telling "
                    "which value to measure with; fix it by `func.specialize({param: value})`"
                )
            shape = [extent.value for extent in buffer.shape if isinstance(extent, IntImm)]
            if len(shape) < len(buffer.shape):
                raise ArgumentValueError(
                    f"{name}: the shape of {buffer.name} is not constant, so it cannot be "
                    "measured; fix the sizes by `func.specialize({size: value})`"
                )
            found.append(TensorInfo(buffer.dtype, shape))
        return found

    @staticmethod
    def from_entry_func(mod: IRModule, remove_preproc: bool = True) -> list[ArgInfo]:
        """The arguments of the only function of a module, or of its ``main``.

        Args:
            mod: the module.
            remove_preproc: for compatibility; there are no preprocessing blocks.
        """
        del remove_preproc
        return ArgInfo.from_prim_func(entry_function(mod))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArgInfo) and self.as_json() == other.as_json()

    def __hash__(self) -> int:
        return hash(str(self.as_json()))


_TENSOR = "TENSOR"


class TensorInfo(ArgInfo):
    """An array.

    Args:
        dtype: its data type.
        shape: its extents.
    """

    def __init__(self, dtype: str, shape: Sequence[int]) -> None:
        self.dtype = DType(dtype)
        self.shape = tuple(int(extent) for extent in shape)

    def as_json(self) -> list[Any]:
        """``["TENSOR", dtype, shape]``."""
        return [_TENSOR, str(self.dtype), list(self.shape)]

    @staticmethod
    def from_json(json_obj: Any) -> TensorInfo:
        """The array that `as_json` wrote.

        Raises:
            RecordError: for anything else.
        """
        try:
            kind, dtype, shape = json_obj
            if kind == _TENSOR and all(type(extent) is int for extent in shape):
                return TensorInfo(dtype, shape)
        except (TypeError, ValueError):
            pass
        raise RecordError(f"{json_obj!r} describes no array: expected ['TENSOR', dtype, shape]")

    def __repr__(self) -> str:
        return f"TensorInfo({str(self.dtype)!r}, {self.shape})"


class MeasureCandidate:
    """A schedule to measure.

    Args:
        sch: the schedule, after postprocessing; its trace has the decisions.
        args_info: the arguments of the function.
        is_default: whether it is the default schedule of the program.
    """

    def __init__(
        self, sch: Schedule, args_info: Sequence[ArgInfo], *, is_default: bool = False
    ) -> None:
        self.sch = sch
        self.is_default = is_default
        self.args_info = list(args_info)

    @functools.cached_property
    def deployed(self) -> Deployed:
        """What is built and measured: without packing of what is a constant in all calls."""
        from tilewright.tune.candidate import deployed

        return deployed(self.sch.mod)

    @property
    def form(self) -> str:
        """A text that is the same for candidates with the same decisions."""
        return json.dumps(self.sch.trace.as_json())

    def __repr__(self) -> str:
        return f"MeasureCandidate({len(self.sch.trace)} instructions, {self.args_info})"


def end_decisions(trace: Trace) -> None:
    """End a trace as the search ends those of its candidates, so that equal ones are equal."""
    trace.append(Instruction.of(InstructionKind.get("enter_postproc"), {}, (), False))


def entry_function(mod: IRModule) -> PrimFunc:
    """The only tensor program of a module, or the one called ``main``."""
    functions = {var: func for var, func in mod.functions.items() if isinstance(func, PrimFunc)}
    named = [func for var, func in functions.items() if var.name_hint == "main"]
    if len(functions) != 1 and not named:
        names = [var.name_hint for var in functions]
        raise ArgumentValueError(f"expected a module with one function or a `main`, got {names}")
    return named[0] if named else next(iter(functions.values()))


class Deployed(NamedTuple):
    """A module as it is built.

    Attributes:
        mod: the module; where constant operands are packed, with the functions that do so once, of
            the names that `packer_of` gives them.
        packed: the parameters that take a packed constant, by position.
    """

    mod: IRModule
    packed: dict[int, TensorInfo]


def packs_constants(mod: IRModule) -> bool:
    """Whether schedules of a program may pack parameters that are constants in all calls."""
    return any(CONSTANT_PARAMS in function.attrs for function in mod.functions.values())


def deployed(mod: IRModule) -> Deployed:
    """A scheduled program in which packing of constant operands is lifted out of its function."""
    if not packs_constants(mod):
        return Deployed(mod, {})
    entry = entry_function(mod)
    function, copies = lifted(entry)
    packed = {}
    for position in copies:
        buffer = function.buffer_map[function.params[position]]
        packed[position] = TensorInfo(buffer.dtype, [int(n.value) for n in buffer.shape])  # type: ignore[attr-defined]
    result = mod.clone()
    for var, own in mod.functions.items():
        if own is entry:
            result.update_func(var, function)
    for position, copy in copies.items():
        name = packer_of(position)
        result.update_func(GlobalVar(name), copy.with_attr("global_symbol", name))
    return Deployed(result, packed)


def lifted(function: PrimFunc) -> tuple[PrimFunc, dict[int, PrimFunc]]:
    """A function without what it copies of constant parameters, and the functions that copy."""
    positions = [int(position) for position in function.attrs.get(CONSTANT_PARAMS) or ()]
    return lift_copies(function.without_attr(CONSTANT_PARAMS), positions)
