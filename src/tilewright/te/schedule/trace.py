"""The history of a schedule as a `Trace`: what it prints as, how it is saved and replayed."""

from __future__ import annotations

import inspect
from typing import Any, Final

from tilewright.te.reducer import thread_axis
from tilewright.te.schedule import primitive as recorded
from tilewright.te.schedule.draft import Reference, Step
from tilewright.te.schedule.replay import PREFIX, SAMPLINGS
from tilewright.tir.schedule.primitive import Parameter, Primitive
from tilewright.tir.schedule.references import BlockRV, LoopRV
from tilewright.tir.schedule.traces import trace as tir_trace
from tilewright.tir.schedule.traces.instruction import Instruction, InstructionKind


class Trace(tir_trace.Trace):
    """The steps of a `te.Schedule`; see `tilewright.tir.schedule.Trace`, which it is like.

    Tensors are random variables too. They are looked up by name, so that a trace applies to a
    schedule of the same tensors or of others like them.
    """

    package = "te"


class TensorRV(BlockRV):
    """Stands for a tensor, or a group of stages.

    Attributes:
        hint: what it may be called.
    """

    __slots__ = ("hint",)

    def __init__(self, hint: str) -> None:
        self.hint = hint


class AxisRV(LoopRV):
    """Stands for a loop or a thread axis.

    Attributes:
        hint: what it may be called.
    """

    __slots__ = ("hint",)

    def __init__(self, hint: str) -> None:
        self.hint = hint


class TraceWriter:
    """Makes a trace of a history that grows."""

    def __init__(self) -> None:
        self._trace = Trace()
        self._variables: dict[Reference, BlockRV | LoopRV] = {}

    def trace_of(self, steps: list[Step]) -> Trace:
        """The trace of `steps`, the first of which are those of the call before."""
        for step in steps[len(self._trace) :]:
            kind = InstructionKind.get(step.name if step.name in SAMPLINGS else PREFIX + step.name)
            arguments = {name: self._value(value) for name, value in step.arguments.items()}
            outputs = tuple(self._value(output) for output in step.outputs)
            instruction = Instruction.of(kind, arguments, outputs, step.returns_list)
            self._trace.append(instruction, step.decision)
        return self._trace.copy()

    def _value(self, value: Any) -> Any:
        if isinstance(value, Reference):
            found = self._variables.get(value)
            if found is None:
                found = AxisRV(value.name) if value.is_loop else TensorRV(value.name)
                self._variables[value] = found
            return found
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return value


_KINDS: Final = {"IterVar": "loop", "Stage": "stage", "Tensor": "tensor"}
"""By annotations of parameters."""


class _Recorded(Primitive):
    """A step of schedules of tensor expressions as an instruction."""

    def __init__(self, function: Any, callee: str, parameters: tuple[Parameter, ...]) -> None:
        Primitive.__init__(self, function, is_sampling=False)
        self.name, self.callee, self.parameters = f"{PREFIX}{self.name}", callee, parameters


def _parameter(parameter: inspect.Parameter) -> Parameter:
    variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    return Parameter(
        name=parameter.name,
        kind=_KINDS.get(str(parameter.annotation), "value"),
        many=variadic,
        is_integer=False,
        optional_items=False,
        variadic=variadic,
        default=() if variadic else parameter.default,
    )


_RECEIVER: Final = Parameter(
    recorded.STAGE, "receiver", False, False, False, False, inspect.Parameter.empty
)


def _register() -> None:
    for known in recorded.PRIMITIVES.values():
        parameters = tuple(map(_parameter, known.parameters))
        if known.is_on_stage:
            parameters = (_RECEIVER, *parameters)
        callee = f"sch[{{}}].{known.name}" if known.is_on_stage else f"sch.{known.name}"
        InstructionKind.register(_Recorded(known.function, callee, parameters))
    parameters = tuple(map(_parameter, inspect.signature(thread_axis).parameters.values()))[:-1]
    InstructionKind.register(_Recorded(thread_axis, "te.thread_axis", parameters))


_register()
