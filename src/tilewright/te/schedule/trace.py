"""The history of a schedule as a `Trace`, and the numbers that it samples."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tilewright.error import TEScheduleError, UnknownNameError
from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL, INT32
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.te.reducer import thread_axis
from tilewright.te.schedule import primitive as recorded
from tilewright.te.schedule.primitive import PREFIX, SAMPLINGS, is_same
from tilewright.te.schedule.relation import domain
from tilewright.te.schedule.step import Reference, Step
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Parameter, Primitive
from tilewright.tir.schedule.state import prepare
from tilewright.tir.schedule.symbols import BlockRV, LoopRV, SymbolTable
from tilewright.tir.schedule.traces import trace as tir_trace
from tilewright.tir.schedule.traces.instruction import Instruction, InstructionKind
from tilewright.tir.schedule.traces.json_form import read_json
from tilewright.tir.schedule.traces.random_choices import RandomState
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, Evaluate

if TYPE_CHECKING:
    from tilewright.tir.schedule import schedule as tir_schedule


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


class Samples:
    """The sampled numbers of a schedule, by the variables that stand for them."""

    def __init__(self) -> None:
        self._symbols, self._random = SymbolTable(), RandomState()

    def copy(self) -> Samples:
        """The same numbers, and other random choices from now on."""
        twin = Samples()
        twin._symbols, twin._random = self._symbols.copy(), RandomState(self._random.fork_seed())
        return twin

    def seed(self, seed: int) -> None:
        """Seed the random choices; -1 for a seed from the system."""
        self._random = RandomState(None if seed == -1 else seed)

    def take(self, numbers: Mapping[Var, int]) -> None:
        """Let variables stand for numbers that were sampled elsewhere."""
        self._symbols.assign(_NOTHING.name, list(numbers), list(numbers.values()))

    def with_numbers(self, value: Any) -> Any:
        """An argument with sampled numbers filled in."""
        if isinstance(value, IterVar):
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(self.with_numbers(item) for item in value)
        return self._filled_in(value)

    def _filled_in(self, value: Any) -> Any:
        return self._symbols.with_numbers(value)

    def choose(
        self, name: str, arguments: dict[str, Any], decision: Any, extent: Expr | None = None
    ) -> tuple[Any, Any]:
        """Choose numbers as a sampling of `tir.Schedule` does; a loop is one of a stage.

        Without a decision they are chosen at random. `extent` is that of the loop in terms of
        sampled numbers. Returns variables that stand for the numbers (or one variable), and the
        decision.
        """
        given = {key: self.with_numbers(value) for key, value in arguments.items()}
        if "loop" in given:
            number = _extent(name, given["loop"])
            found = self.with_numbers(extent)
            given["loop"] = extent if found.__class__ is int and found == number else number
        try:
            return self._chosen(name, given, decision)
        except ScheduleError as error:
            raise TEScheduleError(str(error.raised_by(name, None, "fast"))) from None

    def _chosen(self, name: str, given: dict[str, Any], decision: Any) -> tuple[Any, Any]:
        given = {key: self.with_numbers(value) for key, value in given.items()}
        found = InstructionKind.get(name).primitive.apply(
            _NOTHING, self._random, **given, decision=decision
        )
        numbers, taken = found.results
        return self._symbols.define(_NOTHING.name, numbers), taken


class SharedSamples(Samples):
    """The sampled numbers of a `tir.Schedule`, in which a schedule of tensors samples its own.

    Attributes:
        owner: the schedule.
    """

    def __init__(self, owner: tir_schedule.Schedule) -> None:
        self.owner = owner

    def copy(self) -> Samples:
        """The same; copies of a schedule of tensors sample nothing."""
        return self

    def seed(self, seed: int) -> None:
        """Seed the random choices; -1 for a seed from the system."""
        self.owner.seed(seed)

    def _filled_in(self, value: Any) -> Any:
        return self.owner.with_numbers(value)

    def _chosen(self, name: str, given: dict[str, Any], decision: Any) -> tuple[Any, Any]:
        numbers = self.owner.apply(name, given, decision)
        return numbers, self.owner.trace.get_decision(self.owner.trace.insts[-1])


def _nothing() -> FunctionTree:
    root = Block((), (), (), "root", Evaluate(const(0)))
    realize = BlockRealize((), const(True, BOOL), root)
    return FunctionTree("main", prepare("main", PrimFunc((), realize)))


_NOTHING: Final = _nothing()
"""A function without loops, in which numbers are sampled."""


def _extent(name: str, loop: Any) -> int:
    """The number of iterations of a loop of a stage."""
    if not isinstance(loop, IterVar) or loop.dom is None:
        raise TEScheduleError(f"{name}: expected a loop of a stage, got {loop!r}")
    extent = domain(loop).extent
    if not isinstance(extent, IntImm):
        raise TEScheduleError(
            f"{name}: the extent of loop `{loop.name}` is symbolic, so that there is no perfect "
            "tile of it"
        )
    return extent.value
