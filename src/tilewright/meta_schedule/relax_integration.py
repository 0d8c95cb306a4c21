"""Tuning of whole models: the tensor programs that a graph calls are the tasks."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tilewright.error import ArgumentError
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.rewrite import walk
from tilewright.relax.expr import Call, ExternFunc, Function
from tilewright.relax.transform.pack_constants import (
    constant_operands,
    with_constant_params,
    without_constant_params,
)
from tilewright.relax.transform.private_functions import callees_first, calls_in
from tilewright.schedule_rules.eligible import IS_SCHEDULED
from tilewright.target import Target
from tilewright.tir.function import PrimFunc
from tilewright.tir.substitute import symbolic_sizes
from tilewright.tune.context import TuneContext
from tilewright.tune.database import Database
from tilewright.tune.integration import find_schedules, matches_text
from tilewright.tune.options import SearchOptions, Space, TuneOptions, takes
from tilewright.tune.search import SearchStrategy
from tilewright.tune.tuning import run_tasks
from tilewright.tune.workload import ModuleEquality, normalized

_logger = logging.getLogger(__name__)


class ExtractedTask(NamedTuple):
    """A tensor program of a model.

    Attributes:
        task_name: the name of the function in the lowered model; of equal functions, of the first.
        mod: the program, a module with the function ``main``.
        target: the target of the tuning.
        dispatched: the programs that stand for it; here itself.
        weight: how often one run of the model calls it.
    """

    task_name: str
    mod: IRModule
    target: Target
    dispatched: list[IRModule]
    weight: int


def lowered_model(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """A model as calls of fused tensor programs, the tasks of tuning.

    Args:
        mod: the model.
        params: values of parameters of ``main`` by name, which become constants.
    """
    from tilewright import relax

    if not isinstance(mod, IRModule):
        raise ArgumentError(f"expected the IRModule of a model, got {mod!r}")
    if params:
        mod = relax.transform.BindParams("main", {**params})(mod)
    return relax.get_pipeline("zero")(mod)


def extract_tasks(
    mod: IRModule | Function,
    target: Target | str,
    params: Mapping[str, Any] | None = None,
    *,
    module_equality: str = "structural",
) -> list[ExtractedTask]:
    """The tensor programs of a model, each once, with how often it is called.

    Programs with symbolic sizes cannot be measured; they are left out, and named in the log. Those
    with operands that are constants in all calls say so by the attribute
    ``tir.constant_params``: what their schedules copy of these is copied when the model is built,
    and is not part of the time that is measured.

    Args:
        mod: the model, as it was imported or lowered already.
        target: the target of the tuning.
        params: values of parameters of ``main`` by name.
        module_equality: which programs are one task; see `Database`.
    """
    module = IRModule.from_expr(mod) if isinstance(mod, Function) else mod
    lowered = lowered_model(module, params)
    equality = ModuleEquality.create(module_equality)
    chosen = Target(target)
    tasks: list[ExtractedTask] = []
    by_hash: dict[int, list[int]] = {}
    constants = constant_operands(lowered)
    for name, weight in _calls(lowered).items():
        function = lowered[name]
        if symbolic_sizes(function):
            _logger.warning("%s has symbolic sizes, so it is not tuned", name)
            continue
        function = with_constant_params(function, constants.get(GlobalVar(name)))
        program = normalized(function.without_attr("global_symbol"))
        positions = by_hash.setdefault(equality.hash(program), [])
        for position in positions:
            if equality.equal(tasks[position].mod, program):
                found = tasks[position]
                tasks[position] = found._replace(weight=found.weight + weight)
                break
        else:
            positions.append(len(tasks))
            tasks.append(ExtractedTask(name, program, chosen, [program], weight))
    return tasks


def _calls(module: IRModule) -> dict[str, int]:
    """How often one call of each exported function calls each tensor program of a module.

    A call in a loop of functions that call each other counts once.
    """
    runs: Counter[str] = Counter()
    counts: dict[str, int] = {}
    for name in reversed(callees_first(module)):
        function = module[name]
        # What nobody is seen to call may be called as a value.
        times = runs[name.name_hint] + (function.global_symbol is not None) or 1
        for call in calls_in(function):
            runs[call.op.name_hint] += times  # type: ignore[union-attr]
        for kernel in _kernels_called_by(function, module):
            counts[kernel] = counts.get(kernel, 0) + times
    return counts


def _kernels_called_by(function: Function, module: IRModule) -> Iterator[str]:
    for node in walk(function):
        for argument in node.args if isinstance(node, Call) else ():
            name = _name_of(argument)
            if name is not None and isinstance(module.functions.get(GlobalVar(name)), PrimFunc):
                yield name


def _name_of(argument: object) -> str | None:
    """The name of the function that an argument of a call is, if it is one."""
    if isinstance(argument, GlobalVar):
        return argument.name_hint
    return argument.global_symbol if isinstance(argument, ExternFunc) else None


def extracted_tasks_to_tune_contexts(
    extracted_tasks: Sequence[ExtractedTask],
    work_dir: str | Path | None = None,
    space: Space = "post-order-apply",
    strategy: SearchStrategy | str = "evolutionary",
    num_tuning_cores: int | Literal["physical", "logical"] = "physical",
    seed: int | None = None,
) -> tuple[list[TuneContext], list[float]]:
    """The arguments of `tune_tasks`: the tasks, and how often each is called.

    Args:
        extracted_tasks: result of `extract_tasks`.
        work_dir: kept for old programs; `tune_tasks` gets it.
        space: see `SearchOptions`, as for the others.
        strategy: chooses candidates.
        num_tuning_cores: number of processes of the search.
        seed: of all random choices.
    """
    del work_dir
    search = SearchOptions(
        space=space, strategy=strategy, num_tuning_cores=num_tuning_cores, seed=seed
    )
    return _contexts(extracted_tasks, search)


def _contexts(
    tasks: Sequence[ExtractedTask], search: SearchOptions
) -> tuple[list[TuneContext], list[float]]:
    programs = [(task.task_name, task.mod, task.target) for task in tasks]
    return search.contexts(programs), [float(task.weight) for task in tasks]


@takes(options=TuneOptions, search=SearchOptions)
def tune_relax(
    mod: IRModule | Function,
    params: Mapping[str, Any] | None,
    target: Target | str,
    work_dir: str | Path | None,
    max_trials_global: int,
    *,
    op_names: Sequence[str] | None = None,
    options: TuneOptions,
    search: SearchOptions,
) -> Database:
    """Search for the fastest schedules of the tensor programs of a model by measuring.

    Args:
        mod: the model.
        params: values of parameters of ``main`` by name.
        target: the target of the tuning.
        work_dir: a directory for the records and the logs.
        max_trials_global: maximum number of measured candidates.
        op_names: tune only programs whose name contains one of these.
        options: see `TuneOptions`.
        search: see `SearchOptions`.

    Returns:
        Database: with a record of each candidate, for `compile_relax`.

    Raises:
        TuningError: if not a single candidate ran; it says why.
        ArgumentError: if there is nothing to tune.
    """
    del max_trials_global  # is one of the options
    tasks = extract_tasks(mod, target, params, module_equality=options.module_equality)
    names = [task.task_name for task in tasks]
    if op_names is not None:
        tasks = [task for task in tasks if any(name in task.task_name for name in op_names)]
    if not tasks:
        raise ArgumentError(_nothing_to_tune(names, op_names))
    return run_tasks(*_contexts(tasks, search), work_dir, options)


def _nothing_to_tune(names: Sequence[str], op_names: Sequence[str] | None) -> str:
    if names:
        return (
            f"tune_relax: no tensor program is named as in op_names={op_names}; there are {names}"
        )
    return (
        "tune_relax: there is nothing to tune: the model calls no tensor programs, or all of them "
        "have symbolic sizes; give these values by relax.transform.BindSymbolicVars"
    )


def apply_database(
    mod: IRModule, database: Database, target: Target | str | None = None
) -> IRModule:
    """A lowered model in which the tensor programs have the best schedules of a database.

    Their number is logged: ``20 of 23 tasks matched``. The others keep what they have, so
    that they get the default schedule when they are built.

    Args:
        mod: a model as calls of tensor programs.
        database: where to look.
        target: the target of the build; by default the current target, else any.
    """
    programs = {var: f for var, f in mod.functions.items() if isinstance(f, PrimFunc)}
    result = mod.clone()
    constants = constant_operands(mod)
    missed = []
    for var, function in programs.items():
        if function.attrs.get(IS_SCHEDULED):
            continue
        function = with_constant_params(function, constants.get(var))
        program = function.without_attr("global_symbol")
        found = find_schedules(database, program, target)
        if not found.matched:  # a record of the same program, measured without constants
            found = find_schedules(database, without_constant_params(program), target)
        if not found.matched:
            missed.append(var.name_hint)
            continue
        (scheduled,) = found.schedule.mod.functions.values()
        attrs = {**scheduled.attrs, **function.attrs, IS_SCHEDULED: True}
        result.update_func(var, scheduled.replace(attrs=attrs))
    level = logging.WARNING if missed else logging.INFO
    _logger.log(level, "%s", matches_text(len(programs) - len(missed), missed))
    return result


def compile_relax(
    database: Database,
    mod: IRModule,
    target: Target | str,
    params: Mapping[str, Any] | None = None,
    enable_warning: bool = False,
) -> Any:
    """Build a model with the best schedules of a database.

    Args:
        database: of `tune_relax`.
        mod: the model.
        target: the target of the build.
        params: values of parameters of ``main`` by name.
        enable_warning: ignored; missing schedules are always logged.

    Returns:
        Executable: as `relax.build` returns it.
    """
    from tilewright import relax

    del enable_warning
    with database:  # the pipeline asks it for each kernel
        return relax.build(mod, target, params)
