"""A te schedule as one step of a `tir.Schedule`.

The trace of the `tir.Schedule` samples the numbers; the step has the rest of the trace of the te
schedule, in its JSON form. To apply it, the function is read as tensors, and lowered again by their
schedule. So a tuner changes the decisions of a te schedule as those of any other trace.
"""

from __future__ import annotations

import functools
import json
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tilewright.error import ArgumentValueError, RecordError, TEScheduleError, TVMError
from tilewright.ir.convert import as_integer
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import Expr, Var
from tilewright.te.from_prim_func import tensors_of
from tilewright.te.operation import PlaceholderOp
from tilewright.te.schedule.function import scheduled_body
from tilewright.te.schedule.primitive import CONTINUE, PREFIX
from tilewright.te.schedule.samples import Samples
from tilewright.te.schedule.schedule import Schedule, create_schedule
from tilewright.te.schedule.trace import AxisRV, Trace, saved_trace
from tilewright.te.tensor import Tensor
from tilewright.tir import schedule as tir_schedule
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule.primitive import Step
from tilewright.tir.schedule.state import newly_prepared
from tilewright.tir.schedule.symbols import value_of
from tilewright.tir.schedule.traces.instruction import (
    Instruction,
    InstructionKind,
    replaced,
    step,
)
from tilewright.tir.schedule.traces.json_form import to_json
from tilewright.tir.schedule.traces.python_text import as_python
from tilewright.tir.schedule.traces.renaming import about
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import ForKind
from tilewright.tir.substitute import variables_of

NAME: Final = "te.apply_schedule"


# --- the step ---------------------------------------------------------------------------------


class _AppliedSchedule(Step):
    """The step, which is written in Python as the te schedule is."""

    def as_python(
        self, arguments: Mapping[str, Any], names: Mapping[Any, str], text: Callable[[Any], str]
    ) -> str:
        """The steps of the te schedule in a ``with`` statement; see `Schedule.within`."""
        numbers: Mapping[str, Any] = arguments["numbers"]
        trace, variables = _saved(arguments["steps"], numbers)
        given = {variables[name]: text(number) for name, number in numbers.items()}
        lines = as_python(trace, False, {**names, **given}, "s") or ["pass"]
        function = text(arguments["func_name"])
        heading = f"with te.Schedule.within(sch, func_name={function}) as s:"
        return "\n".join([heading, *textwrap.indent("\n".join(lines), "  ").split("\n")])


@step(NAME, _AppliedSchedule)
def _apply_schedule(
    tree: FunctionTree, func_name: str, steps: list[Any], numbers: dict[str, Any]
) -> Edit:
    """Schedule a whole function by a te schedule of its tensors.

    Args:
        func_name: the function.
        steps: the instructions of the trace of the te schedule in JSON, without samplings.
        numbers: by the names that `steps` have for them.

    Raises:
        TEScheduleError: if the function is not one of tensors, or cannot be scheduled so.
        RecordError: if the arguments are damaged.
    """
    del func_name
    args = tensors_of(tree.func)
    body = scheduled_body(_replayed(steps, numbers, args), args, tree.func)
    func = newly_prepared(tree.func.with_body(body))
    # That threads wait for each other where they must is what `bind` requires when it is lowered.
    return Edit(func, by_construction=(ForKind.THREAD_BINDING,))


def _replayed(steps: Any, numbers: Any, args: Sequence[Any]) -> Schedule:
    """A schedule of tensors with steps applied."""
    try:
        trace, variables = _saved(steps, numbers)
        samples = Samples()
        samples.take({variables[name]: _whole(number) for name, number in numbers.items()})
        schedule, values = _new_schedule(args), {}
        for inst in trace:
            arguments = {
                name: replaced(samples.with_numbers(value), values)
                for name, value in inst.arguments.items()
            }
            outputs = schedule.apply(inst.kind.name, arguments)
            inst.note_outputs(outputs, values)
        return schedule
    except TVMError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise RecordError(f"{NAME}: the steps do not apply: {error}") from error


def _whole(number: Any) -> int:
    found = as_integer(number)
    if found is None:
        raise RecordError(f"{NAME}: {number!r} is not an integer")
    return found


def _saved(steps: Any, numbers: Any) -> tuple[Trace, Mapping[str, Var]]:
    """Steps as a trace, and the variables in it that stand for numbers."""
    is_list = isinstance(steps, (list, tuple)) and isinstance(numbers, Mapping)
    if not is_list or not all(isinstance(name, str) for name in numbers):
        raise RecordError(
            f"{NAME}: `steps` are a list of instructions, and `numbers` a dictionary from names to "
            f"numbers; got {steps!r} and {numbers!r}"
        )
    return _read(json.dumps(steps), tuple(numbers))


@functools.lru_cache(maxsize=64)  # candidates of one sketch have the same
def _read(steps: str, names: tuple[str, ...]) -> tuple[Trace, Mapping[str, Var]]:
    variables = {name: Var(name, INT32) for name in names}
    return saved_trace(json.loads(steps), variables), variables


def _new_schedule(args: Sequence[Any]) -> Schedule:
    """A schedule of all parameters that are computed.

    All of them are its outputs, so that no step computes a part of one only, or none of it.
    """
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    return create_schedule([t.op for t in tensors if not isinstance(t.op, PlaceholderOp)])


# --- from a te schedule to the step -----------------------------------------------------------


def of_blocks(
    sch: tir_schedule.Schedule, func_name: str | None
) -> tuple[Schedule, list[Tensor | Var]]:
    """See `Schedule.of_blocks`."""
    args = tensors_of(_function(sch, func_name).func)
    return _new_schedule(args), args


def _function(sch: tir_schedule.Schedule, func_name: str | None) -> FunctionTree:
    if func_name is None:
        working_on = sch.func_working_on
        func_name = (sch.state.functions[0] if working_on is None else working_on).name_hint
    return sch.state.tree(func_name)


def apply_to(schedule: Schedule, sch: tir_schedule.Schedule, func_name: str | None) -> None:
    """See `Schedule.apply_to`."""
    name = _function(sch, func_name).name
    numbers = _sampled(schedule.trace, sch)
    continuation = schedule.continuation
    if continuation is None or continuation.is_of_stages:
        sch.apply(NAME, _arguments(schedule, name, numbers, lambda var: _is_known(sch, var)))
    for text in () if continuation is None else continuation.traces:
        tir_schedule.Trace.apply_json_to_schedule(about(json.loads(text), name), sch)


def unapplied_trace(schedule: Schedule, func_name: str) -> tir_schedule.Trace:
    """The trace that `Schedule.apply_to` makes, for a schedule that samples nothing.

    The step is not applied, which takes ten times as long as making it.

    Args:
        schedule: the schedule.
        func_name: the function.
    """
    trace = tir_schedule.Trace()
    arguments = _arguments(schedule, func_name, {}, lambda _: False)
    trace.append(Instruction.of(InstructionKind.get(NAME), arguments, (), False))
    return trace


def _arguments(
    schedule: Schedule, func_name: str, numbers: dict[Var, Any], is_known: Callable[[Var], bool]
) -> dict[str, Any]:
    """The arguments of the step that stands for a schedule.

    Args:
        schedule: the schedule.
        func_name: the function.
        numbers: what stands for numbers that the schedule has sampled.
        is_known: whether a variable stands for a number where the step is applied.
    """
    steps = [
        inst
        for inst in schedule.trace
        if not inst.kind.primitive.is_sampling and inst.kind.name != PREFIX + CONTINUE
    ]
    needed = Trace(steps).simplified()
    used = dict.fromkeys(item for inst in needed for item in inst.uses() if isinstance(item, Var))
    numbers |= {var: var for var in used if is_known(var)}
    names = {var: f"v{n}" for n, var in enumerate(var for var in used if var in numbers)}
    return {
        "func_name": func_name,
        "steps": to_json(needed, False, given=names)[0],
        "numbers": {names[var]: numbers[var] for var in names},
    }


def _sampled(trace: Trace, sch: tir_schedule.Schedule) -> dict[Var, Any]:
    """What stands in a `tir.Schedule` for what a trace samples, which is sampled there as well."""
    numbers: dict[Var, Any] = {}
    for inst in trace:
        if inst.kind.primitive.is_sampling and not all(_is_known(sch, v) for v in inst.outputs):
            arguments, decision = inst.map_arguments(numbers), trace.get_decision(inst)
            if "loop" in arguments:
                arguments["loop"] = _extent(sch, arguments["loop"], math.prod(decision), numbers)
            inst.note_outputs(sch.apply(inst.kind.name, arguments, decision), numbers)
    return numbers


def _extent(
    sch: tir_schedule.Schedule, loop: Any, number: int, numbers: Mapping[Var, Any]
) -> Expr | int:
    """The extent of a loop: an expression, where it follows from sampled numbers."""
    if not isinstance(loop, AxisRV) or loop.extent is None:
        return number
    extent = replaced(loop.extent, numbers)
    known = all(_is_known(sch, var) for var in variables_of(extent))
    return extent if known and sch.number(extent) == number else number


def _is_known(sch: tir_schedule.Schedule, var: Var) -> bool:
    """Whether a variable is a sampled number of a schedule."""
    try:
        sch.number(var)
    except ArgumentValueError:
        return False
    return True


# --- and back ---------------------------------------------------------------------------------


def from_trace(
    trace: tir_schedule.Trace | tir_schedule.Schedule, args: Sequence[Any] | PrimFunc
) -> tuple[Schedule, list[Any]]:
    """See `Schedule.from_trace`."""
    found = trace.trace if isinstance(trace, tir_schedule.Schedule) else trace
    listed = tensors_of(args) if isinstance(args, PrimFunc) else list(args)
    insts = found.insts
    position = next((n for n, inst in enumerate(insts) if inst.kind.name == NAME), None)
    if position is None:
        schedule = _new_schedule(listed)
        schedule.continue_with(found)
        return schedule, listed
    numbers: dict[Var, int] = {}
    for inst in insts[:position]:
        if not inst.kind.primitive.is_sampling:
            raise TEScheduleError(
                f"te.Schedule.from_trace: the trace has {inst.kind.name} before the steps of a te "
                "schedule, which begins with tensors"
            )
        numbers.update(_decided(inst, found.get_decision(inst)))
    given: Mapping[str, Any] = insts[position].arguments["numbers"]
    known = {name: _number(value, numbers) for name, value in given.items()}
    schedule = _replayed(insts[position].arguments["steps"], known, listed)
    others = [inst for n, inst in enumerate(insts) if n != position]
    rest = tir_schedule.Trace(others, found.decisions).simplified()
    if any(not inst.kind.is_pure and not inst.kind.is_postproc for inst in rest):
        schedule.continue_with(rest)
    return schedule, listed


def _decided(inst: Instruction, decision: Any) -> dict[Var, int]:
    """The numbers that a sampling has decided for."""
    try:
        if inst.kind.name == "sample_categorical":
            return {inst.outputs[0]: int(inst.arguments["candidates"][decision])}
        return dict(zip(inst.outputs, decision, strict=True))
    except (TypeError, ValueError, LookupError):
        raise TEScheduleError(
            f"te.Schedule.from_trace: {decision!r} is not a decision of {inst.kind.name}; apply "
            "the trace to a program first, which makes all decisions"
        ) from None


def _number(value: Any, numbers: Mapping[Var, int]) -> int:
    found = value_of(value, numbers) if isinstance(value, Expr) else value
    if not isinstance(found, int):
        raise TEScheduleError(f"te.Schedule.from_trace: the trace does not say what {value} is")
    return found
