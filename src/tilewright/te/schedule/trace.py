"""The history of a schedule as a `Trace`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from tilewright.error import UnknownNameError
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Expr, Var
from tilewright.te.reducer import thread_axis
from tilewright.te.schedule import primitive as recorded
from tilewright.te.schedule.primitive import PREFIX, SAMPLINGS, is_same
from tilewright.te.schedule.step import Reference, Step
from tilewright.tir.schedule.primitive import Parameter, Primitive
from tilewright.tir.schedule.symbols import BlockRV, LoopRV
from tilewright.tir.schedule.traces import trace as tir_trace
from tilewright.tir.schedule.traces.instruction import Instruction, InstructionKind
from tilewright.tir.schedule.traces.json_form import read_json


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
        extent: the number of its iterations in terms of sampled numbers, if it is known.
    """

    __slots__ = ("extent", "hint")

    def __init__(self, hint: str, extent: Expr | None = None) -> None:
        self.hint, self.extent = hint, extent


def saved_trace(instructions: list[Any], given: Mapping[str, Var]) -> Trace:
    """A trace from its JSON form, without a schedule that it applies to.

    Args:
        instructions: its instructions in JSON.
        given: the variables that it uses and does not define.

    Raises:
        ArgumentValueError: for a malformed trace.
        UnknownNameError: for a step that is unknown.
    """
    trace = Trace()
    values: dict[str, Any] = dict(given)
    for item in read_json([instructions, []], values):
        primitive = item.kind.primitive
        if not isinstance(primitive, _Recorded):
            raise UnknownNameError(f"a te.Schedule has no step {item.kind.name!r}")
        for name in item.outputs:
            values[name] = primitive.output(name)
        outputs = tuple(values[name] for name in item.outputs)
        arguments = primitive.without_defaults(item.arguments)
        returns_list = primitive.returns_list(arguments, len(outputs))
        trace.append(Instruction.of(item.kind, arguments, outputs, returns_list))
    return trace


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
                is_loop = value.is_loop
                found = AxisRV(value.name, value.extent) if is_loop else TensorRV(value.name)
                self._variables[value] = found
            return found
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return value


_KINDS: Final = {"IterVar": "loop", "Stage": "stage", "Tensor": "tensor"}
"""By annotations of parameters."""


class _Recorded(Primitive):
    """A step of schedules of tensor expressions as an instruction."""

    package = "te"

    def __init__(self, function: Any, callee: str, parameters: tuple[Parameter, ...]) -> None:
        Primitive.__init__(self, function, is_sampling=False)
        self.name, self.callee, self.parameters = f"{PREFIX}{self.name}", callee, parameters
        self.defaults = {parameter.name: parameter.default for parameter in parameters}
        self._returned = str(inspect.signature(function).return_annotation)

    def output(self, name: str) -> Any:
        """What stands for something that it returns."""
        if self._returned == "Var":
            return Var(name, INT32)
        return AxisRV(name) if "IterVar" in self._returned else TensorRV(name)

    def without_defaults(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments that are not what they are anyway, as histories have them."""
        defaults = self.defaults
        return {
            name: value for name, value in arguments.items() if not is_same(value, defaults[name])
        }

    def returns_list(self, arguments: Mapping[str, Any], count: int) -> bool:
        """Whether it returns a list, or a tuple, of `count` items."""
        takes_list = any(isinstance(value, (list, tuple)) for value in arguments.values())
        is_list = self._returned.startswith(("list", "tuple"))
        return count > 1 or is_list or (self._returned == "Any" and takes_list)


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
        callee = f"{{sch}}{'[{}]' if known.is_on_stage else ''}.{known.name}"
        InstructionKind.register(_Recorded(known.function, callee, parameters))
    parameters = tuple(map(_parameter, inspect.signature(thread_axis).parameters.values()))[:-1]
    InstructionKind.register(_Recorded(thread_axis, "te.thread_axis", parameters))


_register()
