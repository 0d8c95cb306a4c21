"""Options that the functions for tuning share, declared and documented once."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from tilewright.error import ArgumentValueError
from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.tir.schedule import Schedule
from tilewright.tir.schedule.traces.random_choices import RandomState
from tilewright.tune.callback import MeasureCallback
from tilewright.tune.context import TuneContext
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database
from tilewright.tune.measure import Builder, Runner
from tilewright.tune.progress.log import TuningObserver
from tilewright.tune.scheduler import TaskScheduler
from tilewright.tune.search import SearchStrategy
from tilewright.tune.space import SpaceGenerator

R = TypeVar("R")

Space = SpaceGenerator | Callable[[Schedule], Any] | str
"""Makes the sketches: a generator, its name, or a function of a schedule."""


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """Options of a tuning run.

    Attributes:
        max_trials_global: maximum number of candidates, the default schedule and those that fail
            included. The finalists are measured again, which counts for nothing here and writes
            records that supersede theirs.
        max_trials_per_task: maximum number per task; None for no limit of its own.
        num_trials_per_iter: maximum number per batch. With few trials, batches are smaller, so
            that later ones can learn from earlier ones.
        builder: compiles candidates: a `Builder`, ``"local"``, or ``"ray"``.
        runner: times candidates: a `Runner`, ``"local"``, or ``"ray"``.
        database: gets the records: a `Database` or the name of a kind.
        cost_model: chooses the candidates to measure: a `CostModel`, its name, or None.
        measure_callbacks: called after each batch: callbacks, ``"default"`` or ``"none"``.
        task_scheduler: shares trials among tasks: a `TaskScheduler`, ``"gradient"`` or
            ``"round-robin"``.
        module_equality: when records of one program count for another, see `Database`.
        max_seconds: maximum duration of the run; None for no limit.
        patience: number of trials without a gain after which a task ends; None for no limit.
        report: a file for a report in HTML; True for ``report.html`` in `work_dir`.
        progress: whether to show the state of the tasks: a table in terminals and notebooks,
            elsewhere a line about each batch on standard error.
        observers: told what happens, a `TuningObserver` each.
    """

    max_trials_global: int
    max_trials_per_task: int | None = None
    num_trials_per_iter: int = 64
    builder: Builder | str | None = "local"
    runner: Runner | str | None = "local"
    database: Database | str | None = "json"
    cost_model: CostModel | str | None = "xgb"
    measure_callbacks: Sequence[MeasureCallback] | MeasureCallback | str | None = "default"
    task_scheduler: TaskScheduler | str = "gradient"
    module_equality: str = "structural"
    max_seconds: float | None = None
    patience: int | None = None
    report: str | Path | Literal[True] | None = None
    progress: bool = True
    observers: Sequence[TuningObserver] = ()

    def made_database(self, work_dir: str | Path | None) -> Database:
        """The database; one of kind ``"json"`` is in `work_dir`."""
        kind = self.database or "json"
        if isinstance(kind, Database):
            return kind
        if kind != "json":
            return Database.create(kind, module_equality=self.module_equality)
        if work_dir is None:
            raise ArgumentValueError(
                "tune_tasks: a database of kind 'json' needs a `work_dir`; database='memory' "
                "keeps records in memory"
            )
        return Database.create(kind, work_dir=work_dir, module_equality=self.module_equality)

    def report_path(self, work_dir: str | Path | None) -> Path | None:
        """The file of the report; None for no report."""
        if not self.report:
            return None
        if self.report is not True:
            return Path(self.report)
        if work_dir is None:
            raise ArgumentValueError("tune_tasks: report=True needs a `work_dir`; or name a file")
        return Path(work_dir) / "report.html"


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of the search for candidates of each task.

    Attributes:
        space: makes the sketches: a `SpaceGenerator`, its name, or a function of a schedule.
        strategy: chooses candidates: a `SearchStrategy` or its name.
        num_tuning_cores: number of processes of the search, or ``"physical"`` or ``"logical"`` for
            the cores of this machine.
        seed: of all random choices; None for another one every time.
    """

    space: Space = "post-order-apply"
    strategy: SearchStrategy | str = "evolutionary"
    num_tuning_cores: int | Literal["physical", "logical"] = "physical"
    seed: int | None = None

    def contexts(
        self,
        tasks: Sequence[tuple[str, IRModule, Target]],
        special_space: Mapping[str, Space] | None = None,
    ) -> list[TuneContext]:
        """The tasks, each with a space and a strategy of its own.

        Args:
            tasks: names, programs and targets.
            special_space: spaces for some of the tasks, by name.
        """
        random = None if self.seed is None else RandomState(self.seed)
        special = special_space or {}
        return [
            TuneContext(
                mod,
                target=target,
                space_generator=SpaceGenerator.create(special.get(name, self.space)).clone(),
                search_strategy=SearchStrategy.create(self.strategy).clone(),
                task_name=name,
                rand_state=-1 if random is None else random.next(),
                num_threads=self.num_tuning_cores,
            )
            for name, mod, target in tasks
        ]


def takes(**options: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Decorator: callers give the fields of dataclasses, and the function gets the objects.

    The signature and the docstring of the function name the fields, so that `help` shows them. A
    field that is a parameter of the function, too, has that parameter's place and description.

    Args:
        **options: the classes, by the parameters of the function.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        original = inspect.signature(function)
        own = [p for name, p in original.parameters.items() if name not in options]
        names = {parameter.name for parameter in own}
        signature = original.replace(
            parameters=[
                *own,
                *(p for kind in options.values() for p in _parameters(kind) if p.name not in names),
            ]
        )

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> R:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            objects = {name: kind(**_fields_in(given, kind)) for name, kind in options.items()}
            return function(**{name: given[name] for name in names}, **objects)

        wrapper.__signature__ = signature  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
        wrapper.__annotations__["return"] = signature.return_annotation
        text = inspect.cleandoc(function.__doc__ or "")
        for name, kind in options.items():
            text = re.sub(rf" +{name}: .*(\n|$)", _descriptions(kind, names), text, count=1)
        wrapper.__doc__ = text
        return wrapper

    return decorate


def _parameters(kind: type) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=field.type,
        )
        for field in fields(kind)
    ]


def _fields_in(given: Mapping[str, Any], kind: type) -> dict[str, Any]:
    return {field.name: given[field.name] for field in fields(kind) if field.name in given}


def _descriptions(kind: type, without: set[str]) -> str:
    """The descriptions of the attributes of a class, as those of arguments."""
    _, _, text = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    found = re.findall(r"^( {4}(\w+): .*\n(?: {8}.*\n)*)", f"{text}\n", re.MULTILINE)
    return "".join(description for description, name in found if name not in without)
