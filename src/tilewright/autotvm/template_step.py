"""A template as a step of a `tir.Schedule`, so that a config is a trace like any other candidate.

The trace chooses a position in the list of each knob, and then applies the template::

    v0 = sch.sample_categorical(candidates=[0, 1, 2], probs=[1, 1, 1], decision=2)
    v1 = sch.sample_categorical(candidates=[0, 1], probs=[1, 1], decision=0)
    sch.apply("autotvm.apply_template", {"task_name": "scale", ..., "knobs": [v0, v1]})

The template is a function of this process. A record names it, and never has code of it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

from tilewright.autotvm.task.space import ConfigEntity
from tilewright.autotvm.task.task import Task, known_task
from tilewright.autotvm.task.workload import hashable
from tilewright.error import ArgumentValueError, InstantiationError, RecordError, TVMError
from tilewright.ir.structural import structural_equal
from tilewright.schedule_rules.exponents import bound_exponents
from tilewright.target import Target
from tilewright.te.schedule import schedule_to_prim_func
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import Instruction, ScheduleError, Trace
from tilewright.tir.schedule.primitive import Number
from tilewright.tir.schedule.state import prepare
from tilewright.tir.schedule.symbols import new_expr_rv
from tilewright.tir.schedule.traces.instruction import InstructionKind, step
from tilewright.tir.schedule.traces.instruction_layout import json_name, named
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import ForKind
from tilewright.tune.candidate import ArgInfo

_AT_ONCE: Final = (ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.THREAD_BINDING)
"""The kinds of loops whose iterations a te schedule proves to be independent, or lets wait."""

APPLY: Final = "autotvm.apply_template"
CHOOSE: Final = "sample_categorical"


@step(APPLY)
def apply_template(
    tree: FunctionTree,
    task_name: str,
    args: list[Any],
    target: str,
    space: str,
    knobs: list[Number],
) -> Edit:
    """Replace a program by what a template makes of it.

    What is proved: that the program is the one of the task, and that the new one has the same
    parameters. A te schedule keeps the meaning of the tensors that it computes, and most templates
    compute the same tensors with every config. A template may also compute others, such as a packed
    operand or partial sums; that these lead to the same results is what its author says, and what
    the tuner checks: of the candidates that seem faster than the best one so far it compares the
    results with those of the program, so that none wins that computes something else.

    Args:
        task_name: the name of the template.
        args: its arguments as data.
        target: what it is for.
        space: the fingerprint of the knobs; see `ConfigSpace.fingerprint`.
        knobs: for each knob the position of its value.

    Raises:
        UnknownNameError: if no template of that name is registered in this process.
        InstantiationError: if the template has other knobs by now, refuses the config, or fails.
        ScheduleError: if the program is another one.
    """
    task = known_task(task_name, hashable(args), Target(target))
    if task.config_space.fingerprint != space:
        raise InstantiationError(
            f"the template {task_name!r} has other knobs than when this trace was made; tune it "
            "again",
            "other knobs",
        )
    if tree.checked and not _is_same_program(tree.func, task.mod["main"]):
        raise ScheduleError(
            f"the program is not the one that the template {task_name!r} computes with the "
            f"arguments {list(task.args)}",
            hint="apply a template to the module `task.mod`, before any other step",
        )
    func = _scheduled(task, task.config_space.at(knobs).index)
    named = func.with_attr("global_symbol", tree.func.global_symbol)
    return Edit(prepare(tree.name, named), by_construction=_AT_ONCE)


def _is_same_program(func: PrimFunc, own: PrimFunc) -> bool:
    """Whether `func` is `own`, perhaps as schedules start from it."""
    forms = (own, bound_exponents(own))
    return any(structural_equal(func.replace(attrs={}), form.replace(attrs={})) for form in forms)


@functools.lru_cache(maxsize=256)  # a candidate is made to be scored, and again to be built
def _scheduled(task: Task, index: int) -> PrimFunc:
    """The program of a task with a config."""
    config = task.config_space.get(index)
    schedule, params = task.instantiate(config)
    try:
        func = schedule_to_prim_func(schedule, params)
        is_alike = ArgInfo.from_prim_func(func) == ArgInfo.from_prim_func(task.mod["main"])
    except TVMError as error:
        raise InstantiationError(
            f"the schedule of the template {task.name!r} with the config {config} cannot be "
            f"lowered: {error}",
            "the schedule cannot be lowered",
        ) from error
    if not is_alike:
        raise InstantiationError(
            f"the template {task.name!r} with the config {config} has other parameters than with "
            "the first config",
            "other parameters",
        )
    return func


# --- traces and configs -------------------------------------------------------------------------


def template_trace(task: Task, config: ConfigEntity) -> Trace:
    """The trace that stands for a config.

    Args:
        task: the task.
        config: one of its configs, also one that was read from a record.

    Raises:
        ArgumentValueError: for a config of another task.
    """
    positions = task.config_space.positions(config)
    choose, apply = InstructionKind.get(CHOOSE), InstructionKind.get(APPLY)
    trace = Trace()
    chosen = [new_expr_rv() for _ in positions]
    for size, position, output in zip(task.config_space.dims, positions, chosen, strict=True):
        arguments = {"candidates": list(range(size)), "probs": [1] * size}
        trace.append(Instruction.of(choose, arguments, (output,), False), position)
    arguments = {
        "task_name": task.name,
        "args": list(task.args),
        "target": str(task.target),
        "space": task.config_space.fingerprint,
        "knobs": chosen,
    }
    trace.append(Instruction.of(apply, arguments, (), False))
    return trace


def config_of(trace: Any) -> tuple[Task, ConfigEntity]:
    """The task and the config that a trace stands for.

    Args:
        trace: the trace, or its JSON form, such as `TuningRecord.trace_json`.

    Raises:
        RecordError: for a trace that no template made, or one whose knobs are others by now.
        UnknownNameError: if the template is not registered in this process.
    """
    try:
        insts, decisions = trace.as_json() if isinstance(trace, Trace) else trace
        chosen = _numbers(insts, dict(decisions))
        (applied,) = [item for item in insts if item[0] == APPLY]
        given = named(InstructionKind.get(APPLY), applied[1], applied[2])
        knobs = [chosen[knob["expr"]] for knob in given["knobs"]]
        name, args, space = given["task_name"], hashable(given["args"]), given["space"]
        task = known_task(name, args, Target(given["target"]))
        if task.config_space.fingerprint == space:
            return task, task.config_space.at(knobs)
    except (TypeError, ValueError, LookupError) as error:
        if isinstance(error, TVMError) and not isinstance(error, ArgumentValueError):
            raise
        raise RecordError(f"a trace that no template made stands for no config: {error}") from None
    raise RecordError(f"the template {name!r} has other knobs than when the record was made")


def _numbers(insts: Any, decisions: Mapping[int, int]) -> dict[str, int]:
    """The chosen numbers by the names of their variables."""
    choose = InstructionKind.get(CHOOSE)
    found: dict[str, int] = {}
    for number, (name, inputs, attrs, outputs) in enumerate(insts):
        if name == json_name(choose):
            found[outputs[0]] = named(choose, inputs, attrs)["candidates"][decisions[number]]
    return found
