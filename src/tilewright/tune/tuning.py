"""`tune_tasks`, on which all front doors for tuning are built."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tilewright.error import ArgumentError, DatabaseError, TargetError
from tilewright.processes.interrupts import Interrupts
from tilewright.runtime.device import device
from tilewright.target import Target
from tilewright.target.codegen.device.nvrtc import supported_architectures
from tilewright.target.kinds import KERNEL_KINDS
from tilewright.tune.callback import MeasureCallback
from tilewright.tune.context import TuneContext
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database
from tilewright.tune.measure import Builder, Runner
from tilewright.tune.measure.estimate import is_estimated
from tilewright.tune.options import TuneOptions, takes
from tilewright.tune.progress.live import progress_observer
from tilewright.tune.progress.log import TUNER, LogObserver, log_files
from tilewright.tune.progress.profiler import Profiler
from tilewright.tune.report import load_phases, save_phases, write_report
from tilewright.tune.scheduler import TaskScheduler


@takes(options=TuneOptions)
def tune_tasks(
    *,
    tasks: Sequence[TuneContext],
    task_weights: Sequence[float],
    work_dir: str | Path | None,
    options: TuneOptions,
) -> Database:
    """Search for the fastest schedules of programs by measuring.

    Ctrl-C ends the search early: what was measured so far is in the database, which is returned as
    usual; nothing is recorded about unfinished candidates. `KeyboardInterrupt` is raised if nothing
    was measured at all, now or in an earlier run in the same database, and at once when Ctrl-C is
    pressed again.

    Where there is no device for a target of kind ``cuda``, candidates are compiled for the
    architecture of the target, and an analytical model ranks them. The progress, the records and
    the report say that these times are estimates.

    Candidates that are already in the database, from an earlier run in the same `work_dir`, are not
    measured again; the search continues from them.

    Args:
        tasks: the programs, their targets, and how they are searched.
        task_weights: how often each program runs.
        work_dir: a directory for the records and the logs; None for neither.
        options: see `TuneOptions`.

    Returns:
        Database: with a record of each candidate.

    Raises:
        TuningError: if not a single candidate ran; it says why.
        TargetError: for targets whose code does not run here.
    """
    return run_tasks(tasks, task_weights, work_dir, options)


def run_tasks(
    tasks: Sequence[TuneContext],
    task_weights: Sequence[float],
    work_dir: str | Path | None,
    options: TuneOptions,
) -> Database:
    """See `tune_tasks`."""
    tasks = list(tasks)
    for task in tasks:
        if not isinstance(task, TuneContext):
            raise ArgumentError(f"tune_tasks: a task is a TuneContext, got {task!r}")
        if options.runner in (None, "local"):
            require_measurable(task.target)
    report_path = options.report_path(work_dir)
    database = options.made_database(work_dir)
    callbacks = MeasureCallback.create(
        "default" if options.measure_callbacks is None else options.measure_callbacks
    )
    scheduler, cost_model = _guides(options, tasks)
    progress = [progress_observer()] if options.progress else []
    with Interrupts() as interrupts:
        with ExitStack() as stack:
            loggers = stack.enter_context(log_files(work_dir, [task.task_name for task in tasks]))
            for task, logger in zip(tasks, loggers, strict=True):
                task.logger = logger
            builder, runner = _workers(options, tasks, stack)
            profiler = stack.enter_context(Profiler())
            scheduler.tune(
                tasks,
                task_weights,
                options.max_trials_global,
                options.max_trials_per_task,
                options.num_trials_per_iter,
                builder,
                runner,
                callbacks,
                database,
                cost_model,
                max_seconds=options.max_seconds,
                patience=options.patience,
                observers=[LogObserver(), *progress, *options.observers],
            )
            stack.enter_context(interrupts.deferral(raises=False))  # it ends with the processes
            TUNER.debug("Time by phase:\n%s", profiler.table())
        try:
            _write_summaries(work_dir, report_path, database, profiler, interrupts)
        except KeyboardInterrupt:
            interrupts.settle()
            TUNER.warning("interrupted: there is no report of this run")
    return database


def _guides(
    options: TuneOptions, tasks: Sequence[TuneContext]
) -> tuple[TaskScheduler, CostModel | None]:
    """What chooses among tasks, and among the candidates of a task."""
    seed = {"seed": tasks[0].rand_state} if tasks else {}
    scheduler, cost_model = options.task_scheduler, options.cost_model
    if isinstance(cost_model, str):
        cost_model = CostModel.create(cost_model, **(seed if cost_model == "random" else {}))
    scheduler = TaskScheduler.create(scheduler, **(seed if scheduler == "gradient" else {}))
    return scheduler, cost_model


def _workers(
    options: TuneOptions, tasks: Sequence[TuneContext], stack: ExitStack
) -> tuple[Builder, Runner]:
    """What builds and runs candidates; `stack` closes those that are made here."""
    builder, runner = options.builder or "local", options.runner or "local"
    if isinstance(builder, str):
        # How many processes this machine is to have says nothing about others.
        count = tasks[0].num_threads if tasks else 1
        builder = Builder.create(builder, **({"max_workers": count} if builder == "local" else {}))
        stack.callback(builder.close)
    if isinstance(runner, str):
        runner = Runner.create(runner)
        stack.callback(runner.close)
    for part in (builder, runner):
        workers = getattr(part, "max_workers", None)
        if workers is not None:
            TUNER.info("%s: max_workers = %d", type(part).__name__, workers)
    return builder, runner


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
        CodegenError: if candidates are for a GPU that is not here, and nothing compiles for it.
    """
    if target is None:
        raise TargetError("tune_tasks: a task has no target")
    if target.kind.name in KERNEL_KINDS and device(target.kind.name).exist:
        return
    if is_estimated(target.kind.device_type):
        supported_architectures()  # candidates are compiled, and estimated
        return
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
