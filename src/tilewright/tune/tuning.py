"""`tune_tasks`: the one way in which all front doors tune."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from tilewright.error import ArgumentError, ArgumentValueError, DatabaseError, TargetError
from tilewright.target import Target
from tilewright.tune.callback import MeasureCallback
from tilewright.tune.context import TuneContext
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database
from tilewright.tune.interrupts import Interrupts
from tilewright.tune.measure import Builder, Runner
from tilewright.tune.progress.live import LiveObserver
from tilewright.tune.progress.log import TUNER, LogObserver, log_files
from tilewright.tune.progress.profiler import Profiler
from tilewright.tune.report import load_phases, save_phases, write_report
from tilewright.tune.scheduler import TaskScheduler


def tune_tasks(
    *,
    tasks: Sequence[TuneContext],
    task_weights: Sequence[float],
    work_dir: str | Path | None,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Builder | str = "local",
    runner: Runner | str = "local",
    database: Database | str = "json",
    cost_model: CostModel | str | None = "xgb",
    measure_callbacks: Sequence[MeasureCallback] | MeasureCallback | str = "default",
    task_scheduler: TaskScheduler | str = "gradient",
    module_equality: str = "structural",
    max_seconds: float | None = None,
    patience: int | None = None,
    report: str | Path | Literal[True] | None = None,
) -> Database:
    """Search for the fastest schedules of programs by measuring.

    Ctrl-C ends the search early: what was measured so far is in the database, which is returned
    as ever, and nothing is recorded of candidates that were not finished. `KeyboardInterrupt` is
    raised if nothing was measured at all, now or in an earlier run in the same database, and at
    once when Ctrl-C is pressed again.

    Candidates that the database has already, from a run before in the same `work_dir`, are not
    measured again; the search goes on from them.

    Args:
        tasks: the programs, what they are tuned for, and how.
        task_weights: how often each program runs.
        work_dir: a directory for the records and the logs; None for neither.
        max_trials_global: how many candidates are measured at most.
        max_trials_per_task: how many of each program.
        num_trials_per_iter: how many at a time at most; with few trials they are fewer, so that
            later ones can learn from earlier ones.
        builder: compiles candidates: a `Builder` or ``"local"``.
        runner: times candidates: a `Runner` or ``"local"``.
        database: where records go: a `Database` or the name of a kind.
        cost_model: says which candidates are worth a trial: a `CostModel`, its name, or None.
        measure_callbacks: what happens after each batch: callbacks, ``"default"`` or ``"none"``.
        task_scheduler: shares trials among tasks: a `TaskScheduler`, ``"gradient"`` or
            ``"round-robin"``.
        module_equality: when records of one program count for another, see `Database`.
        max_seconds: how long the search may take; None for no limit.
        patience: a task is done after so many trials without a gain; None for no such limit.
        report: a file for a report in HTML; True for ``report.html`` in `work_dir`.

    Returns:
        Database: with a record of each candidate.

    Raises:
        TuningError: if not a single candidate ran; it says why.
        TargetError: for targets whose code does not run here.
    """
    tasks = list(tasks)
    for task in tasks:
        if not isinstance(task, TuneContext):
            raise ArgumentError(f"tune_tasks: a task is a TuneContext, got {task!r}")
        if isinstance(runner, str):
            require_measurable(task.target)
    workers = tasks[0].num_threads if tasks else 1
    report_path = _report_path(report, work_dir)
    found = _database(database, work_dir, module_equality)
    callbacks = MeasureCallback.create(measure_callbacks)
    seed = {"seed": tasks[0].rand_state} if tasks else {}
    if isinstance(cost_model, str):
        cost_model = CostModel.create(cost_model, **(seed if cost_model == "random" else {}))
    scheduler = TaskScheduler.create(
        task_scheduler, **(seed if task_scheduler == "gradient" else {})
    )
    with Interrupts() as interrupts:
        with ExitStack() as stack:
            loggers = stack.enter_context(log_files(work_dir, [task.task_name for task in tasks]))
            for task, logger in zip(tasks, loggers, strict=True):
                task.logger = logger
            if isinstance(builder, str):
                builder = Builder.create(builder, max_workers=workers)
                stack.callback(builder.close)
            if isinstance(runner, str):
                runner = Runner.create(runner)
                stack.callback(runner.close)
            _log_workers(builder, runner)
            profiler = stack.enter_context(Profiler())
            scheduler.tune(
                tasks,
                task_weights,
                max_trials_global,
                max_trials_per_task,
                num_trials_per_iter,
                builder,
                runner,
                callbacks,
                found,
                cost_model,
                max_seconds=max_seconds,
                patience=patience,
                observers=[LogObserver(), LiveObserver()],
            )
            stack.enter_context(interrupts.deferral(raises=False))  # it ends with the processes
            TUNER.debug("Time by phase:\n%s", profiler.table())
        try:
            _write_summaries(work_dir, report_path, found, profiler, interrupts)
        except KeyboardInterrupt:
            interrupts.settle()
            TUNER.warning("interrupted: there is no report of this run")
    return found


def _write_summaries(
    work_dir: str | Path | None,
    report_path: Path | None,
    database: Database,
    profiler: Profiler,
    interrupts: Interrupts,
) -> None:
    """Write the times of the phases, and the report if there is to be one."""
    phases = profiler.get()
    if work_dir is not None:
        with interrupts.deferral():
            save_phases(work_dir, phases)
            phases = load_phases(work_dir) or phases  # of all runs, as the records are
    if report_path is not None:
        _report(report_path, database, phases, with_peaks=not interrupts.count)
    interrupts.check()


def _report_path(report: str | Path | bool | None, work_dir: str | Path | None) -> Path | None:
    if report is None or report is False:
        return None
    if report is not True:
        return Path(report)
    if work_dir is None:
        raise ArgumentValueError("tune_tasks: report=True needs a `work_dir`; or name a file")
    return Path(work_dir) / "report.html"


def _report(path: Path, database: Database, phases: dict[str, float], with_peaks: bool) -> None:
    try:
        write_report(path, database, phases=phases, peaks="measured" if with_peaks else None)
        TUNER.info("Report: %s", path)
    except DatabaseError as error:
        # What was found is worth more than the report.
        TUNER.warning("%s", error)


def require_measurable(target: Target | None) -> None:
    """Refuse targets whose code does not run on this machine.

    Raises:
        TargetError: it says what would run.
    """
    if target is None:
        raise TargetError("tune_tasks: a task has no target")
    if target.kind.name not in ("llvm", "c"):
        raise TargetError(
            f"tuning: candidates for {target.kind.name!r} cannot be measured on this machine; "
            "targets of kind 'llvm' and 'c' can, or give a `runner` of your own"
        )
    if not target.is_host:
        raise TargetError(
            f"tuning: code for {target.triple!r} does not run on this machine; give a "
            "`runner` that runs it where it does"
        )


def _database(kind: Any, work_dir: str | Path | None, module_equality: str) -> Database:
    if isinstance(kind, Database):
        return kind
    if kind == "json":
        if work_dir is None:
            raise ArgumentValueError(
                "tune_tasks: a database of kind 'json' needs a `work_dir`; database='memory' "
                "keeps records in memory"
            )
        return Database.create(kind, work_dir=str(work_dir), module_equality=module_equality)
    return Database.create(kind, module_equality=module_equality)


def _log_workers(*parts: Builder | Runner) -> None:
    for part in parts:
        workers = getattr(part, "max_workers", None)
        if workers is not None:
            TUNER.info("%s: max_workers = %d", type(part).__name__, workers)
